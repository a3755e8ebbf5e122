/** Shares of quantities: whole tokens, as even as possible, and nothing is lost. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Limit } from "../../../src/engine/kinds/kind.js";
import { leftHalf, shareOfUnits } from "../../../src/engine/kinds/shares.js";
import { forAny } from "../../support/random.js";

const grains = fc.constantFrom(1, 10, 1_024_000);
const quantities = fc.tuple(fc.nat(5000), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), grains);

describe("the shares of a quantity", () => {
  it("are whole tokens; the last share also gets the fraction", () => {
    const shares = [0, 1, 2, 3].map((index) => shareOfUnits(105, 10, { index, count: 4 }));
    expect(shares).toEqual([20, 30, 20, 35]);
    expect(shareOfUnits(105, 10, { index: 0, count: 1 })).toBe(105);
    expect([0, 1].map((index) => shareOfUnits(9, 10, { index, count: 2 }))).toEqual([0, 9]);
  });

  it("add up to the whole on every level, are as even as possible, and two make the share one level up", () => {
    forAny([quantities, fc.integer({ min: 1, max: 10 })], 100, ([tokens, fraction, unitsPerToken], level) => {
      const units = tokens * unitsPerToken + Math.floor(fraction * unitsPerToken);
      const count = 2 ** level;
      const share = (index: number, of: number) => shareOfUnits(units, unitsPerToken, { index, count: of });
      const shares = Array.from({ length: count }, (_, index) => share(index, count));
      expect(shares.reduce((sum, each) => sum + each, 0)).toBe(units);
      for (const [index, each] of shares.entries()) {
        expect(Math.abs(Math.floor(each / unitsPerToken) - tokens / count)).toBeLessThan(1);
        if (index < count - 1) expect(each % unitsPerToken).toBe(0);
        if (index % 2 === 0) expect(each + (shares[index + 1] ?? NaN)).toBe(share(index / 2, count / 2));
      }
    });
  });
});

describe("the left half of what a shard holds", () => {
  const limit = (capacity: number) => ({ unitsPerToken: 10, capacity }) as Limit;
  it("is half of the whole tokens; the right half gets the fraction", () => {
    expect([75, 5, 0].map((units) => leftHalf(units, limit(50), limit(50)))).toEqual([30, 0, 0]);
  });

  it("is half of a debt, as of what pays it, also where less than a unit comes in a millisecond", () => {
    const slow = { ...limit(50), refill: 1 / 4 };
    const none = { ...slow, refill: 0 };
    expect([leftHalf(-90, none, none), leftHalf(-90, none, slow)]).toEqual([0, 0]);
    expect([leftHalf(-90, slow, slow), leftHalf(-90, slow, { ...slow, refill: 1 / 2 })]).toEqual([-45, -30]);
  });

  it("is more or less than half if a side cannot hold its half", () => {
    expect(leftHalf(99, limit(40), limit(60))).toBe(40);
    expect(leftHalf(95, limit(55), limit(45))).toBe(50);
    expect(leftHalf(100, limit(50), limit(50))).toBe(50);
  });
});
