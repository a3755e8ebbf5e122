/** Where the windows of a bucket start when its config does not say. */
import { describe, expect, it } from "vitest";
import { hashedStart } from "../../src/engine/phase.js";

const HOUR = 3_600_000;
const PHASES = 64;

/** That keys are spread evenly over the phases is for hash.test.ts. */
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
});
