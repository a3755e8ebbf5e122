/** The table behind every limit, for the app's schema (home A) and for the component's own (home B). */
import { type DataModelFromSchemaDefinition, defineTable, type SchemaDefinition } from "convex/server";
import { v } from "convex/values";

/**
 * Spread into the app's schema to keep limits in the app's own tables.
 *
 * A row is one bucket, or one shard of one. No row means a full bucket. Only the functions of this package write here.
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
    /** Which part of the bucket, numbered like a binary heap: 1 is the whole, n has the halves 2n and 2n + 1. */
    shard: v.number(),
    /** Tokens at `ts`; negative while tokens are owed to reservations. */
    value: v.number(),
    /** When `value` was true: milliseconds since the epoch. */
    ts: v.number(),
  }).index("by_name_key_shard", ["name", "key", "shard"]),
};

/** A data model that has the table. */
export type RateLimitsDataModel = DataModelFromSchemaDefinition<SchemaDefinition<typeof rateLimitTables, true>>;
