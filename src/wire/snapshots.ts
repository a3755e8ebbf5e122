/** The wire form of a bucket's stored state: what a client needs to say its status at any time. */
import { type Infer, v } from "convex/values";
import { configValidator, type RateLimitConfig } from "./configs.js";

const runsValidator = () =>
  v.array(v.object({ start: v.number(), period: v.number(), count: v.number(), units: v.number() }));

const bucketValidator = () =>
  v.object({
    name: v.string(),
    config: configValidator(),
    value: v.number(),
    ts: v.number(),
    tokens: v.number(),
    unitsPerToken: v.number(),
    capacity: v.number(),
    maxReserved: v.number(),
    lastStart: v.number(),
    lastsMs: v.number(),
    windowsFrom: v.number(),
    restMs: v.number(),
    fullAt: v.number(),
    until: v.number(),
    runs: runsValidator(),
    parts: v.array(
      v.object({
        shard: v.optional(v.string()),
        value: v.number(),
        ts: v.number(),
        capacity: v.number(),
        runs: runsValidator(),
      }),
    ),
    few: v.number(),
  });

export const snapshotValidator = () =>
  v.object({
    ...bucketValidator().fields,
    mode: v.optional(v.literal("shadow")),
    override: v.optional(
      v.union(
        v.object({ until: v.number(), reason: v.literal("blocked") }),
        v.object({ until: v.number(), unlimited: v.literal(true) }),
        bucketValidator(),
      ),
    ),
  });

/**
 * A bucket's stored state, for display: `value` tokens at `ts` (milliseconds since the epoch; 0 for a bucket that was never used). It
 * does not depend on the clock, so a live query that returns it stays correct; `projectRateLimit` turns it into a
 * {@link RateLimitStatus} for any moment. Everything else is what that needs, ready to use and alike for all kinds of limits:
 *
 * - `mode`: present for a limit in shadow, which lets everybody through.
 * - `tokens`: what a full bucket holds. All that follows is in whole units, `unitsPerToken` to a token.
 * - `capacity`; `maxReserved`, what may be owed.
 * - A run is how units arrive: `units` every `period` ms after `start`, `count` times in all.
 * - `runs`: how units arrive in the bucket. Empty of a sliding window: there a unit comes back `lastsMs` after it was taken. `lastsMs`
 *   of other kinds is the end of time.
 * - `lastStart`: of a sliding window, the moment of the latest entry, before which no reservation starts; else 0.
 * - `fullAt`: when the bucket is full, if nobody takes anything; at most `ts` for one that is full.
 * - `windowsFrom`: of a fixed window, which is reset when the next begins: since when its windows are known (-1: all are). 0 of other kinds,
 *   which are reset when they are full.
 * - `restMs`: windows that start more often than this are shown as often as this.
 * - `parts`: the rows of the bucket, each with the runs that fill it. Of a sliding window, a run starts when its units were taken.
 * - `few`: up to so many units a call may be denied on what two of several rows say. It succeeds when each row holds as many, or all
 *   that it can.
 * - `override`: what holds instead until its `until`: everybody is denied for a `reason`, or let through (`unlimited`), or it is all
 *   of this under another config. The limit's own `until` is the end of time.
 */
export type RateLimitSnapshot = Bucket & {
  mode?: "shadow";
  override?: { until: number; reason: "blocked" } | { until: number; unlimited: true } | Bucket;
};
type Bucket = Omit<Infer<ReturnType<typeof bucketValidator>>, "config"> & { config: RateLimitConfig };
