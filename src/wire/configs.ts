/** How limits behave: the wire form of configs and overrides, and their types. */
import { type ObjectType, v } from "convex/values";
import type { TypeOf } from "./typeOf.js";

/** The fields of configs of all kinds. */
const common = () => ({
  /** Tokens that arrive per `period`; above 0, at most 1e12. */
  rate: v.number(),
  /** The most tokens that may be owed to reservations; 0 (none) to 1e12, default unlimited. */
  maxReserved: v.optional(v.number()),
  /**
   * How many rows a hot limit may be spread over: at most this many (1 to 2,048), `"auto"`, or bounds; default 1. A
   * bucket begins as one row, splits where it is hot and merges where it is cold.
   */
  shards: v.optional(
    v.union(
      v.number(),
      v.literal("auto"),
      v.object({ atLeast: v.optional(v.number()), atMost: v.optional(v.number()) }),
    ),
  ),
});
const saving = () => ({
  ...common(),
  /** The most tokens that can be saved up (the burst); 0 to 1e12, default `rate`. 0 serves only reservations. */
  capacity: v.optional(v.number()),
});

const tokenBucket = () => ({
  kind: v.literal("token bucket"),
  ...saving(),
  /** Milliseconds; above 0, at most 1e15. */
  period: v.number(),
});
/** As the others, it says its kind again: so the compiler names the interface if a field is missing. */
export interface TokenBucketConfig extends TypeOf<typeof tokenBucket> {
  /** Refills continuously and saves up to `capacity`. */
  kind: "token bucket";
}

const fixedWindow = () => ({
  kind: v.literal("fixed window"),
  ...saving(),
  /** The length of a window: whole milliseconds, above 0, at most 1e15; or a unit of the calendar. */
  period: v.union(v.number(), v.literal("day"), v.literal("week"), v.literal("month"), v.literal("year")),
  /**
   * If `period` is in ms: any time at which a window starts, in whole milliseconds since the epoch.
   * The default is a hash of the key, so keys reset at different times.
   */
  start: v.optional(v.number()),
  /** If `period` is a unit of the calendar: the IANA name of the time zone whose days count; default `"UTC"`. */
  timeZone: v.optional(v.string()),
  /**
   * If `period` is a unit of the calendar: when it begins. A month of the year (1 to 12), a day of the month (1 to 31;
   * in a shorter month its last day), a weekday (1 is Monday), or a minute after midnight.
   */
  anchor: v.optional(v.number()),
});
export interface FixedWindowConfig extends TypeOf<typeof fixedWindow> {
  /** Refills all at once at the start of each window, which is a period in ms, or a day, week, month or year. */
  kind: "fixed window";
}

const slidingWindow = () => ({
  kind: v.literal("sliding window"),
  ...common(),
  /** Whole milliseconds; above 0, at most 1e15. */
  period: v.number(),
});
export interface SlidingWindowConfig extends TypeOf<typeof slidingWindow> {
  /** Lets at most `rate` tokens start in any `period`. */
  kind: "sliding window";
  /** A sliding window holds its rate, and nothing is saved up. */
  capacity?: never;
}

const concurrency = () => ({
  kind: v.literal("concurrency"),
  /** How many hold a slot at once: a whole number from 1 to 64. */
  slots: v.number(),
  /** After this time a slot that was not given back is free. Whole milliseconds; above 0, at most 1e15. */
  lease: v.number(),
});
export interface ConcurrencyConfig extends TypeOf<typeof concurrency> {
  /** Gives at most `slots` leases at once. A slot is free when its lease is released, or ends. */
  kind: "concurrency";
  rate?: never;
  period?: never;
  capacity?: never;
  maxReserved?: never;
  shards?: never;
  queue?: never;
}

/**
 * How a limit behaves: a `"token bucket"`, a `"fixed window"`, a `"sliding window"`, or `"concurrency"`.
 *
 * Quantities are exact decimals down to a thousandth of a token (less far for very large ones); a finer `count` is
 * rounded up, never down.
 */
export type RateLimitConfig = TokenBucketConfig | FixedWindowConfig | SlidingWindowConfig | ConcurrencyConfig;

const config = () =>
  v.union(v.object(tokenBucket()), v.object(fixedWindow()), v.object(slidingWindow()), v.object(concurrency()));
/** Named: otherwise the compiler writes it out in full at each use. */
export interface ConfigValidator extends ReturnType<typeof config> {}
export const configValidator: () => ConfigValidator = config;

/** The config of a limit, or of each of its plans. */
export const configs = () => v.array(v.object({ plan: v.optional(v.string()), config: configValidator() }));

const queue = () => ({
  /** The most jobs that may wait in one bucket's queue, 1 to 10,000, default unlimited. It holds within a second. */
  maxQueued: v.optional(v.number()),
  /** How many priorities there are, 1 to 10, default 1. A job's is from 0 to one less; higher ones go first. */
  priorities: v.optional(v.number()),
  /**
   * How many milliseconds of waiting count as one level of priority: a whole number from 0 to 365 days, default a
   * minute. A job is overtaken only by jobs that came at most this much later for each level that they are above it.
   */
  aging: v.optional(v.number()),
  /** Whether users share a bucket in turns: each job then says whose it is (`fairBy`). Default false. */
  fair: v.optional(v.boolean()),
  /**
   * How often a job may run in all: a whole number from 1 to 100, default 1. A function with `settles` that returns `{
   * again }` then waits once more, in the place it had.
   */
  attempts: v.optional(v.number()),
});

/** How the queue of a limit behaves; `{}` is one with the defaults. */
export interface QueueConfig<Names extends string = string> extends TypeOf<typeof queue> {
  /**
   * Further limits that each job takes from, and how many tokens: above 0, at most the limit's capacity. A job then
   * starts when its own limit and all of these can pay, and takes from all at once. They have no queue, and the key of
   * the job unless they are `keyed: false`.
   */
  with?: Readonly<Partial<Record<Names, number>>>;
}

/** The terms of a limit's queue, the same for all keys: its config, the limit's, and those of the limits in `with`. */
export const queueTerms = () => ({
  name: v.string(),
  queue: v.object(queue()),
  configs: configs(),
  with: v.optional(
    v.array(
      v.object({
        name: v.string(),
        /** The tokens of each job. */
        count: v.number(),
        /** Whether all keys of the queue take from one bucket. */
        isShared: v.boolean(),
        configs: configs(),
      }),
    ),
  ),
});
export type QueueTerms = ObjectType<ReturnType<typeof queueTerms>>;

export const overrideFields = () => ({
  /** Another config. The number of rows still follows the limit's own `shards`. */
  config: v.optional(configValidator()),
  /** Tokens added to what each period brings, and to the capacity, of what is in force; above 0, at most 1e12. */
  more: v.optional(v.number()),
  /** Nothing is let through. Denials have `reason: "blocked"`; `retryAt` is when a call succeeds after `until`. */
  block: v.optional(v.literal(true)),
  /** Everything is let through and still counted: what exceeds the bucket becomes a debt. */
  unlimited: v.optional(v.literal(true)),
  /** When the override ends: a future time, in whole ms since the epoch. Without it, it ends when it is cleared. */
  until: v.optional(v.number()),
  /** For the people who look at a list: at most 500 characters. Callers and clients do not get it. */
  note: v.optional(v.string()),
});

/** An override as the argument of an app's own function: the validator of each way has that way alone. */
export const overrideValidator = () => {
  const { until, note } = overrideFields();
  return v.union(
    v.object({ config: configValidator(), until, note }),
    v.object({ more: v.number(), until, note }),
    v.object({ block: v.literal(true), until, note }),
    v.object({ unlimited: v.literal(true), until, note }),
  );
};

/** What holds at one key in place of the limit's config: exactly one of `config`, `more`, `block` and `unlimited`. */
export interface RateLimitOverride extends Omit<TypeOf<typeof overrideFields>, "config"> {
  /** Another config. The number of rows still follows the limit's own `shards`. */
  config?: RateLimitConfig;
}
