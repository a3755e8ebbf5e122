/** Law 9 of windows: they count what was used, so plans, configs and kinds that alternate grant no more than the largest. */
import { makeFunctionReference } from "convex/server";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { FakeDb } from "../support/fakeDb.js";
import { defineIn, placeNames } from "../support/places.js";
import { runs } from "../support/random.js";
import { T0 } from "./arbitraries.js";
import { underFakeClock } from "./world.js";

const DAY = 86_400_000;
const next = makeFunctionReference<"mutation">("jobs:sweep");
const name = "quota";

const starts = fc.nat(999).map((start) => ({ start }));
const zones = ["UTC", "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati", "Asia/Kathmandu"];
const days = fc.constantFrom(...zones).map((timeZone) => ({ timeZone }));
/** Calendars whose windows have one length, and the kinds that alternate on them. */
const families = [
  { of: "windows of a second", period: 1000, calendars: starts, kinds: ["fixed window"] },
  { of: "days of zones", period: "day", calendars: days, kinds: ["fixed window"] },
  { of: "kinds", period: 1000, calendars: fc.constant({}), kinds: ["fixed window", "token bucket", "sliding window"] },
] as const;
const anyRates = fc.array(fc.constantFrom(1, 7, 20, 100), { minLength: 2, maxLength: 3 });
/** The acts of an app on the limit, each before a call that takes all of its tokens. */
const greedy = fc.array(
  fc.record({
    /** A part of the period. */
    wait: fc.double({ min: 0, max: 0.4, noNaN: true }),
    does: fc.constantFrom("plan", "plan", "config", "override", "override by plan", "clear", "deploy", "sweep"),
    kind: fc.nat(2),
    calendar: fc.nat(3),
    rate: fc.nat(2),
    most: fc.constantFrom(0, 1, 1, 1),
  }),
  { minLength: 60, maxLength: 120, size: "max" },
);

type Grant = { at: number; count: number };

/** The most tokens that are granted from any grant on: never more than a burst, and what arrives. */
function mostInAny(grants: readonly Grant[], burst: number, perMs: number): number {
  const sums = grants.map(({ at: from }, i) => {
    let sum = 0;
    for (const { at, count } of grants.slice(i)) {
      sum += count;
      expect(sum).toBeLessThanOrEqual(burst + perMs * (at - from));
    }
    return sum;
  });
  return Math.max(0, ...sums);
}

describe("Law 9, live config: windows count what was used", () => {
  underFakeClock();
  const settings = placeNames.flatMap((place) => [undefined, { atLeast: 4 }].map((shards) => ({ place, shards })));

  it.each(settings.flatMap((setting) => families.map((family) => ({ ...setting, ...family }))))(
    "greedy callers whose plans, configs, overrides and deploys alternate ($of, $place, $shards) get two of the largest windows, and its rate",
    async ({ place, shards, period, calendars: anyCalendar, kinds }) => {
      const periodMs = period === "day" ? DAY : period;
      let reached = 0;
      const someCalendars = fc.array<object>(anyCalendar, { minLength: 1, maxLength: 4 });
      const property = fc.asyncProperty(someCalendars, anyRates, greedy, async (calendars, rates, steps) => {
        const db = new FakeDb();
        const largest = Math.max(...rates);
        const at = <T>(all: readonly T[], index: number) => all[index % all.length] as T;
        const plans = Object.fromEntries(rates.map((rate, i) => [`${i}`, { rate, kind: at(kinds, i) }]));
        const deploy = (calendar: number) =>
          defineIn(place, { quota: { period, ...at(calendars, calendar), overrides: true, shards, plans } });
        let limits = deploy(0);
        const grants: Grant[] = [];
        let now = T0;
        for (const { wait, does, kind, calendar, rate, most } of steps) {
          now += Math.floor(wait * periodMs);
          vi.setSystemTime(now);
          const config = { kind: at(kinds, kind), period, rate: at(rates, rate), ...at(calendars, calendar) } as never;
          const plan = `${rate % rates.length}`;
          if (does === "deploy") limits = deploy(calendar);
          const status = await db.transaction(async (anyCtx) => {
            const ctx = anyCtx as never;
            const until = now + periodMs / 2;
            if (does === "sweep") await limits.sweepRateLimits(ctx, { next });
            if (does === "clear") await limits.clearRateLimitOverride(ctx, { name });
            if (does === "override") await limits.overrideRateLimit(ctx, { name, config, until });
            if (does === "override by plan") await limits.overrideRateLimit(ctx, { name, plan, until });
            const terms = does === "config" ? { config } : { plan };
            const count = Math.max(1, most * largest);
            return await limits.rateLimit(ctx, { name, ...terms, count, atLeast: 1 } as never);
          });
          if (status.ok) grants.push({ at: now, count: status.taken ?? 0 });
        }
        reached = Math.max(reached, mostInAny(grants, 2 * largest, largest / periodMs) / largest);
      });
      await fc.assert(property, { numRuns: runs(100) });
      expect(reached).toBeGreaterThan(3);
    },
  );

  type Plans = Record<string, { kind: string; rate: number; start?: number; period?: number; capacity?: number }>;
  const bucket = { kind: "token bucket", rate: 100 };
  const sliding = { kind: "sliding window", rate: 100 };
  const others: Record<"kinds" | "lengths", Plans> = {
    kinds: { D: bucket, d: { ...bucket, rate: 10 }, E: sliding, e: { ...sliding, rate: 10 } },
    lengths: { f: { kind: "fixed window", start: 0, period: 100, rate: 1 } },
  };
  const variants: ["kinds" | "lengths", capacity: number, shards?: object][] = [
    ["kinds", 100],
    ["kinds", 200],
    ["lengths", 100],
    ["lengths", 200],
    ["lengths", 100, { atLeast: 2, atMost: 2 }],
  ];
  it.each(placeNames.flatMap((place) => variants.map(([of, capacity, shards]) => ({ place, of, capacity, shards }))))(
    "so do callers who ask the same of plans with other starts and $of in each second ($place, $capacity, $shards)",
    async ({ place, of, capacity, shards }) => {
      const plans = { ...others[of] };
      for (const [letter, start] of Object.entries({ A: 0, B: 300, C: 600 })) {
        plans[letter] = { kind: "fixed window", rate: 100, start, capacity };
        plans[letter.toLowerCase()] = { kind: "fixed window", rate: 10, start };
      }
      const limits = defineIn(place, { quota: { period: 1000, shards, plans } as never });
      const names = fc.constantFrom(...Object.keys(plans));
      const ask = fc.tuple(
        fc.nat(19).map((n) => 50 * n),
        names,
        fc.constantFrom(1, 200),
      );
      const property = fc.asyncProperty(fc.array(ask, { minLength: 3, maxLength: 7 }), async (cycle) => {
        const db = new FakeDb();
        const grants: Grant[] = [];
        for (let start = T0; start < T0 + 8000; start += 1000) {
          for (const [offset, plan, count] of cycle.toSorted(([a], [b]) => a - b)) {
            vi.setSystemTime(start + offset);
            const asked = { name, plan, count, atLeast: 1 };
            const status = await db.transaction(async (ctx) => await limits.rateLimit(ctx as never, asked as never));
            if (status.ok) grants.push({ at: start + offset, count: status.taken ?? 0 });
          }
        }
        mostInAny(grants, capacity + 100, 100 / 1000);
      });
      // What a small plan's window left out was granted again: by windows that save, that begin with it, or after it.
      const found = [
        "0 a 1, 50 A 200",
        "0 a 1, 550 A 200, 600 c 200, 600 c 200, 800 C 200",
        "150 B 200, 150 c 1, 250 C 200, 300 A 200, 300 C 200, 600 B 200, 600 b 1",
        // The first window after another kind, of a small plan, was raised to a whole one: at once, or at its other start.
        "50 a 200, 325 A 200, 975 D 200, 999 D 1",
        "150 a 1, 425 C 200, 625 C 200, 900 D 1, 975 c 1",
        // The first window after another kind ended where one of other starts began, which was whole.
        "350 D 1, 300 B 200, 0 A 200, 350 A 1",
        // Shorter windows paid for what was used, and the next longer one was whole: once they had paid all, on several rows at once.
        "0 C 1, 100 f 1, 350 f 200, 400 f 200, 400 C 200, 400 A 200, 500 A 1, 650 C 200",
        "0 A 200, 200 f 1, 250 A 1, 300 B 1, 300 A 200",
      ];
      const parsed = found.map((text) => text.split(", ").map((one) => one.split(" ")));
      const known = parsed.filter((cycle) => cycle.every(([, plan = ""]) => plan in plans));
      const examples = known.map((cycle) => [cycle.map(([at, plan, count]) => [Number(at), plan, Number(count)])]);
      await fc.assert(property, { numRuns: runs(100), examples: examples as never });
    },
  );

  const kinds = families[2].kinds;
  const threeKinds = kinds.flatMap((a) => kinds.flatMap((b) => kinds.map((c) => [a, b, c] as const)));

  it.each(placeNames)("plans of few tokens make none of what a plan of another kind has left (%s)", async (place) => {
    for (const [many, few, more] of threeKinds) {
      const db = new FakeDb();
      const plans = { many: { kind: many, rate: 100 }, few: { kind: few, rate: 2 }, more: { kind: more, rate: 100 } };
      const limits = defineIn(place, { quota: { period: 1000, plans } });
      let taken = 0;
      for (let now = T0; now < T0 + 1000; now += 20) {
        vi.setSystemTime(now);
        for (const plan of ["many", "few", "more"]) {
          taken += await db.transaction(async (ctx) => {
            const asked = { name, plan, count: 0 };
            const { remaining } = await limits.checkRateLimit(ctx as never, asked);
            const count = Math.max(0, plan === "many" ? remaining - 1 : remaining);
            const { ok } = await limits.rateLimit(ctx as never, { ...asked, count });
            return ok ? count : 0;
          });
        }
      }
      expect(taken, [many, few, more].join()).toBeLessThanOrEqual(300);
    }
  });
});
