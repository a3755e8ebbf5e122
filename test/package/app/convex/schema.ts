import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { rateLimitTables, vRateLimitStatus } from "convex-rate-limits/schema";

export default defineSchema({
  ...rateLimitTables,
  messages: defineTable({ author: v.string(), body: v.string() }),
  attempts: defineTable({ status: vRateLimitStatus }),
});
