/**
 * convex-rate-limits/queue/schema: the tables behind queues, for the app's schema (in your tables) and for the
 * component's own, and validators of what apps store or return.
 */
import { type DataModelFromSchemaDefinition, defineTable, type SchemaDefinition } from "convex/server";
import { v } from "convex/values";
import { callArgs, dropArgs, queuedJobValidator, queuePositionValidator, settlesValidator } from "../wire/queue.js";
import { type rateLimitTables } from "./schema.js";

/**
 * Spread into the app's schema, beside `rateLimitTables`, for queues in the app's tables. Only this package writes
 * here.
 */
export const rateLimitQueueTables = {
  /**
   * Jobs that wait for their tokens: inserted by callers, deleted by the bucket's worker when it has paid, or by a
   * cancel. A row with the priority -1 is no job any more. It has ended and waits to be settled (its `args` say what
   * was used), or has left unpaid and is still to be counted by the worker. One with -2 runs again from a time on, and
   * one with -3 is paid and starts more than a second later: its `round` is that time.
   */
  rateLimitQueue: defineTable({
    name: v.string(),
    key: v.optional(v.string()),
    priority: v.number(),
    /** When its caller's mutation committed, which is its place: nanoseconds of the database's own clock. */
    at: v.commitTs(),
    /** When this job came: later if it waits to run again. Only jobs that wait have it. */
    arrivedAt: v.optional(v.commitTs()),
    /** In a fair queue, whose job it is, and where its round ends, in tokens, once the worker has sorted it in. */
    fairBy: v.optional(v.string()),
    round: v.optional(v.number()),
    count: v.number(),
    ...callArgs(),
    ...dropArgs(),
    settles: v.optional(settlesValidator()),
    /** For a job that waits to run again: how often it has run, and the id under which it was enqueued. */
    runs: v.optional(v.number()),
    first: v.optional(v.string()),
    /** For a job that waits again from a time on: its priority then. */
    priorityThen: v.optional(v.number()),
  })
    .index("by_order", ["name", "key", "priority", "round", "at"])
    .index("by_arrival", ["name", "key", "arrivedAt"])
    .index("by_user", ["name", "key", "priority", "fairBy", "round"])
    .index("by_expiry", ["name", "key", "notAfter"])
    .index("by_first", ["first"]),

  /**
   * One row for each bucket that ever had a queue; written when its worker starts, stops, or has run for half a minute.
   */
  rateLimitWorkers: defineTable({
    name: v.string(),
    key: v.optional(v.string()),
    /** The plan of the last job, if the limit has plans: all jobs of the bucket wait by it. */
    plan: v.optional(v.string()),
    /**
     * The terms that its last run or start knew, as one text: what the row says of a full queue, and until when it
     * sleeps, depends on them.
     */
    terms: v.optional(v.string()),
    /** A random number, drawn anew by each start: a run of an earlier start does nothing. */
    generation: v.number(),
    /**
     * Whether runs follow each other, until when at least; or the next comes when a job can be paid; or nothing waits.
     */
    state: v.union(v.literal("running"), v.literal("waiting"), v.literal("idle")),
    runsUntil: v.number(),
    /** The scheduled function that is the first run of the last start, or the one that a worker sleeps until. */
    start: v.optional(v.id("_scheduled_functions")),
    /** The job that a worker which waits sleeps for. */
    awaits: v.optional(v.id("rateLimitQueue")),
    /** While `maxQueued` jobs wait: when a caller may ask again. */
    fullUntil: v.optional(v.number()),
    /** The jobs that wait, while the worker of a full queue sleeps. */
    queued: v.optional(v.number()),
  }).index("by_name_key", ["name", "key"]),

  /** One row for each limit with a queue: its terms at the last call that knew them, as one text. */
  rateLimitQueueTerms: defineTable({ name: v.string(), terms: v.string() }).index("by_name", ["name"]),
};

/** A data model that has the tables of limits and of queues. */
export type RateLimitQueuesDataModel = DataModelFromSchemaDefinition<
  SchemaDefinition<typeof rateLimitTables & typeof rateLimitQueueTables, true>
>;

/** The validator of a `RateLimitQueuedJob`, to store one in a document. */
export const vRateLimitQueuedJob = /* @__PURE__ */ queuedJobValidator();
/** The validator of a `RateLimitQueuePosition`: what `getQueued` returns, unless it returns null. */
export const vRateLimitQueuePosition = /* @__PURE__ */ queuePositionValidator();
