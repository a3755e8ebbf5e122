/** A bucket's state in the official component's form, as it is stored and at a time. */
import { present } from "../wire/present.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { Quantities, RateLimitConfig } from "./config.js";

interface Reported extends Quantities {
  capacity: number;
  shards: number;
}

/**
 * The answer of `getValue`: `value` tokens at `ts`, in milliseconds since the epoch. `ts` is 0 for a bucket that was never used,
 * and the start of the window for a fixed window. `value` of a sharded limit is the sum of its shards, and `shard` is always 0.
 */
export interface GetValueReturns {
  value: number;
  ts: number;
  shard: number;
  config: (Reported & { kind: "token bucket" }) | (Reported & { kind: "fixed window"; start: number });
}

export function valueOf({ value, ts, config }: RateLimitSnapshot, shards = 1): GetValueReturns {
  const { rate, capacity = rate, maxReserved } = config;
  // A RateLimiter takes periods in ms only.
  const period = Number(config.period);
  const reported = present({ rate, period, capacity, maxReserved, shards });
  if (config.kind !== "fixed window") return { value, ts, shard: 0, config: { kind: "token bucket", ...reported } };
  const { start = 0 } = config;
  const begun = ts === 0 ? 0 : start + Math.floor((ts - start) / period) * period;
  return { value, ts: begun, shard: 0, config: { kind: "fixed window", ...reported, start } };
}

/** The tokens of a bucket at `ts`, and how long to wait if they are below 0. All times in milliseconds. */
export interface CalculatedRateLimit {
  /** Tokens left after `count` was taken; negative when they are missing. */
  value: number;
  ts: number;
  retryAfter: number | undefined;
  /** Fixed windows only: the start of the window that the state belongs to. */
  windowStart: number | undefined;
}

/**
 * The state of a bucket at `now`, less `count` tokens, in floating point: for display. The server decides, exactly. A clock that steps
 * back takes nothing away.
 *
 * @param state - what `getValue` returned, or null for a bucket that was never used.
 */
export function calculateRateLimit(
  state: { value: number; ts: number } | null,
  config: Pick<RateLimitConfig, "kind" | "rate" | "period" | "capacity" | "start">,
  now = Date.now(),
  count = 0,
): CalculatedRateLimit {
  const { kind, rate, period, capacity = rate, start } = config;
  const isWindow = kind === "fixed window";
  const from = state ?? { value: capacity, ts: isWindow ? (start ?? now) : now };
  const elapsed = Math.max(0, now - from.ts) / period;
  const periods = isWindow ? Math.floor(elapsed) : elapsed;
  const value = Math.min(capacity, from.value + periods * rate) - count;
  const ts = isWindow ? from.ts + periods * period : Math.max(now, from.ts);
  const missing = -value / rate;
  const retryAfter = value < 0 ? ts - now + (isWindow ? Math.ceil(missing) : missing) * period : undefined;
  return { value, ts, retryAfter, windowStart: isWindow ? from.ts : undefined };
}
