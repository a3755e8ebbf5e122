/** Where the windows of a bucket start when its config does not say. */
import { describe, expect, it } from "vitest";
import { hashedStart } from "../../src/engine/phase.js";

const HOUR = 3_600_000;
const PHASES = 64;

describe("a hashed start", () => {
  it("is the same for a bucket for ever: these values must not change between versions", () => {
    expect(hashedStart("send", undefined, HOUR)).toBe((44 / PHASES) * HOUR);
    expect(hashedStart("send", "alice", HOUR)).toBe((25 / PHASES) * HOUR);
    expect(hashedStart("send", "alicf", HOUR)).toBe(0);
  });

  it("lies within the period, on a whole millisecond", () => {
    for (const period of [1, 2, 63, 1000, HOUR, 1e15]) {
      for (let i = 0; i < 200; i++) {
        const start = hashedStart("send", `user ${i}`, period);
        expect(Number.isInteger(start) && start >= 0 && start < period).toBe(true);
      }
    }
  });

  it("says six bits of the hash and no more, so that it does not tell which key the server chose", () => {
    const starts = Array.from({ length: 5000 }, (_, i) => hashedStart("send", `user ${i}`, HOUR));
    expect(new Set(starts).size).toBe(PHASES);
    expect(starts.filter((start) => start % (HOUR / PHASES) !== 0)).toEqual([]);
  });

  it("spreads keys that differ in their last characters evenly over the period", () => {
    const bins = Array<number>(PHASES).fill(0);
    const keys = 64_000;
    for (let i = 0; i < keys; i++) {
      const bin = (hashedStart("send", `user ${i}`, HOUR) / HOUR) * PHASES;
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    const expected = keys / bins.length;
    const chiSquare = bins.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
    // The 99.9th percentile of chi-square with 63 degrees of freedom.
    expect(chiSquare).toBeLessThan(103.45);
  });

  it("tells apart limits with the same keys, and a name that ends where a key begins", () => {
    const users = Array.from({ length: 100 }, (_, i) => `user ${i}`);
    const startsOf = (name: string, prefix: string) => users.map((user) => hashedStart(name, prefix + user, 1e15));
    expect(startsOf("a", "")).not.toEqual(startsOf("b", ""));
    expect(startsOf("a", "b")).not.toEqual(startsOf("ab", ""));
  });
});
