import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { END_OF_TIME, firstTime } from "../../src/engine/time.js";
import { forAny } from "../support/random.js";

describe("the first time at which a condition holds", () => {
  it("is exact, from the first millisecond on", () => {
    forAny([fc.integer({ min: -1e12, max: 2e12 }), fc.nat(1e9)], 100, (from, afterMs) => {
      expect(firstTime(from, (time) => time >= from + afterMs)).toBe(from + afterMs);
    });
  });

  it("is found in few steps if it is near, and in fewer than 110 if it is far", () => {
    const stepsTo = (target: number) => {
      let steps = 0;
      firstTime(0, (time) => {
        steps++;
        return time >= target;
      });
      return steps;
    };
    expect([0, 1, 2, 3].map(stepsTo)).toEqual([1, 2, 4, 4]);
    expect(stepsTo(8e15)).toBeLessThan(110);
  });

  it("is the end of time if the condition never holds, or only later", () => {
    expect(firstTime(0, () => false)).toBe(END_OF_TIME);
    expect(firstTime(1.7e12, (time) => time > END_OF_TIME)).toBe(END_OF_TIME);
    expect(firstTime(END_OF_TIME, () => false)).toBe(END_OF_TIME);
    expect(firstTime(2 * END_OF_TIME, () => true)).toBe(END_OF_TIME);
  });

  it("is never after the last time of a Date", () => {
    expect(new Date(END_OF_TIME).getTime()).toBe(END_OF_TIME);
    expect(new Date(END_OF_TIME + 1).getTime()).toBeNaN();
  });
});
