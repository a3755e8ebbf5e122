/** The tables of playground.ts. A room is whatever two pages share: its key, chosen by the page. */
import { vRateLimitConfig, vRateLimitedJob } from "convex-rate-limits";
import { defineTable } from "convex/server";
import { v } from "convex/values";

export const vJobStatus = v.union(v.literal("queued"), v.literal("running"), v.literal("done"), v.literal("cancelled"));

/** What the page lets one change of a limit. */
export const configFields = {
  kind: v.union(v.literal("token bucket"), v.literal("fixed window")),
  rate: v.number(),
  period: v.number(),
  capacity: v.number(),
  maxReserved: v.number(),
};

export const vShards = v.union(v.number(), v.literal("auto"));

/** What happened to a limit in one second, and what was left of it; times are milliseconds since the epoch. */
export const secondFields = {
  /** Whole seconds since the epoch. */
  second: v.number(),
  admitted: v.number(),
  reserved: v.number(),
  denied: v.number(),
  /** The bucket after the last call: `value` tokens at `ts`. */
  value: v.number(),
  ts: v.number(),
};

export const jobFields = {
  room: v.string(),
  number: v.number(),
  tokens: v.number(),
  status: vJobStatus,
  askedAt: v.number(),
  promisedAt: v.number(),
  startedAt: v.optional(v.number()),
  endedAt: v.optional(v.number()),
};

export const playgroundTables = {
  playgroundRooms: defineTable({
    room: v.string(),
    /** Of the limit under one's hands. */
    config: v.optional(vRateLimitConfig),
    /** Of the hot limit. */
    shards: v.optional(vShards),
  }).index("by_room", ["room"]),
  playgroundSeconds: defineTable({ room: v.string(), ...secondFields }).index("by_room_second", ["room", "second"]),
  playgroundJobs: defineTable({ ...jobFields, handle: v.optional(vRateLimitedJob) }).index("by_room", ["room"]),
};
