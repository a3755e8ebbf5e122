import { rateLimitQueueTables, vRateLimitQueuedJob } from "convex-rate-limits/queue/schema";
import { rateLimitTables, vRateLimitedJob } from "convex-rate-limits/schema";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { proveTables } from "./prove/schema.js";
import { stageTables } from "./stage/tables.js";

export const vPlan = v.union(v.literal("free"), v.literal("pro"));

/** A job waits for its tokens, runs and ends, unless it is cancelled first. Times are milliseconds since the epoch. */
export const llmJobFields = {
  user: v.id("users"),
  prompt: v.string(),
  /** The tokens reserved for it: those of the prompt and of the longest answer. */
  tokens: v.number(),
  /** The tokens that it has used, known after the call. The rest was given back. */
  used: v.optional(v.number()),
  status: v.union(
    v.literal("queued"),
    v.literal("running"),
    v.literal("done"),
    v.literal("failed"),
    v.literal("cancelled"),
  ),
  /** When its tokens are available. The job never starts earlier. */
  promisedAt: v.number(),
  startedAt: v.optional(v.number()),
  answer: v.optional(v.string()),
  /** The job as `cancelRateLimited` needs it. No function takes it from a client: a client that invents one could invent tokens. */
  reservation: v.optional(vRateLimitedJob),
};

export const placeFields = {
  address: v.string(),
  /** Absent until the geocoder has answered. */
  found: v.optional(
    v.object({
      latitude: v.number(),
      longitude: v.number(),
      /** The end of the provider's window in which the call was counted. */
      quotaResetAt: v.number(),
    }),
  ),
};

export default defineSchema({
  users: defineTable({
    email: v.string(),
    passwordDigest: v.string(),
    plan: vPlan,
  }).index("by_email", ["email"]),

  messages: defineTable({
    author: v.id("users"),
    to: v.id("users"),
    body: v.string(),
  }).index("by_to", ["to"]),

  llmJobs: defineTable(llmJobFields).index("by_user", ["user"]),

  /** The agent's tasks. A task waits in the queue until its tokens are available, unless it is cancelled. */
  agentTasks: defineTable({
    user: v.id("users"),
    tokens: v.number(),
    startedAt: v.optional(v.number()),
    job: v.optional(vRateLimitQueuedJob),
  }).index("by_user", ["user"]),

  places: defineTable(placeFields),

  reports: defineTable({ user: v.id("users"), title: v.string() }).index("by_user", ["user"]),

  uploads: defineTable({ user: v.id("users"), team: v.string(), file: v.string() }).index("by_team", ["team"]),

  feedback: defineTable({ user: v.id("users"), text: v.string() }).index("by_user", ["user"]),

  ...stageTables,
  ...proveTables,

  // For feedback.ts and stage/. The other modules' limits are in the component's own tables.
  ...rateLimitTables,
  ...rateLimitQueueTables,
});
