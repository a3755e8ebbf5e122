/** The tables behind the limits, for the app's schema (in your tables) and for the component's own. */
import { type DataModelFromSchemaDefinition, defineTable, type SchemaDefinition } from "convex/server";
import { v } from "convex/values";
import { vQueueConfig, vRateLimitConfig, vRateLimitOverride } from "../configs.js";

/**
 * Spread into the app's schema to keep limits in the app's own tables.
 *
 * A row of `rateLimits` is one bucket, one shard of one, or what overrides its limit. No row means a full bucket. The other two tables
 * are those of limits with a queue. Only the functions of this package write here.
 *
 * @example
 * ```ts
 * import { defineSchema, defineTable } from "convex/server";
 * import { v } from "convex/values";
 * import { rateLimitTables } from "convex-rate-limits";
 *
 * export default defineSchema({
 *   ...rateLimitTables,
 *   messages: defineTable({ author: v.string(), body: v.string() }),
 * });
 * ```
 */
export const rateLimitTables = {
  rateLimits: defineTable({
    name: v.string(),
    /** Absent for the one bucket of a limit without keys. */
    key: v.optional(v.string()),
    /** Tokens at `ts`; negative while tokens are owed. */
    value: v.number(),
    /** When `value` was true: milliseconds since the epoch. */
    ts: v.number(),
    /** Of a split bucket, which part of it: "0" and "1" are its halves, "00" to "11" its quarters, and so on. */
    shard: v.optional(v.string()),
    /** Of a split bucket, the config that the shares were cut from. */
    config: v.optional(vRateLimitConfig),
    /** Of a sliding window, what was taken and when: tokens, and milliseconds since the epoch. */
    recent: v.optional(v.array(v.object({ at: v.number(), count: v.number() }))),
    /**
     * Of a bucket whose tokens may be returned: since times in milliseconds since the epoch, the fewest tokens that it was short of full.
     * So many come back of what was taken before.
     */
    headroom: v.optional(v.array(v.object({ at: v.number(), count: v.number() }))),
    /** What holds in place of the limit's config: in a row of its own, after the bucket's, whose `ts` is when it was set. */
    override: v.optional(vRateLimitOverride),
  }).index("by_name_key_shard", ["name", "key", "shard"]),

  /** Jobs that wait for their tokens: inserted by callers, deleted by the bucket's worker when it has paid, or by a cancel. */
  rateLimitQueue: defineTable({
    name: v.string(),
    key: v.optional(v.string()),
    priority: v.number(),
    /** When it came, which is when its caller's mutation committed: nanoseconds of the database's own clock. */
    at: v.commitTs(),
    /** Where users share the bucket in turns: whose job it is, and in which round its turn comes, once the worker has sorted it in. */
    fairBy: v.optional(v.string()),
    round: v.optional(v.number()),
    count: v.number(),
    /** A function handle, and what the function is called with. */
    fn: v.string(),
    args: v.record(v.string(), v.any()),
    /** Of a job that says what it has used: what kind of function it is. */
    settles: v.optional(v.union(v.literal("mutation"), v.literal("action"))),
    /** The worker sleeps until this job can be paid. */
    isAwaited: v.optional(v.boolean()),
  })
    .index("by_order", ["name", "key", "priority", "round", "at"])
    .index("by_arrival", ["name", "key", "at"])
    .index("by_user", ["name", "key", "priority", "fairBy", "round"]),

  /** One row for each bucket that ever had a queue; written when its worker starts, stops, or has run for half a minute. */
  rateLimitWorkers: defineTable({
    name: v.string(),
    key: v.optional(v.string()),
    config: vRateLimitConfig,
    queue: vQueueConfig,
    /** Counts the starts: a run of an earlier start does nothing. */
    generation: v.number(),
    /** Whether runs follow each other, until when at least; or the next comes when a job can be paid; or nothing waits. */
    state: v.union(v.literal("running"), v.literal("waiting"), v.literal("idle")),
    runsUntil: v.number(),
    /** While `maxQueued` jobs wait: when a caller may ask again. */
    fullUntil: v.optional(v.number()),
    /** With `exact`, the jobs that wait. */
    queued: v.optional(v.number()),
  }).index("by_name_key", ["name", "key"]),
};

/** A data model that has the table. */
export type RateLimitsDataModel = DataModelFromSchemaDefinition<SchemaDefinition<typeof rateLimitTables, true>>;
