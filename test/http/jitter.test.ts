import fc from "fast-check";
import type { RateLimitConfig } from "convex-rate-limits";
import { rateLimitHeaders } from "convex-rate-limits/http";
import { expect, it } from "vitest";

const NOW = Date.UTC(2026, 0, 1);
const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1000 };

function retryAfter({
  key,
  waitMs,
  jitter,
  name = "api",
}: {
  key: string;
  waitMs: number;
  jitter: number;
  name?: string;
}) {
  const status = { ok: false as const, retryAt: NOW + waitMs, remaining: 0, resetAt: NOW + waitMs };
  return Number(rateLimitHeaders({ name, key, status, config }, { now: NOW, jitter })["Retry-After"]);
}

it("Retry-After is never earlier than the truth and later by at most the fraction", () => {
  fc.assert(
    fc.property(
      fc.record({
        key: fc.string({ minLength: 1 }),
        waitMs: fc.integer({ min: 1, max: 1e12 }),
        jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      (caller) => {
        const seconds = retryAfter(caller);
        expect(seconds * 1000).toBeGreaterThanOrEqual(caller.waitMs);
        expect(seconds).toBeLessThanOrEqual(Math.ceil((caller.waitMs * (1 + caller.jitter)) / 1000));
      },
    ),
  );
});

it("a caller always gets the same offset, and another one from another limit", () => {
  const ofLimit = (name: string) => retryAfter({ key: "ada", waitMs: 1e9, jitter: 0.5, name });
  expect(ofLimit("api")).toBe(ofLimit("api"));
  expect(ofLimit("api")).not.toBe(ofLimit("reports"));
});

it.each([
  ["that count up", (i: number) => `user-${i}`],
  ["that are addresses", (i: number) => `address:10.0.${i >> 8}.${i & 255}`],
])("callers with keys %s are spread evenly over the fraction", (_, keyOf) => {
  const BINS = 20;
  const CALLERS = 10_000;
  const bins = new Array<number>(BINS).fill(0);
  for (let i = 0; i < CALLERS; i++) {
    // Waits of 1e6 s with jitter 1 are 1e6 to 2e6 s, so that rounding to seconds does not matter.
    const bin = Math.min(
      BINS - 1,
      Math.floor(((retryAfter({ key: keyOf(i), waitMs: 1e9, jitter: 1 }) - 1e6) / 1e6) * BINS),
    );
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  const expected = CALLERS / BINS;
  const chiSquare = bins.reduce((sum, observed) => sum + (observed - expected) ** 2 / expected, 0);
  // 19 degrees of freedom: evenly spread keys exceed 43.8 once in a thousand times, and stay below 5.4 as rarely.
  expect(chiSquare).toBeLessThan(43.8);
  expect(chiSquare).toBeGreaterThan(5.4);
});
