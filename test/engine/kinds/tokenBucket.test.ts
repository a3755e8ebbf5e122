/** The arrival of a token bucket's tokens, and the wait, which is its inverse. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { END_OF_TIME } from "../../../src/engine/time.js";
import { MAX_UNITS } from "../../../src/engine/units.js";
import { forAny } from "../../support/random.js";

const roomy = { kind: "token bucket" as const, capacity: 1e6 };
const whole = parseLimit("whole", { ...roomy, rate: 7, period: 1000 });
const odd = parseLimit("odd", { ...roomy, rate: Math.PI, period: 1 / 3 });
const slow = parseLimit("slow", { ...roomy, rate: 1 / 3, period: 1e6 * Math.E });
/** A limit with very long waits: the quotient of units and rate may be off by half a millisecond. */
const slowest = parseLimit("slowest", { ...roomy, rate: 1 / 3, period: 1e15, capacity: 2.5 });

describe("a token bucket", () => {
  it.each([whole, odd, slow, slowest])(
    "$name: the wait ends at the first millisecond at which the units are there",
    (limit) => {
      const units = fc.double({ min: 0, max: 1, noNaN: true }).map((part) => Math.ceil(part * limit.capacity));
      const debts = fc.oneof(
        fc.constant(0),
        fc.maxSafeInteger().map((n) => n % 2 ** 48),
      );
      forAny([fc.integer({ min: 0, max: 2e12 }), debts, units], 3000, (ts, debt, wanted) => {
        const state = { value: Math.min(limit.capacity, debt), ts };
        const when = limit.kind.whenHolding(limit, state, wanted);
        const held = (now: number) => limit.kind.advance(limit, state, now).value;
        expect(Number.isInteger(when)).toBe(true);
        if (when < END_OF_TIME) expect(held(when)).toBeGreaterThanOrEqual(wanted);
        if (when > ts) expect(held(when - 1)).toBeLessThan(wanted);
      });
    },
  );

  it("needs no wait for available units, and no wait ends after the end of time", () => {
    expect(whole.kind.whenHolding(whole, { value: 5, ts: 100 }, 5)).toBe(100);
    const glacial = parseLimit("glacial", { kind: "token bucket", rate: 1, period: 1e15 });
    const owing = { value: -20 * glacial.capacity, ts: 0 };
    expect(glacial.kind.whenHolding(glacial, owing, 0)).toBe(END_OF_TIME);
    expect(glacial.kind.whenHolding(glacial, { ...owing, ts: END_OF_TIME }, 0)).toBe(END_OF_TIME);
  });

  it("fills in its default capacity, and shows the rest of its config unchanged", () => {
    const config: RateLimitConfig = { kind: "token bucket", rate: 7, period: 1000 };
    const limit = parseLimit("send", config);
    expect(limit.config).toEqual({ ...config, capacity: 7 });
    expect(limit.maxReserved).toBe(MAX_UNITS);
    expect(limit.refill * 1000).toBe(7 * limit.unitsPerToken);
  });
});
