/** A limit's value at a time, in floating point: for display. The server decides, exactly. */
import type { RateLimitConfig } from "./config.js";

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
 * The state of a bucket at `now`, less `count` tokens. A clock that steps back takes nothing away.
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
