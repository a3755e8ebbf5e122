/** The arithmetic of the exact twins, beside that of IEEE 754, which rounds each quotient once. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exactly, fraction, over, toNumber } from "./rational.js";

describe("the double next to a fraction", () => {
  const doubles = fc.double({ min: -1e12, max: 1e12, noNaN: true }).filter((each) => Math.abs(each) > 1e-12);

  it("is the quotient of two doubles", () => {
    fc.assert(
      fc.property(doubles, doubles, (a, b) => {
        expect(toNumber(over(exactly(a), exactly(b)))).toBe(a / b);
      }),
      { numRuns: 2000 },
    );
  });

  it("is the nearer one, and between two the even one", () => {
    const one = 2n ** 53n;
    expect(toNumber(fraction(one + 1n, 1n))).toBe(2 ** 53);
    expect(toNumber(fraction(one + 3n, 1n))).toBe(2 ** 53 + 4);
    expect(toNumber(fraction(2n ** 80n * (one + 1n) + 1n, 2n ** 80n))).toBe(2 ** 53 + 2);
    expect(toNumber(fraction(-(2n ** 80n) * (one + 1n) - 1n, 2n ** 80n))).toBe(-(2 ** 53) - 2);
    expect(toNumber(fraction(0n, 7n))).toBe(0);
  });
});
