/** The wire form of a bucket's stored state: what a client needs to say its status at any moment. */
import { type Infer, v } from "convex/values";
import { type RateLimitConfig, vRateLimitConfig } from "./configs.js";

/** How units arrive in a bucket, or in one row of it. */
const terms = { capacity: v.number(), refill: v.number() };

/** Steps at which units arrive. */
const vRuns = v.array(
  v.object({
    start: v.number(),
    period: v.optional(v.number()),
    count: v.optional(v.number()),
    units: v.optional(v.number()),
  }),
);

const snapshotFields = {
  name: v.string(),
  config: vRateLimitConfig,
  value: v.number(),
  ts: v.number(),
  unitsPerToken: v.number(),
  maxReserved: v.number(),
  ...terms,
  runs: v.optional(vRuns),
  lastsMs: v.optional(v.number()),
  parts: v.array(
    v.object({
      shard: v.optional(v.number()),
      value: v.number(),
      ts: v.number(),
      runs: v.optional(vRuns),
      capacity: v.optional(v.number()),
      refill: v.optional(v.number()),
    }),
  ),
  few: v.optional(v.object({ units: v.number(), spans: v.array(v.object(terms)) })),
};

/** The validator of a {@link RateLimitSnapshot}. */
export const vRateLimitSnapshot = v.object({
  ...snapshotFields,
  mode: v.optional(v.literal("shadow")),
  override: v.optional(
    v.object({
      until: v.optional(v.number()),
      block: v.optional(v.literal(true)),
      unlimited: v.optional(v.literal(true)),
      snapshot: v.optional(v.object(snapshotFields)),
    }),
  ),
});

/**
 * A bucket's stored state, for display: `value` tokens at `ts` (milliseconds since the epoch; 0 for a bucket that was never used). It
 * does not depend on the clock, so a live query that returns it stays correct; `projectRateLimit` turns it into a
 * {@link RateLimitStatus} for any moment. Everything else is what that needs, ready to use, in whole units:
 *
 * - `mode`: present for a limit in shadow, which lets everybody through.
 * - `unitsPerToken`, `capacity`, `maxReserved`, and `refill`: units that arrive each millisecond or with each window.
 * - `runs`: the starts of fixed windows: one at `start`, and one every `period` ms after it, `count` in all or without an end.
 * - `lastsMs`: of a sliding window, how long a taken unit stays away.
 * - `parts`: the rows of the bucket; what one of them does not say holds for all. `runs` of a sliding window: `units` come back at `start`.
 * - `few`: a fast limit may deny on what two of several rows say, up to so many units; the spans that a call may then come upon.
 * - `override`: what holds instead until `until`, if ever; `snapshot` is the bucket under its config.
 */
export type RateLimitSnapshot = Configured<Omit<Infer<typeof vRateLimitSnapshot>, "override">> & {
  override?: Omit<Override, "snapshot"> & { snapshot?: Configured<NonNullable<Override["snapshot"]>> };
};
type Configured<Fields> = Omit<Fields, "config"> & { config: RateLimitConfig };
type Override = NonNullable<Infer<typeof vRateLimitSnapshot>["override"]>;
