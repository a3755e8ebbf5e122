/** The wire form of everything that crosses into the component or out of it. The public types are inferred from it. */
import { type Infer, type ObjectType, v } from "convex/values";

const sharedFields = {
  rate: v.number(),
  period: v.number(),
  capacity: v.optional(v.number()),
  maxReserved: v.optional(v.number()),
  shards: v.optional(v.union(v.number(), v.literal("auto"))),
};

const vTokenBucket = v.object({ kind: v.literal("token bucket"), ...sharedFields });
const vFixedWindow = v.object({
  kind: v.literal("fixed window"),
  ...sharedFields,
  start: v.optional(v.number()),
});

/** The validator of a {@link RateLimitConfig}. */
export const vRateLimitConfig = v.union(vTokenBucket, vFixedWindow);

/**
 * How a limit behaves.
 *
 * - `kind`: `"token bucket"` refills continuously, `"fixed window"` all at once at the start of each window.
 * - `rate`: tokens that arrive per `period`; above 0, at most 1e12.
 * - `period`: milliseconds; above 0, at most 1e15. For a fixed window a whole number.
 * - `capacity`: the most tokens that can be saved up (the burst); 0 to 1e12, default `rate`. With 0 only reservations are served.
 * - `maxReserved`: the most tokens that may be owed to reservations; 0 (none) to 1e12, default unlimited.
 * - `shards`: rows that a hot limit is spread over: a whole number from 1 to 256, or `"auto"`; default 1.
 * - `start` (fixed window only): any moment at which a window starts, in whole milliseconds since the epoch; the
 *   default comes from a hash of name and key, so that different keys reset at different times.
 *
 * Quantities are exact decimals down to a thousandth of a token (less far for very large ones); a finer `count` is rounded up,
 * never down.
 */
export type RateLimitConfig = Infer<typeof vRateLimitConfig>;
export type TokenBucketConfig = Infer<typeof vTokenBucket>;
export type FixedWindowConfig = Infer<typeof vFixedWindow>;

const outcome = { remaining: v.number(), resetAt: v.number() };

/** The validator of a {@link RateLimitStatus}. */
export const vRateLimitStatus = v.union(
  v.object({ ok: v.literal(true), retryAt: v.optional(v.number()), ...outcome }),
  v.object({ ok: v.literal(false), retryAt: v.number(), ...outcome }),
);

/**
 * What a limit answers. All times are whole milliseconds since the epoch.
 *
 * - `ok: true` without `retryAt`: go.
 * - `ok: true` with `retryAt`: reserved; run the work at `retryAt`, without asking again.
 * - `ok: false`: ask again at `retryAt`, the first millisecond at which the same request would succeed.
 * - `remaining`: whole tokens left after this decision, never below 0.
 * - `resetAt`: when the bucket is full again; for a fixed window, the start of the next window.
 */
export type RateLimitStatus = Infer<typeof vRateLimitStatus>;

/** The validator of a {@link RateLimitAllStatus}. */
export const vRateLimitAllStatus = v.union(
  v.object({ ok: v.literal(true), retryAt: v.optional(v.number()), statuses: v.array(vRateLimitStatus) }),
  v.object({ ok: v.literal(false), retryAt: v.number(), statuses: v.array(vRateLimitStatus) }),
);

/**
 * What several limits answer together: all of them let the work go, or nothing was taken from any.
 *
 * - `statuses`: one per request, in their order. Where nothing was taken because of another limit, `ok` is true and
 *   `remaining` is what is there.
 * - `retryAt`: the latest of the denials, or else of the reservations; in milliseconds since the epoch.
 */
export type RateLimitAllStatus = Infer<typeof vRateLimitAllStatus>;

/** The validator of a {@link RateLimitSnapshot}. */
export const vRateLimitSnapshot = v.object({
  name: v.string(),
  value: v.number(),
  ts: v.number(),
  config: vRateLimitConfig,
  shards: v.optional(v.array(v.object({ shard: v.number(), value: v.number(), ts: v.number() }))),
});

/**
 * A limit's stored state, for display: `value` tokens at `ts` (milliseconds since the epoch; 0 for a bucket that was never
 * used). Of a limit with several rows, `shards` has them one by one, and `value` is their sum. It does not depend on the clock, so a live query that returns it stays correct; `projectRateLimit` turns it into a
 * {@link RateLimitStatus} for any moment.
 */
export type RateLimitSnapshot = Infer<typeof vRateLimitSnapshot>;

/** Which bucket: the arguments that every registered function of the component takes. */
export const bucketArgs = { name: v.string(), key: v.optional(v.string()) };
export const configuredArgs = { ...bucketArgs, config: vRateLimitConfig };
export const demandArgs = {
  ...configuredArgs,
  count: v.optional(v.number()),
  reserve: v.optional(v.boolean()),
};
export const adjustArgs = { ...configuredArgs, count: v.number() };
export const allArgs = { requests: v.array(v.object(demandArgs)) };

/** One key of a limit, in a list. */
const vRateLimitEntry = v.object({
  key: v.optional(v.string()),
  value: v.number(),
  ok: v.boolean(),
  retryAt: v.optional(v.number()),
  ...outcome,
});

/** The validator of a {@link RateLimitPage}. */
export const vRateLimitPage = v.object({ page: v.array(vRateLimitEntry), cursor: v.union(v.string(), v.null()) });

/**
 * Keys of a limit in their order, the bucket without a key first; keys with a full bucket may be missing.
 *
 * - `value`: tokens held now, negative while tokens are owed to reservations.
 * - `ok`, `retryAt`, `remaining`, `resetAt`: what `checkRateLimit` would answer now.
 * - `cursor`: where the next page starts; null after the last.
 */
export type RateLimitPage = Infer<typeof vRateLimitPage>;

export const listArgs = {
  name: v.string(),
  config: vRateLimitConfig,
  cursor: v.optional(v.string()),
  limit: v.optional(v.number()),
  onlyLimited: v.optional(v.boolean()),
};

/** A limit to sweep: a row goes when it is full under every one of the configs. */
const vSweepTarget = v.object({ name: v.string(), configs: v.array(vRateLimitConfig) });
export const sweepArgs = { targets: v.array(vSweepTarget), cursor: v.optional(v.string()) };
export type SweepArgs = ObjectType<typeof sweepArgs>;

/** Rows that are full again, and where the next batch starts; null after the last. */
export const vFullRows = v.object({
  rows: v.array(v.object({ ...bucketArgs, shard: v.number() })),
  cursor: v.union(v.string(), v.null()),
});

export type FullRows = Infer<typeof vFullRows>;

/** The validator of a {@link SweepResult}. */
export const vSweepResult = v.object({ deleted: v.number(), isDone: v.boolean() });

/** What a batch of a sweep did: rows deleted, and whether it was the last. */
export type SweepResult = Infer<typeof vSweepResult>;

/**
 * The validator of a {@link RateLimitedJob}, to store one in a document.
 *
 * `id` is of the app's own `_scheduled_functions`, so that the app can see and cancel the job.
 */
export const vRateLimitedJob = v.object({
  ...bucketArgs,
  count: v.number(),
  config: v.optional(vRateLimitConfig),
  runAt: v.number(),
  id: v.id("_scheduled_functions"),
});

/** A job that `scheduleRateLimited` scheduled: what `cancelRateLimited` needs to take it back. */
export type RateLimitedJob = Infer<typeof vRateLimitedJob>;
