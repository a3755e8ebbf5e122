/** When units arrive: both kinds, and that the wait is the inverse of the accrual. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as fixedWindow from "../../../src/engine/kinds/fixedWindow.js";
import { parseLimit } from "../../../src/engine/limit.js";
import * as tokenBucket from "../../../src/engine/kinds/tokenBucket.js";
import { END_OF_TIME } from "../../../src/engine/time.js";
import type { FixedWindowLimit, TokenBucketLimit } from "../../../src/engine/types.js";

const whole = parseLimit("whole", { kind: "token bucket", rate: 7, period: 1000 }) as TokenBucketLimit;
const odd = parseLimit("odd", { kind: "token bucket", rate: Math.PI, period: 1 / 3 }) as TokenBucketLimit;
const slow = parseLimit("slow", { kind: "token bucket", rate: 1 / 3, period: 1e6 * Math.E }) as TokenBucketLimit;
const window = parseLimit("window", { kind: "fixed window", rate: 5, period: 1000, start: 250 }) as FixedWindowLimit;

describe("a token bucket", () => {
  it("accrues with every millisecond, and nothing when the clock steps back", () => {
    expect(tokenBucket.accrued(whole, 100, 100)).toBe(0);
    expect(tokenBucket.accrued(whole, 100, 99)).toBe(0);
    expect(tokenBucket.accrued(whole, 100, 1100)).toBe(7 * whole.unitsPerToken);
  });

  it.each([whole, odd, slow])("$name: the wait is the first millisecond by which the units are there", (limit) => {
    const units = fc.integer({ min: 1, max: 2 ** 48 });
    const steps = fc.integer({ min: 1, max: 1e9 }).map((ms) => Math.floor(ms * limit.refill));
    const from = fc.integer({ min: 0, max: 2e12 });
    fc.assert(
      fc.property(
        from,
        fc.oneof(
          units,
          steps,
          steps.map((n) => n + 1),
        ),
        (ts, wanted) => {
          const when = tokenBucket.whenAccrued(limit, ts, wanted);
          expect(tokenBucket.accrued(limit, ts, when)).toBeGreaterThanOrEqual(wanted);
          if (wanted > 0) expect(tokenBucket.accrued(limit, ts, when - 1)).toBeLessThan(wanted);
        },
      ),
      { numRuns: 5000 },
    );
  });

  it("what is there already needs no wait, what takes for ever ends with time", () => {
    expect(tokenBucket.whenAccrued(whole, 100, 0)).toBe(100);
    expect(tokenBucket.whenAccrued(whole, 100, -5)).toBe(100);
    expect(tokenBucket.whenAccrued(whole, 100, 1e30)).toBe(END_OF_TIME);
    expect(tokenBucket.whenAccrued(whole, END_OF_TIME, 1)).toBe(END_OF_TIME);
  });
});

describe("a fixed window", () => {
  const perWindow = 5 * window.unitsPerToken;

  it("accrues at each boundary, and nothing when the clock steps back over one", () => {
    expect(fixedWindow.accrued(window, 250, 1249)).toBe(0);
    expect(fixedWindow.accrued(window, 1249, 1250)).toBe(perWindow);
    expect(fixedWindow.accrued(window, 249, 3250)).toBe(4 * perWindow);
    expect(fixedWindow.accrued(window, 1250, 1249)).toBe(0);
    expect(fixedWindow.accrued(window, 1250, 1250)).toBe(0);
  });

  it("waits for the boundary that brings enough", () => {
    expect(fixedWindow.whenAccrued(window, 300, 0)).toBe(300);
    expect(fixedWindow.whenAccrued(window, 300, 1)).toBe(1250);
    expect(fixedWindow.whenAccrued(window, 300, perWindow)).toBe(1250);
    expect(fixedWindow.whenAccrued(window, 300, perWindow + 1)).toBe(2250);
    expect(fixedWindow.whenAccrued(window, 300, 1e30)).toBe(END_OF_TIME);
  });

  it("has boundaries before and after a start in the future", () => {
    const later = parseLimit("later", { kind: "fixed window", rate: 5, period: 1000, start: 1e9 + 250 });
    if (later.kind !== "fixed window") expect.unreachable();
    else {
      expect(fixedWindow.nextWindow(later, 0)).toBe(250);
      expect(fixedWindow.nextWindow(later, 250)).toBe(1250);
      expect(fixedWindow.accrued(later, 0, 1250)).toBe(2 * perWindow);
    }
  });
});
