/** How limits behave: the wire form of configs, and their types with what each field means. */
import { v } from "convex/values";

const vShards = v.union(
  v.number(),
  v.literal("auto"),
  v.object({ atLeast: v.optional(v.number()), atMost: v.optional(v.number()) }),
);

const vTokenBucket = v.object({
  kind: v.literal("token bucket"),
  rate: v.number(),
  period: v.number(),
  capacity: v.optional(v.number()),
  maxReserved: v.optional(v.number()),
  shards: v.optional(vShards),
});
const vFixedWindow = v.object({
  kind: v.literal("fixed window"),
  rate: v.number(),
  period: v.union(v.number(), v.literal("day"), v.literal("week"), v.literal("month")),
  capacity: v.optional(v.number()),
  maxReserved: v.optional(v.number()),
  shards: v.optional(vShards),
  start: v.optional(v.number()),
  timeZone: v.optional(v.string()),
  anchor: v.optional(v.number()),
});
const vSlidingWindow = v.object({
  kind: v.literal("sliding window"),
  rate: v.number(),
  period: v.number(),
  maxReserved: v.optional(v.number()),
  shards: v.optional(vShards),
});

/** The validator of a {@link QueueConfig}. */
export const vQueueConfig = v.object({
  maxQueued: v.optional(v.number()),
  priorities: v.optional(v.number()),
  aging: v.optional(v.number()),
  fair: v.optional(v.boolean()),
  exact: v.optional(v.boolean()),
});

/** How the queue of a limit behaves; `{}` is one with the defaults. */
export interface QueueConfig {
  /** The most jobs that may wait in one bucket's queue: a whole number from 1 to 10,000, default unlimited. */
  maxQueued?: number;
  /** How many priorities there are, 1 to 10, default 1. A job's priority is 0 to one less; the higher go first. */
  priorities?: number;
  /**
   * How many milliseconds of waiting a level of priority counts as: a whole number from 0 to 365 days, default a minute. A job is overtaken
   * only by one that came at most this much later for each level that it is above.
   */
  aging?: number;
  /** Whether users share a bucket in turns: each job then says whose it is (`fairBy`). Default false. */
  fair?: boolean;
  /** Whether `maxQueued`, which it needs, is exact, at the price that callers conflict. Default false: off by the jobs of a second. */
  exact?: boolean;
}

/** The validator of a {@link RateLimitConfig}. */
export const vRateLimitConfig = v.union(vTokenBucket, vFixedWindow, vSlidingWindow);

/**
 * How a limit behaves.
 *
 * - `"token bucket"` refills continuously and saves up to `capacity`.
 * - `"fixed window"` refills all at once at the start of each window, which is a period in ms, or a day, week or month.
 * - `"sliding window"` lets at most `rate` tokens start in any `period`, wherever it begins.
 *
 * Quantities are exact decimals down to a thousandth of a token (less far for very large ones); a finer `count` is rounded up,
 * never down.
 */
export type RateLimitConfig = TokenBucketConfig | FixedWindowConfig | SlidingWindowConfig;

/** What configs of all kinds have. */
interface CommonConfig {
  /** Tokens that arrive per `period`; above 0, at most 1e12. */
  rate: number;
  /** The most tokens that may be owed to reservations; 0 (none) to 1e12, default unlimited. */
  maxReserved?: number;
  /**
   * Rows that a hot limit is spread over: at most so many (1 to 1,024), `"auto"`, or bounds on their number; default 1. A bucket
   * begins as one row, splits where it is hot and folds where it is cold.
   */
  shards?: number | "auto" | { atLeast?: number; atMost?: number };
}

/** The validator of a {@link RateLimitOverride}. */
export const vRateLimitOverride = v.object({
  config: v.optional(vRateLimitConfig),
  block: v.optional(v.literal(true)),
  unlimited: v.optional(v.literal(true)),
  until: v.optional(v.number()),
  note: v.optional(v.string()),
});

/** What holds at one key in place of the limit's config: exactly one of `config`, `block` and `unlimited`. */
export interface RateLimitOverride {
  /** Another config. The rows of a bucket stay what the limit's own `shards` says. */
  config?: RateLimitConfig;
  /** Nothing is let through: every call is denied, with the reason `"blocked"`. */
  block?: true;
  /** Everything is let through, and counted still: more than there is becomes a debt. */
  unlimited?: true;
  /** When the override ends by itself, in whole milliseconds since the epoch; without it, when it is cleared. */
  until?: number;
  /** For the people who look at a list: at most 500 characters. Callers and clients do not get it. */
  note?: string;
}

interface SavingConfig extends CommonConfig {
  /** The most tokens that can be saved up (the burst); 0 to 1e12, default `rate`. With 0 only reservations are served. */
  capacity?: number;
}

export interface TokenBucketConfig extends SavingConfig {
  kind: "token bucket";
  /** Milliseconds; above 0, at most 1e15. */
  period: number;
}

export interface FixedWindowConfig extends SavingConfig {
  kind: "fixed window";
  /** The length of a window: whole milliseconds, above 0, at most 1e15; or a unit of the calendar. */
  period: number | "day" | "week" | "month";
  /**
   * Where `period` is in ms: any moment at which a window starts, in whole milliseconds since the epoch; the default comes from a
   * hash of the key, so that different keys reset at different times.
   */
  start?: number;
  /** Where `period` is a unit of the calendar: the IANA name of the time zone whose days count; default `"UTC"`. */
  timeZone?: string;
  /**
   * Where `period` is a unit of the calendar: the day on which a month begins (1 to 31, in a shorter month its last day), the
   * weekday on which a week begins (1 is Monday), or the minutes after midnight at which a day begins.
   */
  anchor?: number;
}

export interface SlidingWindowConfig extends CommonConfig {
  kind: "sliding window";
  /** A sliding window holds its rate, and nothing is saved up. */
  capacity?: undefined;
  /** Whole milliseconds; above 0, at most 1e15. */
  period: number;
}
