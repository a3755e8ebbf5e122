/** The wire form of everything that crosses into the component or out of it. The public types are inferred from it. */
import { type Infer, type ObjectType, v } from "convex/values";
import { vRateLimitConfig, vRateLimitOverride } from "./configs.js";

const outlook = { remaining: v.optional(v.number()), resetAt: v.optional(v.number()) };
const allowed = {
  ok: v.literal(true),
  retryAt: v.optional(v.number()),
  ...outlook,
  taken: v.optional(v.number()),
  takenAt: v.optional(v.number()),
};
const denied = v.object({
  ok: v.literal(false),
  retryAt: v.number(),
  reason: v.optional(v.literal("blocked")),
  ...outlook,
});

/** The validator of a {@link RateLimitStatus}. */
export const vRateLimitStatus = v.union(
  v.object({ ...allowed, shadow: v.optional(v.union(v.object(allowed), denied)) }),
  denied,
);

interface Outlook {
  /** Whole tokens left after this decision, never below 0. Absent when only some rows of a split bucket were read. */
  remaining?: number;
  /**
   * When the bucket is full again; for a fixed window, the start of the next window. Absent when only some rows of a split bucket
   * were read.
   */
  resetAt?: number;
}

interface Allowed extends Outlook {
  ok: true;
  /** Present for a reservation that waits: run the work at this moment, without asking again. */
  retryAt?: number;
  /** Of a call with `atLeast`: how many tokens the caller has. */
  taken?: number;
  /** Of a call with `refundable`: when the tokens were taken, for the `takenAt` of `adjustRateLimit`. */
  takenAt?: number;
}

interface Denied extends Outlook {
  ok: false;
  /**
   * The first millisecond at which the same request succeeds, if no other comes between. On a split bucket whose rows were not all
   * read, a moment that suffices.
   */
  retryAt: number;
  /** Why, where it is not that the tokens are used up: an override blocks the key. */
  reason?: "blocked";
}

interface LetThrough extends Allowed {
  /** Of a limit in shadow, which lets everybody through: what it would answer if it were enforced. A denial has taken nothing. */
  shadow?: Allowed | Denied;
}

/** What a limit answers. All times are whole milliseconds since the epoch. */
export type RateLimitStatus = LetThrough | Denied;

/** The answer of a call that has read the whole bucket: every check, and every call of a limit without `shards`. */
export type ExactRateLimitStatus = RateLimitStatus & Required<Outlook>;

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
 * - `retryAt`: the latest of the denials, or else of the reservations, without limits in shadow; in milliseconds since the epoch.
 */
export type RateLimitAllStatus<Status extends RateLimitStatus = RateLimitStatus> =
  { ok: true; retryAt?: number; statuses: Status[] } | { ok: false; retryAt: number; statuses: Status[] };

/** Which bucket: the arguments that every registered function of the component takes. */
export const bucketArgs = { name: v.string(), key: v.optional(v.string()) };
/** `overrides`: whether the limit asks for an override at the key. */
export const configuredArgs = { ...bucketArgs, config: vRateLimitConfig, overrides: v.optional(v.boolean()) };
export const overrideArgs = { ...bucketArgs, ...vRateLimitOverride.fields };
const consumedArgs = {
  ...configuredArgs,
  count: v.optional(v.number()),
  reserve: v.optional(v.union(v.boolean(), v.object({ within: v.number() }))),
  refundable: v.optional(v.boolean()),
};
export const demandArgs = { ...consumedArgs, atLeast: v.optional(v.number()) };
/** `at`: of a cancelled reservation, the moment that its tokens were promised for. `takenAt`: when what comes back was taken. */
export const adjustArgs = {
  ...configuredArgs,
  count: v.number(),
  at: v.optional(v.number()),
  takenAt: v.optional(v.number()),
};
export const adjustAllArgs = { adjustments: v.array(v.object(adjustArgs)) };
/** `shadow`: a denial of this request stops none of the others. */
export const allArgs = { requests: v.array(v.object({ ...consumedArgs, shadow: v.optional(v.boolean()) })) };

/** One key of a limit, in a list. */
const vRateLimitEntry = v.object({
  key: v.optional(v.string()),
  value: v.number(),
  ok: v.boolean(),
  retryAt: v.optional(v.number()),
  reason: v.optional(v.literal("blocked")),
  error: v.optional(v.string()),
  override: v.optional(vRateLimitOverride),
  ...outlook,
});

/** The validator of a {@link RateLimitPage}. */
export const vRateLimitPage = v.object({ page: v.array(vRateLimitEntry), cursor: v.union(v.string(), v.null()) });

/**
 * Keys of a limit in their order, the bucket without a key first; keys with a full bucket may be missing.
 *
 * - `value`: tokens held now, negative while tokens are owed to reservations and charges.
 * - `ok`, `retryAt`, `remaining`, `resetAt`: what `checkRateLimit` would answer now.
 * - `override`: what holds at the key in place of the limit's config, while it does.
 * - `error`: of a bucket whose rows are damaged, what is wrong; its calls throw until it is reset, or its override cleared.
 * - `cursor`: where the next page starts; null after the last.
 */
export type RateLimitPage = Infer<typeof vRateLimitPage>;

export const listArgs = {
  name: v.string(),
  config: vRateLimitConfig,
  overrides: v.optional(v.boolean()),
  cursor: v.optional(v.string()),
  limit: v.optional(v.number()),
  onlyLimited: v.optional(v.boolean()),
  onlyOverridden: v.optional(v.boolean()),
};

/** A limit to sweep: a row goes when it is full under every one of the configs. */
const vSweepTarget = v.object({ name: v.string(), configs: v.array(vRateLimitConfig) });
export const sweepArgs = { targets: v.array(vSweepTarget), cursor: v.optional(v.string()) };
export type SweepArgs = ObjectType<typeof sweepArgs>;

/** Buckets that are full again, and where the next batch starts; null after the last. */
export const vFullBuckets = v.object({
  buckets: v.array(v.object(bucketArgs)),
  cursor: v.union(v.string(), v.null()),
});

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
  dueAt: v.optional(v.number()),
  takenAt: v.optional(v.number()),
  id: v.id("_scheduled_functions"),
});

/**
 * A job that `scheduleRateLimited` scheduled: what `cancelRateLimited` needs to take it back. `runAt` is when it runs, `dueAt` when its
 * tokens are there, where that is another moment (`spread`, a limit in shadow), `takenAt` when they were taken, where that is another
 * than `dueAt`; all in milliseconds since the epoch.
 */
export type RateLimitedJob = Infer<typeof vRateLimitedJob>;
