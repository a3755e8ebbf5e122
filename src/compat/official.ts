/**
 * The forms of the official component: its configs, the data of its errors, and a bucket's state, as it is stored and
 * at a time.
 */
import type { FixedWindowConfig, RateLimitConfig as OwnConfig, TokenBucketConfig } from "../wire/configs.js";
import { present } from "../wire/present.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";

// No interface: the declarations of an app that returns a config could not name it.
type Quantities = { rate: number; period: number; capacity?: number; maxReserved?: number };
type TokenBucket = Quantities & { kind: "token bucket"; start?: null };
type FixedWindow = Quantities & { kind: "fixed window"; start?: number };
type Transactional = { shards?: number; applyUpdates?: "transactionally" };
type Asynchronous = { shards?: never; applyUpdates?: "asynchronously" };

/**
 * How a limit behaves, as in `@convex-dev/rate-limiter`; durations in milliseconds. `applyUpdates: "asynchronously"` is
 * accepted: its updates are transactional and exact, like all others here.
 */
export type RateLimitConfig = (TokenBucket | FixedWindow) & (Transactional | Asynchronous);

/** The config without fields that mean nothing here. The parser refuses unknown fields. */
export function ownConfig(config: RateLimitConfig): OwnConfig {
  // JavaScript may pass anything: the parser names the limit and the field.
  const { applyUpdates, start, ...rest } = { ...config } as Record<string, unknown>;
  const isMode = applyUpdates === "transactionally" || applyUpdates === "asynchronously";
  const isNone = start === null && rest["kind"] === "token bucket";
  const unknown = { applyUpdates: isMode ? undefined : applyUpdates, start: isNone ? undefined : start };
  return present({ ...rest, ...unknown }) as unknown as OwnConfig;
}

/** The data of the `ConvexError` that `throws: true` throws. `retryAfter` is in milliseconds. */
export type RateLimitError = { kind: "RateLimited"; name: string; retryAfter: number };

/**
 * Whether `error` is a denial that was thrown; then `error.data` says which limit and how long to wait. Takes any
 * value, works on the server and in the client.
 *
 * @example
 * ```ts
 * import { isRateLimitError } from "convex-rate-limits/compat";
 *
 * function waitMs(error: unknown): number {
 *   return isRateLimitError(error) ? error.data.retryAfter : 0;
 * }
 * ```
 */
export function isRateLimitError(error: unknown): error is { data: RateLimitError } {
  // Not instanceof: a bundle may hold a second copy of convex.
  const data = (error as { data?: Partial<Record<keyof RateLimitError, unknown>> | null } | null | undefined)?.data;
  return data?.kind === "RateLimited" && typeof data.retryAfter === "number";
}

/**
 * The answer of `getValue`: `value` tokens at `ts`, in milliseconds since the epoch. `ts` is 0 for a bucket that was
 * never used, and the start of the window for a fixed window. `value` of a sharded limit is the sum of its shards, and
 * `shard` is always 0.
 */
export interface GetValueReturns {
  value: number;
  ts: number;
  shard: number;
  config: { capacity: number; shards: number } & (TokenBucket | (FixedWindow & { start: number }));
}

export function valueOf({ value, ts, config }: RateLimitSnapshot, shards = 1): GetValueReturns {
  // A RateLimiter takes two kinds, and periods in ms only.
  const { rate, capacity = rate, maxReserved } = config as TokenBucketConfig | FixedWindowConfig;
  const period = Number(config.period);
  const reported = present({ rate, period, capacity, maxReserved, shards });
  if (config.kind !== "fixed window") return { value, ts, shard: 0, config: { kind: "token bucket", ...reported } };
  const { start = 0 } = config;
  const begun = ts === 0 ? 0 : start + Math.floor((ts - start) / period) * period;
  return { value, ts: begun, shard: 0, config: { kind: "fixed window", ...reported, start } };
}

/**
 * The inverse of `valueOf`, for clients: an answer of `hookAPI` is a snapshot already. Units are whole, `period` to a
 * token.
 */
export function snapshotFrom(answer: GetValueReturns | RateLimitSnapshot): RateLimitSnapshot {
  if ("parts" in answer) return answer;
  const { value, ts, config } = answer;
  // An answer made by hand need not say the capacity.
  const { kind, rate, period, capacity = rate, start } = config as RateLimitConfig;
  const isWindow = kind === "fixed window";
  const run = isWindow ? { period, units: rate * period } : { period: 1, units: rate };
  const runs = [{ start: ts || (start ?? 0), ...run }];
  const missing = (capacity - value) / rate;
  const row = { value: value * period, ts, capacity: capacity * period, least: 0, runs };
  return {
    ...row,
    name: "",
    config: ownConfig(config),
    tokens: capacity,
    unitsPerToken: period,
    mostReserved: row.capacity,
    lastsMs: 0,
    lastStart: 0,
    restMs: 0,
    pausedUntil: 0,
    ...(isWindow && { windowsFrom: ts }),
    fullAt: ts + (isWindow ? Math.ceil(missing) * period : Math.ceil(missing * period)),
    parts: [row],
    few: 0,
    used: 0,
  };
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
 * The state of a bucket at `now`, less `count` tokens, in floating point: for display. The server decides, exactly. A
 * clock that steps back takes nothing away.
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
