/**
 * convex-rate-limits/schema: the table behind the limits, for the app's schema (in your tables) and for the component's
 * own, and validators of what apps store or return. An entry of its own, so that functions that only call a limit do
 * not build them in every run. The types are named, because the compiler would write each of them out in full.
 */
import { type DataModelFromSchemaDefinition, defineTable, type SchemaDefinition } from "convex/server";
import { v } from "convex/values";
import * as wire from "../wire/answers.js";
import { pageValidator, sweepResultValidator } from "../wire/admin.js";
import { configValidator, overrideFields, overrideValidator } from "../wire/configs.js";
import { controlFields, snapshotValidator, stateFields } from "../wire/snapshots.js";

/**
 * Spread into the app's schema to keep limits in the app's own tables.
 *
 * A row is one bucket, one part of a bucket that is split, or the control row of a bucket, which says what an operator
 * decided. No row means a full bucket. Only the functions of this package write here.
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
    ...stateFields(),
    /** Which of the buckets at the key, by kind and period, such as "fixed window day". Absent for a token bucket. */
    bucket: v.optional(v.string()),
    /**
     * Which part of a split bucket: "0" and "1" are its halves, "00" to "11" its quarters, and so on. "!" is the
     * control row.
     */
    shard: v.optional(v.string()),
    /** The plan's name or the call's config that it was written under, unless that is a plain definition. */
    plan: v.optional(v.union(v.string(), configValidator())),
    /** In the control row: the override of the limit's config; pauses and resets. */
    override: v.optional(v.object(overrideFields())),
    control: v.optional(v.object(controlFields())),
  }).index("by_name_key_shard", ["name", "key", "shard"]),
};

/** A data model that has the table. */
export type RateLimitsDataModel = DataModelFromSchemaDefinition<SchemaDefinition<typeof rateLimitTables, true>>;

/** The validator of a `RateLimitConfig`. */
export const vRateLimitConfig: ReturnType<typeof configValidator> = /* @__PURE__ */ configValidator();
/** The validator of a `RateLimitOverride`. */
export const vRateLimitOverride: ReturnType<typeof overrideValidator> = /* @__PURE__ */ overrideValidator();
/** The validator of a `RateLimitSnapshot`: what `getRateLimit` returns. */
export const vRateLimitSnapshot: ReturnType<typeof snapshotValidator> = /* @__PURE__ */ snapshotValidator();
/** The validator of a `RateLimitStatus`: what `rateLimit` returns. */
export const vRateLimitStatus: ReturnType<typeof wire.statusValidator> = /* @__PURE__ */ wire.statusValidator();
/** The validator of a `RateLimitAllStatus`: what `rateLimitAll` returns. */
export const vRateLimitAllStatus: ReturnType<typeof wire.allStatusValidator> =
  /* @__PURE__ */ wire.allStatusValidator();
/** The validator of a `RateLimitPage`: what `listRateLimits` returns. */
export const vRateLimitPage: ReturnType<typeof pageValidator> = /* @__PURE__ */ pageValidator();
/** The validator of a `SweepResult`: what `sweepRateLimits` returns. */
export const vSweepResult: ReturnType<typeof sweepResultValidator> = /* @__PURE__ */ sweepResultValidator();
/** The validator of a `RateLimitedJob`, to store one in a document. */
export const vRateLimitedJob: ReturnType<typeof wire.jobValidator> = /* @__PURE__ */ wire.jobValidator();
/** The validator of a `RateLimitLease`, to store one in a document, or to pass it to a job. */
export const vRateLimitLease = /* @__PURE__ */ v.object(/* @__PURE__ */ wire.leaseFields());
