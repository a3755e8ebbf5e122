/** Waiting until `retryAt` always suffices, one millisecond less never does, and nothing drifts. */
import { DAY, HOUR, MINUTE, type RateLimitConfig, SECOND, WEEK } from "convex-rate-limits";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseDemand } from "../../src/engine/request.js";
import { parseLimit } from "../../src/engine/limit.js";
import { decide } from "../../src/engine/decide.js";
import { fullState } from "../../src/engine/kinds/kind.js";
import { fromStored, toStored } from "../../src/engine/units.js";
import { defineIn, placeNames, openBackend } from "../support/places.js";
import { runs } from "../support/random.js";

// Millions of calls, measured for coverage, on a machine that does other things as well.
vi.setConfig({ testTimeout: 600_000 });

const NOW = 1_700_000_000_123;
const YEAR = 365 * DAY;

/** Limits whose tokens do not fall on whole milliseconds, or whose numbers are large, small, or slow. */
const configs: Record<string, RateLimitConfig> = {
  "three a second": { kind: "token bucket", rate: 3, period: SECOND },
  "a tenth of a token a second": { kind: "token bucket", rate: 0.1, period: SECOND, capacity: 1 },
  "0.7 tokens every 1.3 ms": { kind: "token bucket", rate: 0.7, period: 1.3, capacity: 10 },
  "7 a day": { kind: "token bucket", rate: 7, period: DAY },
  "11 a month": { kind: "token bucket", rate: 11, period: 30 * DAY },
  "one in ten years": { kind: "token bucket", rate: 1, period: 10 * YEAR },
  "40,000 LLM tokens a minute": { kind: "token bucket", rate: 40_000, period: MINUTE },
  "a billion an hour": { kind: "token bucket", rate: 1e9, period: HOUR },
  "a billion of burst, 7 a second": { kind: "token bucket", rate: 7, period: SECOND, capacity: 1e9 },
  "pi tokens every e ms": { kind: "token bucket", rate: Math.PI, period: Math.E, capacity: 1000 },
  "a third of a token a day": { kind: "token bucket", rate: 1 / 3, period: DAY, capacity: 1 },
  "a trillion a millisecond": { kind: "token bucket", rate: 1e12, period: 1 },
  "7 in each day": { kind: "fixed window", rate: 7, period: DAY },
  "0.3 in each second": { kind: "fixed window", rate: 0.3, period: SECOND, capacity: 2 },
  "100 in each week from a Monday": { kind: "fixed window", rate: 100, period: WEEK, start: 4 * DAY },
  "3 in each 11 months, saved up": { kind: "fixed window", rate: 3, period: 330 * DAY, capacity: 10 },
  "a billion in each prime number of ms": { kind: "fixed window", rate: 1e9, period: 1_000_003 },
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(placeNames)("in the %s", (place) => {
  it.each(Object.entries(configs))("%s, retryAt is the first millisecond that suffices", async (name, config) => {
    const t = openBackend();
    const { rateLimit, checkRateLimit } = defineIn(place, { [name]: config });
    const { capacity = config.rate } = config;
    const counts = [capacity, capacity / 3, 0.001, Math.min(1, capacity), capacity * 0.77, capacity];
    let now = NOW;
    for (const count of counts) {
      vi.setSystemTime(now);
      // Empty it, then want more.
      await t.mutation(async (ctx) => {
        while ((await rateLimit(ctx, { name, count: capacity / 7 })).ok);
        while ((await rateLimit(ctx, { name, count: capacity / 100 })).ok);
      });
      const check = () => t.query(async (ctx) => await checkRateLimit(ctx, { name, count }));
      const { ok, retryAt = NaN } = await check();
      if (ok) continue;
      expect(Number.isInteger(retryAt) && retryAt > now).toBe(true);
      vi.setSystemTime(retryAt - 1);
      expect(await check()).toMatchObject({ ok: false, retryAt });
      vi.setSystemTime(retryAt);
      expect(await check()).toMatchObject({ ok: true });
      expect(await t.mutation(async (ctx) => await rateLimit(ctx, { name, count }))).toMatchObject({ ok: true });
      now = retryAt;
    }
    expect(now).toBeGreaterThan(NOW);
  });

  it.each(Object.entries(configs))("%s, work that was reserved is paid for at its moment", async (name, config) => {
    const t = openBackend();
    const { rateLimit, checkRateLimit } = defineIn(place, { [name]: config });
    const { capacity = config.rate } = config;
    const statuses = await t.mutation(async (ctx) => {
      const answers = [];
      for (let i = 0; i < 5; i++) answers.push(await rateLimit(ctx, { name, count: capacity * 0.6, reserve: true }));
      return answers;
    });
    const moments = statuses.map(({ retryAt }) => retryAt ?? NOW);
    expect(moments[0]).toBe(NOW);
    expect(moments).toEqual([...moments].sort((a, b) => a - b));
    // Nothing is owed any more from the last moment on, and until then something is.
    const last = moments.at(-1) ?? NaN;
    const owed = () => t.query(async (ctx) => (await checkRateLimit(ctx, { name, count: 0 })).ok);
    vi.setSystemTime(last - 1);
    expect(await owed()).toBe(false);
    vi.setSystemTime(last);
    expect(await owed()).toBe(true);
  });
});

describe("exact arithmetic", () => {
  interface Case {
    rate: [digits: bigint, scale: bigint];
    periodMs: bigint;
    capacity: bigint;
    /** Demand is somewhat above the rate, so that both answers are frequent. */
    stepMs: number;
    most: number;
  }
  const exact: [string, Case][] = [
    ["7 a day", { rate: [7n, 1n], periodMs: 86_400_000n, capacity: 7n, stepMs: 40_000_000, most: 3 }],
    ["40,000 a minute", { rate: [40_000n, 1n], periodMs: 60_000n, capacity: 4000n, stepMs: 600, most: 500 }],
    ["a tenth a second", { rate: [1n, 10n], periodMs: 1000n, capacity: 1n, stepMs: 15_000, most: 1 }],
    ["0.007 every 13 ms", { rate: [7n, 1000n], periodMs: 13n, capacity: 20n, stepMs: 5000, most: 3 }],
    [
      "a billion an hour",
      { rate: [10n ** 9n, 1n], periodMs: 3_600_000n, capacity: 10n ** 9n, stepMs: 3_000_000, most: 1e9 },
    ],
  ];

  it.each(exact)(
    "a million calls at night, a quarter of it by day, do not drift: %s",
    (name, { rate: [digits, scale], periodMs, capacity, stepMs, most }) => {
      const limit = parseLimit(name, {
        kind: "token bucket",
        rate: Number(digits) / Number(scale),
        period: Number(periodMs),
        capacity: Number(capacity),
      });
      // The twin counts in tokens / (scale * periodMs): digits of them arrive in a millisecond.
      const token = scale * periodMs;
      let twin = capacity * token;
      let state = fullState(limit);
      let now = NOW;
      let last = NOW;
      let [disagreements, allowed] = [0, 0];
      const random = seeded(20_240_607);
      const calls = runs(1_000_000);
      for (let call = 0; call < calls; call++) {
        now += Math.floor(random() * stepMs);
        const count = 1 + Math.floor(random() * most);
        twin += BigInt(now - last) * digits;
        if (twin > capacity * token) twin = capacity * token;
        last = now;
        const wanted = BigInt(count) * token;
        const mayGo = twin >= wanted;
        if (mayGo) twin -= wanted;
        const { status, taken } = decide(limit, state, now, parseDemand(limit, { count }));
        if (status.ok !== mayGo) disagreements++;
        if (status.ok) allowed++;
        // Through the stored form, as a row is.
        if (taken) state = fromStored(limit, toStored(limit, taken), undefined);
      }
      expect(disagreements).toBe(0);
      expect(allowed).toBeGreaterThan(calls / 2);
      expect(allowed).toBeLessThan(0.95 * calls);
      // The twin at the moment of the last write.
      const atLastWrite = BigInt(state.value) * token;
      const owed = BigInt(last - state.ts) * digits;
      expect(atLastWrite).toBe((twin - owed) * BigInt(limit.unitsPerToken));
    },
  );

  it("a rate that is no fraction of decimals never accrues more than its share, and loses less than 1e-12 of it", () => {
    for (const [rate, period] of [
      [Math.PI, Math.E],
      [1 / 3, 1000],
      [Math.SQRT2, 86_400_000],
    ] as const) {
      const limit = parseLimit("odd", { kind: "token bucket", rate, period, capacity: 1000 });
      const perMs = rate / period;
      for (const tokens of [1, 17, 1000]) {
        const empty = { value: 0, ts: 0 };
        const { status } = decide(limit, empty, 0, parseDemand(limit, { count: tokens }));
        const waitMs = status.retryAt ?? NaN;
        expect(waitMs).toBeGreaterThanOrEqual(Math.floor(tokens / perMs));
        expect(waitMs).toBeLessThanOrEqual(Math.ceil((tokens / perMs) * (1 + 1e-12)) + 1);
      }
    }
  });
});

/** A linear congruential generator (the constants of Numerical Recipes), seeded, so that a failure repeats. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
