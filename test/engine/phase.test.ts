/** The start of a bucket's windows if its config has no start. */
import { describe, expect, it } from "vitest";
import { hashedStart } from "../../src/engine/phase.js";

const HOUR = 3_600_000;
const PHASES = 64;

/** hash.test.ts checks that keys are evenly distributed over the phases. */
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
