/** The tables of the page's stage. A room is what two pages share: the key of all its limits, chosen by the page. */
import { vRateLimitQueuedJob } from "convex-rate-limits/queue/schema";
import {
  vRateLimitConfig,
  vRateLimitedJob,
  vRateLimitLease,
} from "convex-rate-limits/schema";
import { defineTable } from "convex/server";
import { v } from "convex/values";

export const jobFields = {
  room: v.string(),
  number: v.number(),
  tokens: v.number(),
  status: v.union(
    v.literal("queued"),
    v.literal("running"),
    v.literal("done"),
    v.literal("cancelled"),
  ),
  /** These four times are milliseconds since the epoch. */
  askedAt: v.number(),
  promisedAt: v.number(),
  startedAt: v.optional(v.number()),
  endedAt: v.optional(v.number()),
};

export const taskFields = {
  room: v.string(),
  number: v.number(),
  tokens: v.number(),
  /** Milliseconds since the epoch; absent while it waits. */
  startedAt: v.optional(v.number()),
  isCancelled: v.optional(v.boolean()),
  /** How often the provider has answered 429. */
  denied: v.optional(v.number()),
};

export const runFields = {
  room: v.string(),
  number: v.number(),
  lease: vRateLimitLease,
  state: v.optional(
    v.union(v.literal("ended"), v.literal("killed")),
  ),
};

export const vPlan = v.union(v.literal("free"), v.literal("pro"));

export const stageTables = {
  /** The configs that were edited in the code on the page, one for each limit and room. */
  stageConfigs: defineTable({
    room: v.string(),
    name: v.string(),
    config: vRateLimitConfig,
  }).index("by_room_name", ["room", "name"]),
  stageMessages: defineTable({
    room: v.string(),
    to: v.string(),
  }).index("by_room", ["room"]),
  stageCustomers: defineTable({
    room: v.string(),
    plan: vPlan,
  }).index("by_room", ["room"]),
  stageProviders: defineTable({
    room: v.string(),
    until: v.number(),
  }).index("by_room", ["room"]),
  stageTasks: defineTable({
    ...taskFields,
    job: v.optional(vRateLimitQueuedJob),
  }).index("by_room_number", ["room", "number"]),
  stageRuns: defineTable(runFields).index("by_room", ["room"]),
  stageJobs: defineTable({
    ...jobFields,
    reservation: v.optional(vRateLimitedJob),
  }).index("by_room", ["room"]),
};
