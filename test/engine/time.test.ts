import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { END_OF_TIME, firstMoment } from "../../src/engine/time.js";

describe("the first moment at which a condition holds", () => {
  it("is the very one, from the first millisecond on", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 2e12 }), fc.nat(1e9), (from, afterMs) => {
        expect(firstMoment(from, (moment) => moment >= from + afterMs)).toBe(from + afterMs);
      }),
    );
  });

  it("is the moment that it starts from, if the condition holds by then", () => {
    expect(firstMoment(700, () => true)).toBe(700);
  });

  it("is found in few steps when it is near, and in hundreds at most when it is far", () => {
    const stepsTo = (target: number) => {
      let steps = 0;
      firstMoment(0, (moment) => {
        steps++;
        return moment >= target;
      });
      return steps;
    };
    expect([0, 1, 2, 3].map(stepsTo)).toEqual([1, 2, 4, 4]);
    expect(stepsTo(8e15)).toBeLessThan(110);
  });

  it("is the end of time when the condition never holds, or only later", () => {
    expect(firstMoment(0, () => false)).toBe(END_OF_TIME);
    expect(firstMoment(1.7e12, (moment) => moment > END_OF_TIME)).toBe(END_OF_TIME);
    expect(firstMoment(END_OF_TIME, () => false)).toBe(END_OF_TIME);
    expect(firstMoment(2 * END_OF_TIME, () => true)).toBe(END_OF_TIME);
  });

  it("is the last moment of a Date", () => {
    expect(new Date(END_OF_TIME).getTime()).toBe(END_OF_TIME);
    expect(new Date(END_OF_TIME + 1).getTime()).toBeNaN();
  });
});
