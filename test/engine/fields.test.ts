import { describe, expect, it } from "vitest";
import { booleanField, checkFields, plain, required } from "../../src/engine/fields.js";

const fields = {
  rate: required({ above: 0, atMost: 1e12 }),
  start: { atLeast: -5, atMost: 5, isWhole: true, unit: "milliseconds" },
  open: booleanField,
};
const check = (given: unknown) => {
  checkFields("send", "a token bucket", given, fields);
};

describe("fields", () => {
  it.each([{ rate: 1 }, { rate: 1e12, start: -5, open: false }, { rate: 5e-324, start: undefined, open: true }])(
    "%j holds to the table",
    (given) => {
      expect(() => {
        check(given);
      }).not.toThrow();
    },
  );

  it.each<[unknown, string]>([
    [null, "a token bucket must be an object, got null."],
    ["rate", 'a token bucket must be an object, got "rate".'],
    [{}, "rate must be a number above 0 and at most 1e12, got undefined."],
    [{ rate: undefined }, "rate must be a number above 0 and at most 1e12, got undefined."],
    [{ rate: 0 }, "rate must be a number above 0 and at most 1e12, got 0."],
    [{ rate: 1e12 + 1 }, "rate must be a number above 0 and at most 1e12, got 1000000000001."],
    [{ rate: NaN }, "rate must be a number above 0 and at most 1e12, got NaN."],
    [{ rate: Infinity }, "rate must be a number above 0 and at most 1e12, got Infinity."],
    [{ rate: "1" }, 'rate must be a number above 0 and at most 1e12, got "1".'],
    [{ rate: 1, start: -6 }, "start must be a whole number of milliseconds at least -5 and at most 5, got -6."],
    [{ rate: 1, start: 6 }, "start must be a whole number of milliseconds at least -5 and at most 5, got 6."],
    [{ rate: 1, start: 0.5 }, "start must be a whole number of milliseconds at least -5 and at most 5, got 0.5."],
    [{ rate: 1, start: null }, "start must be a whole number of milliseconds at least -5 and at most 5, got null."],
    [{ rate: 1, open: 1 }, "open must be true or false, got 1."],
    [{ rate: 1, rat: 1 }, '"rat" is not a field of a token bucket, which has rate, start, open.'],
    [{ rate: 1, rat: undefined }, '"rat" is not a field of a token bucket, which has rate, start, open.'],
    [{ rate: 1, toString: 1 }, '"toString" is not a field of a token bucket, which has rate, start, open.'],
    [JSON.parse('{"__proto__":1}'), '"__proto__" is not a field of a token bucket, which has rate, start, open.'],
    [[1], '"0" is not a field of a token bucket, which has rate, start, open.'],
  ])("%j does not: the error names limit, field, value and range", (given, problem) => {
    expect(() => {
      check(given);
    }).toThrow(`Rate limit "send": ${problem}`);
  });
});

describe("a number as one would type it", () => {
  it.each([
    [0, "0"],
    [2048, "2048"],
    [100_000, "100000"],
    [1e6, "1e6"],
    [1e12, "1e12"],
    [-1e15, "-1e15"],
    [1_500_000, "1500000"],
    [-0.5, "-0.5"],
  ])("%d is %s", (number, text) => {
    expect(plain(number)).toBe(text);
  });
});
