/** Where the windows of a bucket start when its config does not say. */
import { describe, expect, it } from "vitest";
import { hashedStart } from "../../src/engine/phase.js";

const HOUR = 3_600_000;
const PHASES = 64;

describe("a hashed start", () => {
  it("is always the same for a key: these values must not change between versions", () => {
    expect(hashedStart("send", HOUR)).toBe((31 / PHASES) * HOUR);
    expect(hashedStart("alice", HOUR)).toBe((27 / PHASES) * HOUR);
    expect(hashedStart("alicf", HOUR)).toBe((15 / PHASES) * HOUR);
  });

  it("lies within the period, on a whole millisecond", () => {
    for (const period of [1, 2, 63, 1000, HOUR, 1e15]) {
      for (let i = 0; i < 200; i++) {
        const start = hashedStart(`user ${i}`, period);
        expect(Number.isInteger(start) && start >= 0 && start < period).toBe(true);
      }
    }
  });

  it("tells six bits of the hash and no more, so a client cannot find out which key the server chose", () => {
    const starts = Array.from({ length: 5000 }, (_, i) => hashedStart(`user ${i}`, HOUR));
    expect(new Set(starts).size).toBe(PHASES);
    expect(starts.filter((start) => start % (HOUR / PHASES) !== 0)).toEqual([]);
  });

  it("spreads keys that differ in their last characters evenly over the period", () => {
    const bins = Array<number>(PHASES).fill(0);
    const keys = 64_000;
    for (let i = 0; i < keys; i++) {
      const bin = (hashedStart(`user ${i}`, HOUR) / HOUR) * PHASES;
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    const expected = keys / bins.length;
    const chiSquare = bins.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
    // The 99.9th percentile of chi-square with 63 degrees of freedom.
    expect(chiSquare).toBeLessThan(103.45);
  });
});
