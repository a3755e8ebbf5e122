/** The table behind the limits, for the app's schema (in your tables) and for the component's own. */
import { type DataModelFromSchemaDefinition, defineTable, type SchemaDefinition } from "convex/server";
import { v } from "convex/values";
import { configValidator, overrideFields } from "../wire/configs.js";

/**
 * Spread into the app's schema to keep limits in the app's own tables.
 *
 * A row is one bucket, one shard of one, or what overrides its limit. No row means a full bucket. Only the functions of this package
 * write here.
 *
 * @example
 * ```ts
 * import { defineSchema, defineTable } from "convex/server";
 * import { v } from "convex/values";
 * import { rateLimitTables } from "convex-rate-limits/schema";
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
    config: v.optional(configValidator()),
    /** Of a sliding window, what was taken and when: tokens, and milliseconds since the epoch. */
    recent: v.optional(v.array(v.object({ at: v.number(), count: v.number() }))),
    /**
     * Of a bucket whose tokens may be returned: since times in milliseconds since the epoch, the fewest tokens that it was short of full.
     * So many come back of what was taken before.
     */
    headroom: v.optional(v.array(v.object({ at: v.number(), count: v.number() }))),
    /**
     * Of a fixed window, the tokens that were used in the window that began at `since`, in milliseconds since the epoch. So another config
     * counts what was used. `excess`: tokens that were used before, and count if the capacity is raised again.
     */
    window: v.optional(v.object({ since: v.number(), used: v.number(), excess: v.optional(v.number()) })),
    /** What it was written under, if not a plain definition: the plan by its name, or the config of the call. */
    plan: v.optional(v.union(v.string(), configValidator())),
    /** What holds in place of the limit's config: in a row of its own, after the bucket's, whose `ts` is when it was set. */
    override: v.optional(v.object(overrideFields())),
  }).index("by_name_key_shard", ["name", "key", "shard"]),
};

/** A data model that has the table. */
export type RateLimitsDataModel = DataModelFromSchemaDefinition<SchemaDefinition<typeof rateLimitTables, true>>;
