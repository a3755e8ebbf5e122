/**
 * Overrides that end, block or lift a limit. Every answer follows from the answers of the same rows without the override, now and
 * at its end. The fuzzer tests that a config which overrides a limit is the limit for all calls.
 */
import type { RateLimitStatus } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { after, portion, T0, wait } from "../laws/arbitraries.js";
import { type PlaceName, placeNames } from "../support/places.js";
import { randomFrom, seed } from "../support/random.js";
import { type Limits, type MutationCtx, openStage, type Shards } from "../support/stage.js";
import { present } from "../../src/wire/present.js";
import { type ExactLimit, LAST_MOMENT } from "./exact/config.js";
import { attempt, overridable } from "./fuzz.js";
import { OPERATIONS, useFuzzedClock } from "./operations.js";
import { allKinds, countOf, planAt, plansOf } from "./scenario.js";

useFuzzedClock();

const id = { name: "limit", key: "alice" };
/** The test waits for no promise beyond this time. */
const FAR = T0 + 30 * 86_400_000;

const terms = fc.record({
  does: fc.constantFrom("configure", "configure", "block", "unlimit", "clear"),
  plan: fc.nat(2),
  forMs: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 3000 }), fc.constantFrom(60_000, 3_600_000)),
});
const toEnd = fc.constantFrom(-1, 0, 1).map((toEnd) => ({ toEnd }));
const step = fc.record({
  wait: fc.oneof({ arbitrary: wait, weight: 4 }, { arbitrary: toEnd, weight: 1 }),
  /** How far the clock steps back after that. */
  backMs: fc.constantFrom(0, 0, 0, 20),
  sets: fc.option(terms, { freq: 2 }),
  portion,
  reserve: fc.constantFrom(false, false, true, { within: 100 }),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
const steps = fc.array(step, { minLength: 5, maxLength: 18, size: "max" });

/** Plays calls on one bucket; returns how many were made while an override was in force. */
async function play(place: PlaceName, plans: readonly ExactLimit[], shards: Shards, seed: number, steps: Step[]) {
  const stage = openStage(place, "light");
  const base = planAt(plans, 0);
  const own = stage.limits(base, shards);
  const limits = stage.limits(overridable(base), shards);
  let override: { does: string; limit: ExactLimit; until: number } | undefined;
  let now = T0;
  let retryAt: number | undefined;
  let overridden = 0;

  /** The result of calls at a time, which then are undone. All of them draw the same rows. */
  const would = async <T>(calls: (ctx: MutationCtx) => Promise<T>, at = now): Promise<T> => {
    vi.setSystemTime(at);
    vi.spyOn(Math, "random").mockImplementation(randomFrom(seed));
    const result = await attempt(stage, true, calls);
    vi.setSystemTime(now);
    return result;
  };

  for (const { wait, backMs, sets, portion, reserve } of steps) {
    const { limit, until = now } = override ?? { limit: base };
    now = "toEnd" in wait ? Math.max(now, Math.min(FAR, until + wait.toEnd)) : after(wait, limit, now, retryAt);
    now -= backMs;
    vi.setSystemTime(now);
    if (sets) {
      const limit = planAt(plans, sets.plan);
      override = sets.does === "clear" ? undefined : { does: sets.does, limit, until: now + sets.forMs };
      const config = present(limit);
      const terms = { block: { block: true }, unlimit: { unlimited: true }, configure: { config } } as const;
      const ends = sets.forMs < Infinity ? { ...id, until: now + sets.forMs } : id;
      await stage.mutation(async (ctx) => {
        if (sets.does === "clear") await limits.clearRateLimitOverride(ctx, id);
        else await limits.overrideRateLimit(ctx, { ...ends, ...terms[sets.does] });
      });
    }
    const inForce = override && now < override.until ? override : undefined;
    if (inForce) overridden++;
    const by = inForce?.does === "configure" ? stage.limits(inForce.limit, shards) : own;
    const asked = { ...id, count: countOf(inForce?.limit ?? base, portion, reserve === true), reserve };
    const nothing = { ...id, count: 0 };

    /** Undefined if the count can never be served. */
    const check = (limits: Limits, at = now, request: typeof nothing = asked): Promise<RateLimitStatus | undefined> =>
      would((ctx) => limits.checkRateLimit(ctx, request).catch(neverServed), at);
    const foretold = async (): Promise<object | undefined> => {
      const [status, without] = [await check(by), await check(own)];
      if (!inForce) return without;
      const { does, until } = inForce;
      if (does === "unlimit") {
        return await would(async (ctx) => {
          await own.adjustRateLimit(ctx, { ...id, count: asked.count });
          const { remaining, resetAt } = await own.checkRateLimit(ctx, nothing);
          return { ok: true, remaining, resetAt };
        });
      }
      if (does === "configure" && status && (status.ok || status.retryAt < until)) return status;
      if (!status && !without) return undefined;
      const then = until < Infinity ? await check(own, until) : { ok: false, retryAt: LAST_MOMENT };
      const retryAt = then?.ok ? until : (then?.retryAt ?? LAST_MOMENT);
      if (does === "configure") return { ...(status ?? (await check(by, now, nothing))), ok: false, retryAt };
      const resetAt = until < Infinity ? (await check(own, until, nothing))?.resetAt : LAST_MOMENT;
      return { ok: false, retryAt, remaining: 0, resetAt, reason: "blocked" };
    };
    const checked = await check(limits);
    expect(checked).toEqual(await foretold());
    if (!checked) continue;

    const left = await would(async (ctx) => {
      if (inForce?.does === "unlimit") await own.adjustRateLimit(ctx, { ...id, count: asked.count });
      else if (inForce?.does !== "block") await by.rateLimit(ctx, asked);
      return await by.getRateLimit(ctx, id);
    });
    vi.spyOn(Math, "random").mockImplementation(randomFrom(seed));
    const status = await stage.mutation((ctx) => limits.rateLimit(ctx, asked));
    expect(await would((ctx) => by.getRateLimit(ctx, id))).toMatchObject({ value: left.value, ts: left.ts });
    retryAt = status.retryAt !== undefined && status.retryAt < FAR ? status.retryAt : undefined;
    if (status.ok || retryAt === undefined) continue;
    expect(await check(limits, retryAt)).toMatchObject({ ok: true });
    expect(await would((ctx) => limits.rateLimit(ctx, asked), retryAt)).toMatchObject({ ok: true });
    if (shards === undefined && retryAt - 1 > now)
      expect(await check(limits, retryAt - 1)).toMatchObject({ ok: false });
  }
  return overridden;
}

function neverServed(error: Error): undefined {
  expect(error.message).toContain("can never be served");
}

const RUNS = Math.ceil(OPERATIONS / 1000);

describe.each(placeNames)("in the %s", (place) => {
  it.each<{ on: string; shards: Shards[] }>([
    { on: "one row", shards: [undefined] },
    { on: "several rows", shards: [2, 16, "auto", { atLeast: 8 }, { atLeast: 4, atMost: 64 }] },
  ])("a bucket on $on whose limit is overridden answers by the override, and in time for its end", async (on) => {
    let overridden = 0;
    const rows = fc.constantFrom(...on.shards);
    const property = fc.asyncProperty(plansOf(allKinds), rows, fc.nat(), steps, async (...world) => {
      overridden += await play(place, ...world);
    });
    await fc.assert(property, { numRuns: RUNS, seed });
    expect(overridden).toBeGreaterThan(RUNS);
  });
});
