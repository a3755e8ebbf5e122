/** The policy of each kind for HTTP headers: the tokens of a full bucket, and the time in which all of them come back. */
import type { RateLimitConfig } from "convex-rate-limits";
import { expect, it } from "vitest";
import { policyOf } from "../../../src/engine/kinds/policy.js";

const bucket = { kind: "token bucket", rate: 10, period: 1000 } as const;
const window = { kind: "fixed window", rate: 10, period: 1000 } as const;

it.each<[string, RateLimitConfig, tokens: number, seconds: number]>([
  ["a token bucket fills at its rate", { ...bucket, capacity: 25 }, 25, 2.5],
  ["a token bucket without a capacity holds its rate", bucket, 10, 1],
  ["a capacity of 0 has the time of one period", { ...bucket, capacity: 0 }, 0, 1],
  ["a rounding error makes no second more", { ...bucket, rate: 0.1, capacity: 0.3 }, 0.3, 3],
  ["a fixed window brings its tokens at once", { ...window, capacity: 25 }, 25, 3],
  ["a fixed window of less than its rate needs one window", { ...window, capacity: 5 }, 5, 1],
  ["a sliding window has its period", { kind: "sliding window", rate: 7, period: 3000 }, 7, 3],
  ["slots come back when their lease ends", { kind: "concurrency", slots: 4, lease: 3000 }, 4, 3],
  ["a day", { ...window, period: "day" }, 10, 86_400],
  ["a week", { ...window, period: "week" }, 10, 604_800],
  ["a month, on average", { ...window, period: "month" }, 10, 2_629_746],
  ["a year, on average", { ...window, period: "year" }, 10, 31_556_952],
  ["two months", { ...window, period: "month", capacity: 20 }, 20, 2 * 2_629_746],
])("%s", (_, config, tokens, seconds) => {
  const policy = policyOf(config);
  expect(policy.tokens).toBe(tokens);
  expect(policy.windowMs).toBeCloseTo(seconds * 1000, 5);
});
