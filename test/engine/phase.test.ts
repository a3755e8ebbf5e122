import { describe, expect, it } from "vitest";
import { forKey, parseLimit } from "../../src/engine/limit.js";
import { hashedStart } from "../../src/engine/phase.js";

const HOUR = 3_600_000;

describe("a hashed start", () => {
  it("is the same for a bucket for ever: these values must not change between versions", () => {
    expect(hashedStart("send", undefined, HOUR)).toBe(1_759_842);
    expect(hashedStart("send", "alice", HOUR)).toBe(2_356_174);
    expect(hashedStart("send", "alicf", HOUR)).toBe(2_716_964);
  });

  it("lies within the period, on a whole millisecond", () => {
    for (const period of [1, 2, 1000, HOUR, 1e15]) {
      for (let i = 0; i < 200; i++) {
        const start = hashedStart("send", `user ${i}`, period);
        expect(Number.isInteger(start) && start >= 0 && start < period).toBe(true);
      }
    }
  });

  it("spreads keys that differ in their last characters evenly over the period", () => {
    const bins = Array<number>(20).fill(0);
    const keys = 20_000;
    for (let i = 0; i < keys; i++) {
      const bin = Math.floor((hashedStart("send", `user ${i}`, HOUR) / HOUR) * bins.length);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    const expected = keys / bins.length;
    const chiSquare = bins.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
    // The 99.9th percentile of chi-square with 19 degrees of freedom.
    expect(chiSquare).toBeLessThan(43.82);
  });

  it("tells apart limits with the same keys, and a name that ends where a key begins", () => {
    expect(hashedStart("a", "bc", 1e15)).not.toBe(hashedStart("ab", "c", 1e15));
    expect(hashedStart("a", "x", 1e15)).not.toBe(hashedStart("b", "x", 1e15));
  });

  it("is not used where the config gives a start, nor by a token bucket", () => {
    const hashed = parseLimit("send", { kind: "fixed window", rate: 1, period: HOUR });
    const fixed = parseLimit("send", { kind: "fixed window", rate: 1, period: HOUR, start: 7 });
    const bucket = parseLimit("send", { kind: "token bucket", rate: 1, period: HOUR });
    expect(forKey(hashed, "alice")).toMatchObject({ start: hashedStart("send", "alice", HOUR) });
    expect(forKey(hashed, undefined)).toEqual(hashed);
    expect(forKey(fixed, "alice")).toMatchObject({ start: 7 });
    expect(forKey(bucket, "alice")).toBe(bucket);
  });
});
