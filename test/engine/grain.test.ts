/** The units of a limit: exact, with room for debts, or refused. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mostReservedOf } from "../../src/engine/kinds/kind.js";
import { chooseGrain, limitOf } from "../../src/engine/grain.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { MAX_UNITS } from "../../src/engine/units.js";
import { decimal, period } from "./arbitraries.js";
import { forAny } from "../support/random.js";

const debts = fc.double({ min: 1, max: 2 ** 50, noNaN: true });
const anyRate = fc.double({ min: 1e-6, max: 1e12, noNaN: true });
/** Quantities that leave the choice of units to the capacity. */
const upTo = (exact: number) => ({ exact, debt: 1 });

describe("chooseGrain", () => {
  it.each<[rate: number, per: number, exact: number, debt: number, unitsPerToken: number]>([
    // The grain is as fine as the quantities allow.
    [1, 1, 10, 1, 1_024_000],
    [1, 1, 1e9, 1, 1000],
    [1, 1, 1e12, 1, 100],
    [1, 1e3, 1e11, 1, 1000],
    [7, 2_592_000, 1e7, 1, 2_592_000 * 10],
    // A fraction of decimals is as exact as a fraction of whole numbers.
    [0.1, 1000, 10, 1, 10_000 * 1_024_000],
    [0.7, 1.3, 10, 1, 13 * 1_024_000],
    [1, 3, 10, 1, 3 * 1_024_000],
    // The grain is as coarse as the debts require. The coarsest has one unit per token.
    [1, 1, 10, 1e9, 1_024_000],
    [1, 1, 10, 1e10, 1000],
    [1, 1, 10, 1e14, 10],
    [1, 1, 10, 1e15, 1],
    [1, 1, 10, 1e20, 1],
  ])("%d per %d ms, %d exact tokens, a debt of %d: %d units per token", (rate, per, exact, debt, unitsPerToken) => {
    const refill = (rate * unitsPerToken) / per;
    expect(chooseGrain(rate, per, { exact, debt })).toEqual({ unitsPerToken, refill });
  });

  it("counts a rate that is not a fraction of short decimals in powers of two, slightly below the rate", () => {
    const odd: [number, number][] = [
      [Math.PI, Math.E],
      [1, Math.PI],
      [Math.PI, 1],
      [1e12 + 0.1, 999_999.9999],
      [0.000_000_1, 999_999_999.999],
    ];
    for (const [rate, per] of odd) {
      const { unitsPerToken, refill } = chooseGrain(rate, per, upTo(1000));
      expect(Number.isInteger(Math.log2(unitsPerToken))).toBe(true);
      const share = refill / unitsPerToken / (rate / per);
      expect(share).toBeLessThan(1);
      expect(share).toBeGreaterThan(1 - 1e-14);
    }
  });

  it("treats a fraction as exact only if both its numbers are exact", () => {
    // The fraction before reduction: its numbers are at most 2^53 - 1, or larger.
    const cases: [rate: number, per: number, numerator: bigint, denominator: bigint, isExact: boolean][] = [
      [900_719_925_474_099.1, 6361, 2n ** 53n - 1n, 63_610n, true],
      [6361, 900_719_925_474_099.1, 63_610n, 2n ** 53n - 1n, true],
      [1861.333_460_29, 0.008_698_92, 18_613_334_602_900_000_000n, 86_989_200_000_000n, false],
      [0.000_165, 69_497.414_893_3, 1_650_000_000n, 694_974_148_933_000_000n, false],
    ];
    for (const [rate, per, numerator, denominator, isExact] of cases) {
      const { unitsPerToken, refill } = chooseGrain(rate, per, upTo(1));
      // The double is a whole number of 2^-60 parts.
      const arrived = BigInt(refill * 2 ** 60) * denominator;
      const due = BigInt(unitsPerToken) * 2n ** 60n * numerator;
      expect(isExact ? arrived === due : arrived < due).toBe(true);
    }
  });

  it("never grants more than the rate, keeps exact quantities far below 2^53, and leaves room for debts", () => {
    const sizes = fc.record({ exact: decimal, debt: debts });
    forAny([fc.oneof(decimal, anyRate), period, sizes], 1000, (rate, per, { exact, debt }) => {
      const { unitsPerToken, refill } = chooseGrain(rate, per, { exact, debt });
      expect(unitsPerToken).toBeGreaterThanOrEqual(1);
      expect(Number.isInteger(unitsPerToken)).toBe(true);
      expect(refill / unitsPerToken).toBeLessThanOrEqual((rate / per) * (1 + 2 ** -52));
      if (unitsPerToken === 1) return;
      expect(exact * unitsPerToken).toBeLessThanOrEqual(2 ** 48);
      expect(debt * unitsPerToken).toBeLessThanOrEqual(MAX_UNITS);
    });
  });

  it("chooses the finest grain for whole numbers that leave room for it, and only then", () => {
    const whole = fc.oneof(fc.integer({ min: 1, max: 1e4 }), fc.integer({ min: 1, max: 1e12 }));
    const sizes = fc.record({ exact: fc.oneof(decimal, whole), debt: debts });
    const divisorOf = (a: number, b: number): number => (b === 0 ? a : divisorOf(b, a % b));
    forAny([whole, whole, sizes], 2000, (rate, per, { exact, debt }) => {
      // For whole numbers without a common divisor, a token has `per` times 1,024,000 units.
      const finest = (per / divisorOf(rate, per)) * 1_024_000;
      const isFinest = finest <= Math.min(2 ** 48 / Math.max(exact, rate / per), MAX_UNITS / debt);
      const { unitsPerToken, refill } = chooseGrain(rate, per, { exact, debt });
      expect(unitsPerToken === finest).toBe(isFinest);
      if (isFinest) expect(refill * per).toBeCloseTo(rate * unitsPerToken, 0);
    });
  });
});

const DAY = 86_400_000;

const terms = { rate: 5, per: 1, periodMs: DAY / 24, capacity: 7.5, maxReserved: undefined, shards: undefined };
const own = parseLimit("send", { kind: "token bucket", rate: 5, period: 1 });
const counted = (more: Partial<Parameters<typeof limitOf>[1]>) => limitOf(own, { ...terms, ...more });

describe("the units of a limit", () => {
  it("express rate, capacity and reserve", () => {
    const unitsPerToken = 1_024_000;
    const units = { refill: 5 * unitsPerToken, capacity: 7.5 * unitsPerToken, maxReserved: 2.5 * unitsPerToken };
    const levels = { most: 0, least: 0, isAuto: false };
    const all = { ...own, tokens: 7.5, unitsPerToken, periodMs: DAY / 24, ...units, levels };
    expect(counted({ maxReserved: 2.5 })).toEqual(all);
    expect(mostReservedOf(all)).toBe(10 * unitsPerToken);
    expect(counted({}).maxReserved).toBe(MAX_UNITS);
  });

  it("count the largest reserve as exactly as the capacity", () => {
    const { unitsPerToken, maxReserved } = counted({ rate: 1, per: 1000, periodMs: 1, capacity: 1, maxReserved: 1e12 });
    expect(maxReserved).toBe(1e12 * unitsPerToken);
    expect(maxReserved).toBeLessThanOrEqual(2 ** 48);
  });

  it("leave room for debts of 1,000 full buckets and of a day of the rate", () => {
    const rates = fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.constantFrom(1e9, 1e12));
    const periods = fc.constantFrom(1, 1000, 60_000, DAY, 30 * DAY);
    const capacities = fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.constantFrom(1e9, 1e12));
    const kinds = fc.constantFrom("token bucket" as const, "fixed window" as const);
    forAny([kinds, rates, periods, capacities], 500, (kind, rate, period, capacity) => {
      const { unitsPerToken } = parseLimit("send", { kind, rate, period, capacity });
      const debt = Math.max(1000 * capacity, (rate / period) * DAY);
      // If there is less room, a unit is a token.
      if (unitsPerToken > 1) expect(MAX_UNITS / unitsPerToken).toBeGreaterThanOrEqual(debt);
      else expect(unitsPerToken).toBe(1);
    });
  });

  it("arrive whole with each window, at most one part in 10^9 below the rate", () => {
    for (const rate of [1 / 3, Math.PI, 6.703_897_318_907_71, 1e-9, 12_345.678_901_234]) {
      const { refill, unitsPerToken } = counted({ rate, per: "window", capacity: rate });
      expect(Number.isInteger(refill)).toBe(true);
      expect(refill / unitsPerToken).toBeLessThanOrEqual(rate);
      expect(refill / unitsPerToken).toBeGreaterThanOrEqual(rate * (1 - 1e-9));
    }
  });

  it("of a bucket of 1/3 of a token per ms are as those of 2/3 per 2 ms", () => {
    const config = { kind: "token bucket", capacity: 5000 } as const;
    for (const ms of [1, 2])
      expect(parseLimit("send", { ...config, rate: ms / 3, period: ms }).capacity).toBeGreaterThan(0);
  });

  it.each([
    { rate: 1e12, period: 1000 },
    { rate: 1e8, period: 1 },
  ])("arrive whole with each window if it brings whole tokens: %j", (config) => {
    const limit = parseLimit("send", { kind: "fixed window", start: 0, ...config });
    expect(limit.kind.advance(limit, { value: 0, ts: 0 }, config.period).value).toBe(config.rate * limit.unitsPerToken);
  });

  it("leave less room for debts if a window would otherwise add too few of them", () => {
    const half = parseLimit("send", { kind: "fixed window", rate: 0.5, period: 1000, capacity: 1e12 });
    // The units per token are too many for debts of 1,000 full buckets.
    expect(half.refill).toBe(half.unitsPerToken / 2);
    expect(MAX_UNITS / half.unitsPerToken).toBeGreaterThanOrEqual(1e12);
    expect(MAX_UNITS / half.unitsPerToken).toBeLessThan(1000 * 1e12);
    const third = parseLimit("send", { kind: "fixed window", rate: 1 / 3, period: 1 });
    const { refill } = third;
    expect(refill / third.unitsPerToken).toBeLessThanOrEqual(1 / 3);
    expect(refill / third.unitsPerToken).toBeGreaterThanOrEqual((1 / 3) * (1 - 1e-9));
    expect(MAX_UNITS / third.unitsPerToken).toBeGreaterThanOrEqual(1000 / 3);
    expect(MAX_UNITS / third.unitsPerToken).toBeLessThan(DAY / 3);
  });

  const third = { kind: "fixed window", rate: 1 / 3, period: 1000 } as const;
  const fine = { kind: "fixed window", rate: 999_999.999, period: 1000 } as const;

  it.each<[config: RateLimitConfig, field: string, most: number | undefined]>([
    [{ ...third, capacity: 1e6 }, "capacity 1000000", 1e5],
    [{ ...third, capacity: 1e9 }, "capacity 1000000000", 1e5],
    [{ ...fine, maxReserved: 1e12 }, "maxReserved 1000000000000", 1e11],
    [{ ...third, rate: 1e-5 / 3, capacity: 50 }, "capacity 50", 1],
    [{ ...third, rate: 1e-6 / 3, capacity: 50 }, "capacity 50", undefined],
    [{ kind: "fixed window", rate: 1e-10, period: 1000 }, "capacity 1e-10", undefined],
    [{ kind: "sliding window", rate: 1e-10, period: 1000 }, "capacity 1e-10", undefined],
  ])("are refused if a window's rate would lose more; the error says what to change: %j", (config, field, most) => {
    const [advised = ""] = field.split(" ");
    const advice = most === undefined ? "" : `, or ${advised} of at most ${most}`;
    expect(() => parseLimit("send", config)).toThrow(
      `Rate limit "send": rate ${config.rate} has too many decimals to be counted with ${field}: each window would bring too little. ` +
        `Use a rate with fewer decimals, such as 0.3333 in place of 1/3${advice}.`,
    );
    // The advised value is accepted.
    if (most !== undefined) expect(parseLimit("send", { ...config, [advised]: most }).name).toBe("send");
  });

  it("count a rate with fewer decimals, as that error advises", () => {
    expect(parseLimit("send", { ...third, rate: 0.3333, capacity: 1e6 }).name).toBe("send");
  });
});
