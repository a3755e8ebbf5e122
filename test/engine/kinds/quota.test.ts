/** The quota of each kind for HTTP headers: the window, and when more tokens arrive. */
import type { RateLimitConfig } from "convex-rate-limits";
import { expect, it } from "vitest";
import { parseLimit } from "../../../src/engine/kinds/limit.js";

const NOW = 1_700_000_000_000;

function quotaOf(
  config: RateLimitConfig,
  left: { remaining: number; resetAt: number; retryAt?: number; renewsAt?: number },
  spent: number,
  count = 1,
) {
  const limit = parseLimit("send", config);
  return [limit.kind.windowMs(limit, NOW), limit.kind.renewedAt(limit, left, { spent, count }, NOW) - NOW];
}

it("a token bucket has the time that fills its capacity, and the next token after the spent ones", () => {
  const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, capacity: 20 };
  expect(quotaOf(config, { remaining: 5, resetAt: NOW + 1500 }, 5)).toEqual([2000, 100]);
  expect(quotaOf(config, { remaining: 0, resetAt: NOW + 2000 }, 0)).toEqual([2000, 100]);
  // If the bucket owes, it is the first token after the debt. If one of several rows is full late, it follows from the missing tokens.
  expect(quotaOf(config, { remaining: 0, resetAt: NOW + 3000 }, 0)).toEqual([2000, 1100]);
  expect(quotaOf(config, { remaining: 5, resetAt: NOW + 3000 }, 3, 5)).toEqual([2000, 300]);
  expect(quotaOf({ ...config, capacity: 0 }, { remaining: 0, resetAt: NOW }, 0)[0]).toBe(1000);
  expect(quotaOf({ ...config, period: 2.5, capacity: 10 }, { remaining: 10, resetAt: NOW }, 0)[0]).toBe(2.5);
});

it("a sliding window has its period, and the time of the next token from the status", () => {
  const config: RateLimitConfig = { kind: "sliding window", rate: 10, period: 1000 };
  const left = { remaining: 4, resetAt: NOW + 700 };
  // Six were taken, the first of them 800 ms ago.
  expect(quotaOf(config, { ...left, renewsAt: NOW + 200 }, 4)).toEqual([1000, 200]);
  // Tokens spent now return after the period.
  expect(quotaOf(config, left, 4)).toEqual([1000, 1000]);
  // Promised ones return a period after their time.
  expect(quotaOf(config, { remaining: 0, resetAt: NOW + 1600 }, 0)).toEqual([1000, 1600]);
});

it("a fixed window has the windows that fill its capacity, and the next one with enough tokens", () => {
  const config: RateLimitConfig = { kind: "fixed window", rate: 0.5, period: 1000, start: 0, capacity: 2 };
  const next = Math.ceil((NOW + 1) / 1000) * 1000;
  expect(quotaOf(config, { remaining: 0, resetAt: next }, 0)).toEqual([4000, next + 1000 - NOW]);
  expect(quotaOf({ ...config, capacity: 0 }, { remaining: 0, resetAt: next }, 0)[0]).toBe(1000);
  const plenty = { ...config, rate: 10, capacity: 10 };
  expect(quotaOf(plenty, { remaining: 0, resetAt: next }, 0)).toEqual([1000, next - NOW]);
  const renewed = (left: { remaining: number; retryAt?: number; renewsAt?: number }, spent: number, count: number) =>
    quotaOf({ ...config, rate: 5, capacity: 20 }, { resetAt: next, ...left }, spent, count)[1];
  expect(renewed({ remaining: 5 }, 3, 10)).toBe(next + 1000 - NOW);
  expect(renewed({ remaining: 5 }, 0, 1)).toBe(next - NOW);
  // The window in which a debt is paid may hold fewer tokens than a request takes, or none.
  expect(renewed({ remaining: 0, retryAt: next + 1000 }, 0, 5)).toBe(next + 2000 - NOW);
  expect(renewed({ remaining: 0, retryAt: next + 300, renewsAt: next + 900 }, 0, 1)).toBe(next + 900 - NOW);
});
