/**
 * Law 9: plans that share a bucket, of one kind and period, grant no more than the largest of them, with overrides, deploys and sweeps.
 * test/oracle plays plans of other kinds and periods: each has a bucket of its own, so they grant at most the sum.
 */
import { makeFunctionReference } from "convex/server";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { FakeDb } from "../support/fakeDb.js";
import { defineIn } from "../support/places.js";
import { crossed, runs } from "../support/random.js";
import { T0 } from "./arbitraries.js";
import { places, underFakeClock } from "./world.js";

const DAY = 86_400_000;
const next = makeFunctionReference<"mutation">("jobs:sweep");
const name = "quota";

const starts = [{ start: 0 }, { start: 300 }, { start: 650 }];
const zones = ["UTC", "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati"].map((timeZone) => ({ timeZone }));
const families = [
  { of: "token buckets", kind: "token bucket", period: 1000, calendars: [{}], bursts: 1 },
  { of: "sliding windows", kind: "sliding window", period: 1000, calendars: [{}], bursts: 2 },
  // A window that ends and one that begins.
  { of: "windows of a second", kind: "fixed window", period: 1000, calendars: [{ start: 0 }], bursts: 2 },
  // Where the starts move, another one that is prorated.
  { of: "windows that move", kind: "fixed window", period: 1000, calendars: starts, bursts: 2 },
  { of: "days of zones", kind: "fixed window", period: "day", calendars: zones, bursts: 2 },
] as const;
/** The acts of an app on the limit, each before a call that takes as much as it can. */
const greedy = fc.array(
  fc.record({
    /** A part of the period. */
    wait: fc.double({ min: 0, max: 0.4, noNaN: true }),
    does: fc.constantFrom("plan", "plan", "plan", "config", "override", "more", "clear", "deploy", "sweep", "pause"),
    calendar: fc.nat(3),
    rate: fc.nat(2),
    all: fc.boolean(),
  }),
  { minLength: 60, maxLength: 120, size: "max" },
);
const anyRates = fc.array(fc.constantFrom(1, 7, 20, 100), { minLength: 2, maxLength: 3 });

type Grant = { at: number; count: number };

/** Expects that never more is granted than a burst, and what arrives. @returns the most from any grant on. */
function mostInAny(grants: readonly Grant[], burst: number, perMs: number): number {
  let most = 0;
  const beyond: object[] = [];
  for (const [i, { at: from }] of grants.entries()) {
    let sum = 0;
    for (const { at, count } of grants.slice(i)) {
      sum += count;
      if (sum > burst + perMs * (at - from)) beyond.push({ from, at, sum });
    }
    most = Math.max(most, sum);
  }
  // One assertion for all intervals: one for each would take most of the time.
  expect(beyond).toEqual([]);
  return most;
}

const at = <T>(all: readonly T[], index: number) => all[index % all.length] as T;

/** Takes as much as it can in whole tokens, at most `most`: a call after another of half the count. */
async function drain(ask: (count: number) => Promise<boolean>, most: number): Promise<number> {
  let taken = 0;
  for (let count = most; count >= 1; count = Math.floor(count / 2)) {
    while (taken + count <= most && (await ask(count))) taken += count;
  }
  return taken;
}

describe("Law 9, live config", () => {
  underFakeClock();
  const shards = [{ shards: undefined }, { shards: { atLeast: 4 } }];

  it.each(
    families.flatMap((family, turn) => crossed(places, shards, turn).map((setting) => ({ ...setting, ...family }))),
  )(
    "greedy callers whose plans, configs, overrides and deploys of one kind alternate get no more than the largest ($of, $place, $shards)",
    async ({ place, shards, kind, period, calendars, bursts }) => {
      const periodMs = period === "day" ? DAY : period;
      let reached = 0;
      const property = fc.asyncProperty(anyRates, greedy, async (rates, steps) => {
        const db = new FakeDb();
        const largest = Math.max(...rates);
        const plans = Object.fromEntries(rates.map((rate, i) => [`${i}`, { rate }]));
        const deploy = (calendar: number) =>
          defineIn(place, { quota: { kind, period, ...at<object>(calendars, calendar), shards, plans } as never });
        let limits = deploy(0);
        const grants: Grant[] = [];
        let now = T0;
        for (const { wait, does, calendar, rate, all } of steps) {
          now += Math.floor(wait * periodMs);
          vi.setSystemTime(now);
          const own = at(rates, rate);
          const config = { kind, period, rate: own, ...at<object>(calendars, calendar) } as TokensConfig;
          const terms = does === "config" ? { config } : { plan: `${rate % rates.length}` };
          if (does === "deploy") limits = deploy(calendar);
          const run = <T>(body: (ctx: never) => Promise<T>) => db.transaction((ctx) => body(ctx as never));
          await run(async (ctx) => {
            const until = now + periodMs / 2;
            if (does === "sweep") await limits.sweepRateLimits(ctx, { next });
            if (does === "pause") await limits.pauseRateLimit(ctx, { name, until: now + 1 });
            if (does === "clear") await limits.clearRateLimitOverride(ctx, { name });
            if (does === "override") await limits.overrideRateLimit(ctx, { name, config, until });
            // No plan has more than the largest with it.
            const more = largest - own;
            if (does === "more" && more > 0 && own === Math.min(...rates)) {
              await limits.overrideRateLimit(ctx, { name, config: { ...config, rate: largest }, until });
            }
          });
          const ask = async (count: number) =>
            (await run(async (ctx) => await limits.rateLimit(ctx, { name, ...terms, count }))).ok;
          const count = await drain(ask, all ? largest : 1);
          if (count > 0) grants.push({ at: now, count });
        }
        reached = Math.max(reached, mostInAny(grants, bursts * largest, largest / periodMs) / largest);
        // More sharply: in any period of a sliding window, and in any window that stays where it is.
        const isInSame = (one: Grant, other: Grant) =>
          kind === "sliding window"
            ? other.at < one.at + periodMs
            : calendars.length === 1 && windowOf(one) === windowOf(other);
        const windowOf = ({ at }: Grant) => Math.floor(at / periodMs);
        if (kind === "token bucket") return;
        for (const [i, first] of grants.entries()) {
          mostInAny(
            grants.slice(i).filter((grant) => isInSame(first, grant)),
            largest,
            0,
          );
        }
      });
      await fc.assert(property, { numRuns: runs(40), endOnFailure: true });
      expect(reached).toBeGreaterThan(kind === "sliding window" ? 1.5 : 2);
    },
  );
});
