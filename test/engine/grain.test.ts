import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseGrain, finestGrain } from "../../src/engine/grain.js";
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
    forAny([fc.oneof(whole, decimal), fc.oneof(whole, decimal), sizes], 2000, (rate, per, quantities) => {
      const chosen = chooseGrain(rate, per, quantities);
      const isWhole = Number.isInteger(rate) && Number.isInteger(per);
      // For whole numbers without a common divisor, a token has `per` times 1,024,000 units.
      const isFinest = chosen.unitsPerToken * rate === chosen.refill * per && chosen.unitsPerToken % 1_024_000 === 0;
      const finest = finestGrain(rate, per, quantities);
      if (finest) expect([finest, isWhole]).toEqual([chosen, true]);
      else expect(isWhole && isFinest && chosen.refill % 1_024_000 === 0).toBe(false);
    });
  });
});
