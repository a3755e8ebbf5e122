import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rational } from "../../model/rational.js";
import { worstInterval } from "./slidingBrute.js";

const limit = { rate: 10, period: 1000 };

describe("the worst interval of a sliding window", () => {
  it("is empty when nothing started", () => {
    expect(worstInterval([], limit)).toEqual({ from: 0, tokens: rational(0), isWithin: true });
  });

  it("holds its first millisecond and not the one a period later", () => {
    const apart = [
      { at: 500, count: 10 },
      { at: 1500, count: 10 },
    ];
    const close = [
      { at: 500, count: 10 },
      { at: 1499, count: 1 },
    ];
    expect(worstInterval(apart, limit)).toMatchObject({ tokens: rational(10), isWithin: true });
    expect(worstInterval(close, limit)).toEqual({ from: 500, tokens: rational(11), isWithin: false });
  });

  it("lies across the windows of a clock, and the order of what started does not matter", () => {
    const started = [
      { at: 2005, count: 6 },
      { at: 1990, count: 3 },
      { at: 990, count: 6 },
      { at: 1980, count: 4 },
    ];
    expect(worstInterval(started, limit)).toEqual({ from: 1980, tokens: rational(13), isWithin: false });
  });

  it("adds what started at one moment, less what was given back", () => {
    const started = [
      { at: 7, count: 10 },
      { at: 7, count: 3 },
      { at: 7, count: -3 },
      { at: 8, count: -1 },
      { at: 1006, count: 1 },
    ];
    // From 7 to before 1007: 10 - 1 + 1. From -993 to before 8 nothing was given back at 8.
    expect(worstInterval(started, limit)).toMatchObject({ tokens: rational(10), isWithin: true });
    expect(worstInterval([...started, { at: 1007, count: 11 }], limit)).toEqual({
      from: 1006,
      tokens: rational(12),
      isWithin: false,
    });
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
