import fc from "fast-check";
import type { RateLimitConfig } from "convex-rate-limits";
import { rateLimitHeaders } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";

const NOW = Date.UTC(2026, 0, 1);
const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1000 };

interface Denied {
  caller?: string;
  waitMs: number;
  jitter: number;
  name?: string;
}

function retryAfter({ caller, waitMs, jitter, name = "api" }: Denied) {
  const status = { ok: false as const, retryAt: NOW + waitMs, remaining: 0, resetAt: NOW + waitMs };
  const options = { now: NOW, jitter, ...(caller !== undefined && { caller }) };
  return Number(rateLimitHeaders({ name, status, config }, options)["Retry-After"]);
}

it("Retry-After is never earlier than the truth and later by at most the fraction, in whole seconds", () => {
  fc.assert(
    fc.property(
      fc.record({
        caller: fc.string(),
        waitMs: fc.integer({ min: 1, max: 1e12 }),
        jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      (denied) => {
        const truth = Math.ceil(denied.waitMs / 1000);
        const seconds = retryAfter(denied);
        expect(seconds).toBeGreaterThanOrEqual(truth);
        expect(seconds).toBeLessThanOrEqual(truth + Math.ceil((denied.waitMs * denied.jitter) / 1000));
      },
    ),
  );
});

it("without jitter it is the first whole second, whoever asks", () => {
  for (let i = 0; i < 100; i++) expect(retryAfter({ caller: `user-${i}`, waitMs: 1001, jitter: 0 })).toBe(2);
});

it("a caller always gets the same wait, and another one from another limit", () => {
  const ofLimit = (name: string) => retryAfter({ caller: "ada", waitMs: 1e9, jitter: 0.5, name });
  expect(ofLimit("api")).toBe(ofLimit("api"));
  expect(ofLimit("api")).not.toBe(ofLimit("reports"));
});

it("an unknown caller gets a random wait", () => {
  const waits = new Set(Array.from({ length: 10 }, () => retryAfter({ waitMs: 1e9, jitter: 1 })));
  // Ten draws from a million seconds are all the same once in 1e54 runs.
  expect(waits.size).toBeGreaterThan(1);
});

describe.each([
  ["that count up", (i: number) => `user-${i}`],
  ["that are addresses", (i: number) => `address:10.0.${i >> 8}.${i & 255}`],
])("callers %s", (_, callerOf) => {
  const CALLERS = 10_000;
  const waits = (denied: Denied) =>
    Array.from({ length: CALLERS }, (_, i) => retryAfter({ ...denied, caller: callerOf(i) }));

  it("are spread evenly over the fraction", () => {
    const BINS = 20;
    const bins = new Array<number>(BINS).fill(0);
    // Waits of 1e6 s with jitter 1 are 1e6 to 2e6 s, so that rounding to seconds does not matter.
    for (const wait of waits({ waitMs: 1e9, jitter: 1 })) {
      const bin = Math.min(BINS - 1, Math.floor(((wait - 1e6) / 1e6) * BINS));
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    const expected = CALLERS / BINS;
    const chiSquare = bins.reduce((sum, observed) => sum + (observed - expected) ** 2 / expected, 0);
    // 19 degrees of freedom: evenly spread keys exceed 43.8 once in a thousand times, and stay below 5.4 as rarely.
    expect(chiSquare).toBeLessThan(43.8);
    expect(chiSquare).toBeGreaterThan(5.4);
  });

  it.each([
    // [wait in s, jitter, the mean lateness in s]: half of the fraction.
    [1, 0.5, 0.25],
    [1, 1, 0.5],
    [2, 0.5, 0.5],
    [3, 0.1, 0.15],
  ])("with %i s to wait and a jitter of %f are late by %f s in the mean", (seconds, jitter, lateness) => {
    const late = waits({ waitMs: seconds * 1000, jitter }).map((wait) => wait - seconds);
    const mean = late.reduce((sum, each) => sum + each, 0) / CALLERS;
    // One caller's lateness deviates by at most 1 s here, so the mean of 10,000 by 0.01 s: four of these deviations.
    expect(Math.abs(mean - lateness)).toBeLessThan(0.04);
    expect(new Set(late)).toContain(0);
    expect(new Set(late)).toContain(1);
  });
});
