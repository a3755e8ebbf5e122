/** The start of a bucket's windows if its config has no start. */
import { describe, expect, it } from "vitest";
import { hashedStart, hashOf } from "../../src/engine/kinds/fixedWindow.js";

const HOUR = 3_600_000;
const PHASES = 64;

describe("the hash of a text", () => {
  it("has not changed: with another hash every current window would start anew", () => {
    const hashes = ["", "send", "ß日本💥"].map(hashOf);
    expect(hashes).toEqual([0.02137250336818397, 0.48884520842693746, 0.6929472095798701]);
  });

  it("is evenly distributed for texts that differ by a number: chi-square of 64 parts", () => {
    const texts = 64_000;
    const counts = new Array<number>(64).fill(0);
    for (let i = 0; i < texts; i++) {
      const part = Math.floor(64 * hashOf(`user${i}`));
      counts[part] = (counts[part] ?? NaN) + 1;
    }
    expect(counts).toHaveLength(64);
    const square = counts.reduce((sum, count) => sum + (count - texts / 64) ** 2 / (texts / 64), 0);
    // 63 degrees of freedom: one of 30,000 even distributions exceeds 118.
    expect(square).toBeLessThan(118);
  });
});

describe("a hashed start", () => {
  it("is always the same for a key: these values must never change between versions", () => {
    expect(hashedStart("send", HOUR)).toBe((31 / PHASES) * HOUR);
    expect(hashedStart("alice", HOUR)).toBe((27 / PHASES) * HOUR);
    expect(hashedStart("alicf", HOUR)).toBe((15 / PHASES) * HOUR);
  });

  it("is a whole millisecond within the period", () => {
    for (const period of [1, 2, 63, 1000, HOUR, 1e15]) {
      for (let i = 0; i < 200; i++) {
        const start = hashedStart(`user ${i}`, period);
        expect(Number.isInteger(start) && start >= 0 && start < period).toBe(true);
      }
    }
  });

  it("reveals only six bits of the hash, so a client cannot find out which key the server chose", () => {
    const starts = Array.from({ length: 5000 }, (_, i) => hashedStart(`user ${i}`, HOUR));
    expect(new Set(starts).size).toBe(PHASES);
    expect(starts.filter((start) => start % (HOUR / PHASES) !== 0)).toEqual([]);
  });
});
