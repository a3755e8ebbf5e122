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

it("Retry-After is never shorter than the wait, and longer by at most the jitter's fraction, in whole seconds", () => {
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

it.each([
  // [wait in s, jitter, mean lateness in s]: the mean is half of the jitter's fraction of the wait.
  [1, 0.5, 0.25],
  [1, 1, 0.5],
  [2, 0.5, 0.5],
  [3, 0.1, 0.15],
])("with a wait of %i s and a jitter of %f, callers are %f s late on average", (seconds, jitter, lateness) => {
  const late = Array.from({ length: 10_000 }, () => retryAfter(seconds * 1000, jitter) - seconds);
  const mean = late.reduce((sum, each) => sum + each, 0) / late.length;
  // One caller's lateness deviates by at most 1 s here, so the mean of 10,000 deviates by 0.01 s. The bound is four such deviations.
  expect(Math.abs(mean - lateness)).toBeLessThan(0.04);
  expect([late.includes(0), late.includes(1)]).toEqual([true, true]);
});
