import { describe, expect, it } from "vitest";
import { booleanField, checkFields, plain, required } from "../../src/engine/fields.js";

const fields = {
  rate: required({ above: 0, atMost: 1e12 }),
  start: { atLeast: -5, atMost: 5, isWhole: true, unit: "milliseconds" },
  open: booleanField,
  mode: { oneOf: ["shadow"] },
};
const check = (given: unknown) => checkFields.bind(null, "send", "a token bucket", given, fields);

describe("fields", () => {
  const good = [{ rate: 1 }, { rate: 1e12, start: -5, open: false }, { rate: 5e-324, start: undefined, open: true }];
  it.each(good)("%j matches the table", (given) => {
    expect(check(given)).not.toThrow();
  });

  const RATE = "rate must be a number above 0 and at most 1e12, got";
  const START = "start must be a whole number of milliseconds at least -5 and at most 5, got";
  const KNOWN = "is not a field of a token bucket, which has rate, start, open, mode.";
  it.each<[unknown, string]>([
    [null, "a token bucket must be an object, got null."],
    ["rate", 'a token bucket must be an object, got "rate".'],
    [{}, `${RATE} undefined.`],
    ...[undefined, 0, 1e12 + 1, NaN, Infinity].map((rate): [object, string] => [{ rate }, `${RATE} ${rate}.`]),
    [{ rate: "1" }, `${RATE} "1".`],
    ...[-6, 6, 0.5, null].map((start): [object, string] => [{ rate: 1, start }, `${START} ${start}.`]),
    [{ rate: 1, open: 1 }, "open must be true or false, got 1."],
    [{ rate: 1, mode: "on" }, 'mode must be "shadow", got "on".'],
    [{ rate: 1, rat: 1 }, `"rat" ${KNOWN}`],
    [{ rate: 1, rat: undefined }, `"rat" ${KNOWN}`],
    [{ rate: 1, toString: 1 }, `"toString" ${KNOWN}`],
    [JSON.parse('{"__proto__":1}'), `"__proto__" ${KNOWN}`],
    [[1], "a token bucket must be an object, got [1]."],
  ])("%j does not match: the error names limit, field, value and range", (given, problem) => {
    expect(check(given)).toThrow(`Rate limit "send": ${problem}`);
  });
});

it("a number is shown as a person would type it", () => {
  const numbers = [0, 2048, 100_000, 1e6, 1e12, -1e15, 1_500_000, -0.5].map(plain);
  expect(numbers).toEqual(["0", "2048", "100000", "1e6", "1e12", "-1e15", "1500000", "-0.5"]);
});
