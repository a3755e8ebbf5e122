import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rational } from "../../model/rational.js";
import { worstInterval } from "./slidingBrute.js";

const limit = { rate: 10, period: 1000 };

describe("the worst interval of a sliding window", () => {
  it("is empty when nothing started", () => {
    expect(worstInterval([], limit)).toEqual({ from: 0, tokens: rational(0), isWithin: true });
  });

  it("counts fractions exactly as they are written", () => {
    const tenths = Array.from({ length: 100 }, (_, index) => ({ at: index, count: 0.1 }));
    expect(worstInterval(tenths, limit)).toMatchObject({ tokens: rational(10), isWithin: true });
    const more = [{ at: 50, count: 1e-9 }, ...tenths];
    expect(worstInterval(more, limit)).toMatchObject({ tokens: rational(10.000000001), isWithin: false });
  });

  it("is the worst of all beginnings, one by one", () => {
    const started = fc.array(fc.record({ at: fc.nat(60), count: fc.integer({ min: -3, max: 9 }) }), { maxLength: 12 });
    fc.assert(
      fc.property(started, fc.integer({ min: 1, max: 30 }), (started, period) => {
        const sums = Array.from({ length: 100 }, (_, index) => {
          const from = index - 35;
          const within = started.filter(({ at }) => at >= from && at < from + period);
          return within.reduce((sum, { count }) => sum + count, 0);
        });
        const most = Math.max(...sums);
        const worst = worstInterval(started, { rate: 10, period });
        expect(worst.tokens).toEqual(rational(most));
        expect(worst.isWithin).toBe(most <= 10);
        if (most > 0) expect(sums[worst.from + 35]).toBe(most);
      }),
      { numRuns: 3000 },
    );
  });
});
