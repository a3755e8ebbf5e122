/**
 * A bucket's stored state: as a row holds it, and the wire form of what a client needs to say its status at any time.
 */
import { type ObjectType, v } from "convex/values";
import { configValidator, type RateLimitConfig } from "./configs.js";

export const stateFields = () => ({
  /** Tokens at `ts`; negative while tokens are owed. */
  value: v.number(),
  /** When `value` was true: milliseconds since the epoch. */
  ts: v.number(),
  /**
   * How much its control row had counted when it was written: pauses and resets that came later apply when it is read.
   */
  seen: v.optional(v.number()),
  /**
   * For a fixed window, the tokens that were used in the window that began at `since` (milliseconds since the epoch),
   * or no `used` if all of it was; and whether tokens are owed to reservations.
   */
  window: v.optional(
    v.object({ since: v.number(), used: v.optional(v.number()), isReserved: v.optional(v.literal(true)) }),
  ),
  /**
   * For a sliding window, the takes that still count: tokens, and milliseconds since the epoch. Joined takes also say
   * the first one's. With `all`, everything was taken, and `count` tokens are owed besides, or were given back.
   */
  recent: v.optional(
    v.array(
      v.object({
        at: v.number(),
        count: v.number(),
        from: v.optional(v.number()),
        all: v.optional(v.literal(true)),
      }),
    ),
  ),
  /**
   * If tokens may come back: the least room that the bucket has had since `at` (ms since the epoch). No more than that
   * comes back.
   */
  headroom: v.optional(v.array(v.object({ at: v.number(), count: v.number() }))),
});
/**
 * What a control row counts: pauses and, of several rows, resets. `count` is that of the last of them; `at` is when it
 * was made, and `after` when the pause would have ended that it extends or ends, in milliseconds since the epoch.
 * `until`: the last time that a sliding window had promised to jobs before a reset.
 */
export const controlFields = () => ({
  count: v.number(),
  pause: v.optional(v.object({ count: v.number(), at: v.number(), until: v.number(), after: v.optional(v.number()) })),
  reset: v.optional(
    v.object({ count: v.number(), at: v.number(), after: v.optional(v.number()), until: v.optional(v.number()) }),
  ),
});
export type StoredControl = ObjectType<ReturnType<typeof controlFields>>;

/** A state as a row holds it. */
export type StoredState = ObjectType<ReturnType<typeof stateFields>>;

const runs = () =>
  v.array(v.object({ start: v.number(), period: v.number(), count: v.optional(v.number()), units: v.number() }));

const bucket = () => ({
  name: v.string(),
  config: configValidator(),
  value: v.number(),
  ts: v.number(),
  tokens: v.number(),
  unitsPerToken: v.number(),
  capacity: v.number(),
  mostReserved: v.number(),
  least: v.number(),
  lastStart: v.number(),
  lastsMs: v.number(),
  windowsFrom: v.optional(v.number()),
  restMs: v.number(),
  fullAt: v.number(),
  runs: v.optional(runs()),
  parts: v.array(
    v.object({
      shard: v.optional(v.string()),
      value: v.number(),
      ts: v.number(),
      capacity: v.number(),
      least: v.number(),
      runs: runs(),
    }),
  ),
  few: v.number(),
  used: v.number(),
  plan: v.optional(v.string()),
  pausedUntil: v.number(),
  // Only of an override.
  until: v.optional(v.number()),
  reason: v.optional(v.literal("blocked")),
  unlimited: v.optional(v.literal(true)),
});

export const snapshotValidator = () =>
  v.object({
    ...bucket(),
    mode: v.optional(v.literal("shadow")),
    override: v.optional(v.object({ ...bucket(), until: v.number() })),
  });

/**
 * A bucket's stored state, for display: `value` tokens at `ts` (milliseconds since the epoch; 0 for a bucket that was
 * never used). It does not depend on the clock, so a live query that returns it stays correct. `projectRateLimit` turns
 * it into a {@link RateLimitStatus} at any time. The other fields are what that needs, alike for all kinds of limits:
 *
 * - `mode`: present if the limit is in shadow, which lets every call through.
 * - `plan`: the plan, if the limit has plans and one was named: by the query, or by the last call.
 * - `tokens`: what a full bucket holds. All fields below count whole units, `unitsPerToken` to a token.
 * - `capacity`; `mostReserved`, the most that one reservation can get.
 * - `least`: what a reservation leaves, at least; negative for what may be owed. For a kind with `lastsMs` it counts
 *   once all that has started is back.
 * - A run says how units arrive: `units` every `period` ms after `start`, `count` times in all if it is given.
 * - `parts`: the rows of the bucket, each with the runs that fill it. For a sliding window, a run starts when its units
 *   were taken.
 * - `runs`: how units arrive in a bucket of several rows, if they do not come back from their own entries.
 * - `lastsMs`, `lastStart`: 0 but for a sliding window or slots. A unit comes back `lastsMs` after it was taken. No
 *   reservation starts before `lastStart`, the time of the latest entry.
 * - `windowsFrom`: only of a fixed window, which is reset when the next window begins; other kinds are reset when they
 *   are full. The snapshot knows the windows from this time on.
 * - `restMs`: windows shorter than a second are shown once in this time; otherwise 0.
 * - `fullAt`: when the bucket is full if nobody takes anything; at most `ts` if it is full.
 * - `used`: tokens that were used at `ts` beside what is missing then: of a window whose capacity was lowered, until
 *   the next one.
 * - `pausedUntil`: nothing starts before this time; a block is a pause until its end. 0 without a pause.
 * - `few`: a call for at most this many units may read two of several rows only. It succeeds when each row holds as
 *   many, or is full.
 * - `override`: what holds until its `until` in place of the limit's own fields. It denies every call for a `reason`,
 *   or allows every call (`unlimited`), or is counted under another config.
 */
export interface RateLimitSnapshot extends Bucket {
  mode?: "shadow";
  override?: Bucket & { until: number };
}
type Bucket = Omit<ObjectType<ReturnType<typeof bucket>>, "config"> & { config: RateLimitConfig };
