/** The app's own tables. The rows of the limits are in the component. */
import { vRateLimitQueuedJob } from "convex-rate-limits/queue/schema";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export const vPlan = v.union(v.literal("free"), v.literal("pro"));

/** A question waits in the queue, runs and ends, unless its user cancels it first. */
export const vStatus = v.union(
  v.literal("waiting"),
  v.literal("running"),
  v.literal("done"),
  v.literal("failed"),
  v.literal("cancelled"),
);

export default defineSchema({
  /** What the app knows about a signed-in user. `caller` is what `callerOf` returns. A user without a row is on the free plan. */
  members: defineTable({ caller: v.string(), plan: vPlan, isAdmin: v.boolean() }).index("by_caller", ["caller"]),

  messages: defineTable({ author: v.string(), body: v.string() }),

  questions: defineTable({
    caller: v.string(),
    prompt: v.string(),
    status: vStatus,
    /** The tokens that it has reserved. The difference to those that it uses is settled when it ends. */
    estimate: v.number(),
    /** When they were taken from the user's day: a refund needs the date. */
    takenAt: v.number(),
    /** How often the model was asked. */
    runs: v.number(),
    /** The job as `cancelQueued` needs it. No function takes it from a client. */
    job: v.optional(vRateLimitQueuedJob),
    answer: v.optional(v.string()),
  }).index("by_caller", ["caller"]),

  /** Passwords of users that sign in by email. An auth library has a table like this one. */
  accounts: defineTable({
    email: v.string(),
    password: v.object({ salt: v.string(), iterations: v.number(), hash: v.string() }),
  }).index("by_email", ["email"]),

  /** API keys by their SHA-256: the key itself is not stored. */
  apiKeys: defineTable({ hash: v.string(), caller: v.string() })
    .index("by_hash", ["hash"])
    .index("by_caller", ["caller"]),
});
