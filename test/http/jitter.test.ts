// @vitest-environment edge-runtime
import fc from "fast-check";
import type { RateLimitConfig } from "convex-rate-limits";
import { rateLimitHeaders } from "convex-rate-limits/http";
import { expect, it } from "vitest";

const NOW = Date.UTC(2026, 0, 1);
const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1000 };

function retryAfter(waitMs: number, jitter: number) {
  const status = { ok: false as const, retryAt: NOW + waitMs, remaining: 0, resetAt: NOW + waitMs };
  return Number(rateLimitHeaders({ name: "api", status, config }, { now: NOW, jitter })["Retry-After"]);
}

it("Retry-After is never earlier than the truth and later by at most the fraction, in whole seconds", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e12 }),
      fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
      (waitMs, jitter) => {
        const truth = Math.ceil(waitMs / 1000);
        const seconds = retryAfter(waitMs, jitter);
        expect(seconds).toBeGreaterThanOrEqual(truth);
        expect(seconds).toBeLessThanOrEqual(truth + Math.ceil((waitMs * jitter) / 1000));
      },
    ),
  );
});

it("callers are spread evenly over the fraction, also those who share a key or an address", () => {
  const CALLERS = 10_000;
  const BINS = 20;
  const bins = new Array<number>(BINS).fill(0);
  // Waits of 1e6 s with jitter 1 are 1e6 to 2e6 s, so that rounding to seconds does not matter.
  for (let i = 0; i < CALLERS; i++) {
    const bin = Math.min(BINS - 1, Math.floor(((retryAfter(1e9, 1) - 1e6) / 1e6) * BINS));
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  const expected = CALLERS / BINS;
  const chiSquare = bins.reduce((sum, observed) => sum + (observed - expected) ** 2 / expected, 0);
  // 19 degrees of freedom: evenly spread waits exceed 55 once in 40,000 times.
  expect(chiSquare).toBeLessThan(55);
});

it.each([
  // [wait in s, jitter, the mean lateness in s]: half of the fraction.
  [1, 0.5, 0.25],
  [1, 1, 0.5],
  [2, 0.5, 0.5],
  [3, 0.1, 0.15],
])("with %i s to wait and a jitter of %f callers are late by %f s in the mean", (seconds, jitter, lateness) => {
  const late = Array.from({ length: 10_000 }, () => retryAfter(seconds * 1000, jitter) - seconds);
  const mean = late.reduce((sum, each) => sum + each, 0) / late.length;
  // One caller's lateness deviates by at most 1 s here, so the mean of 10,000 by 0.01 s: four of these deviations.
  expect(Math.abs(mean - lateness)).toBeLessThan(0.04);
  expect([late.includes(0), late.includes(1)]).toEqual([true, true]);
});
