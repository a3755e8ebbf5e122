/** The wire form of a bucket's stored state: what a client needs to say its status at any moment. */
import { type Infer, v } from "convex/values";
import { type RateLimitConfig, vRateLimitConfig } from "./configs.js";

const run = {
  start: v.number(),
  period: v.number(),
  count: v.optional(v.number()),
  units: v.number(),
};
const vRuns = v.array(v.object(run));

const snapshotFields = {
  name: v.string(),
  config: vRateLimitConfig,
  value: v.number(),
  ts: v.number(),
  tokens: v.number(),
  unitsPerToken: v.number(),
  capacity: v.number(),
  maxReserved: v.number(),
  reservable: v.number(),
  lastStart: v.number(),
  lastsMs: v.number(),
  windowsFrom: v.optional(v.number()),
  fullAt: v.number(),
  runs: v.optional(vRuns),
  parts: v.array(
    v.object({
      shard: v.optional(v.number()),
      value: v.number(),
      ts: v.number(),
      capacity: v.number(),
      runs: vRuns,
    }),
  ),
  few: v.optional(
    v.array(v.object({ upTo: v.number(), runs: v.array(v.object({ ...run, start: v.optional(v.number()) })) })),
  ),
};

/** The validator of a {@link RateLimitSnapshot}. */
export const vRateLimitSnapshot = v.object({
  ...snapshotFields,
  mode: v.optional(v.literal("shadow")),
  override: v.optional(
    v.object({
      until: v.number(),
      reason: v.optional(v.literal("blocked")),
      unlimited: v.optional(v.literal(true)),
      snapshot: v.optional(v.object(snapshotFields)),
    }),
  ),
});

/**
 * A bucket's stored state, for display: `value` tokens at `ts` (milliseconds since the epoch; 0 for a bucket that was never used). It
 * does not depend on the clock, so a live query that returns it stays correct; `projectRateLimit` turns it into a
 * {@link RateLimitStatus} for any moment. Everything else is what that needs, ready to use and alike for all kinds of limits:
 *
 * - `mode`: present for a limit in shadow, which lets everybody through.
 * - `tokens`: what a full bucket holds. All that follows is in whole units, `unitsPerToken` to a token.
 * - `capacity`; `maxReserved`, what may be owed; `reservable`, the most that one reservation may ask for.
 * - A run is how units arrive: `units` every `period` ms after `start`, `count` times in all (default: for ever).
 * - `runs`: how units arrive in the bucket. Absent of a sliding window: there a unit comes back `lastsMs` after it was taken.
 *   `lastsMs` of other kinds is the end of time.
 * - `lastStart`: of a sliding window, the moment of the latest entry, before which no reservation starts; else 0.
 * - `fullAt`: when the bucket is full, if nobody takes anything; at most `ts` for one that is full.
 * - `windowsFrom`: of a fixed window, which is reset when the next begins: since when its windows are known (-1: all are). Other kinds are reset
 *   when they are full.
 * - `parts`: the rows of the bucket, each with the runs that fill it. Of a sliding window, a run starts when its units were taken.
 * - `few`: a fast limit may deny on what two of several rows say. Of up to `upTo` units it then says when a span of rows holds them
 *   that is empty now, and filled by `runs`: the first that is large enough. A run without `start` starts now.
 * - `override`: what holds instead until `until`: everybody is denied for a `reason`, or let through (`unlimited`), or the bucket
 *   is that of `snapshot`, under another config.
 */
export type RateLimitSnapshot = Configured<Omit<Infer<typeof vRateLimitSnapshot>, "override">> & {
  override?: Omit<Override, "snapshot"> & { snapshot?: Configured<NonNullable<Override["snapshot"]>> };
};
type Configured<Fields> = Omit<Fields, "config"> & { config: RateLimitConfig };
type Override = NonNullable<Infer<typeof vRateLimitSnapshot>["override"]>;
