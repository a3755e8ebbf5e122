// convex/schema.ts
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { rateLimitTables } from "convex-rate-limits/schema";

export default defineSchema({
  ...rateLimitTables,
  notes: defineTable({ author: v.string(), text: v.string() }),
  sessions: defineTable({ startedAt: v.number() }),
  comments: defineTable({ session: v.id("sessions"), text: v.string() }),
  users: defineTable({
    email: v.string(),
    password: v.string(),
    plan: v.union(v.literal("free"), v.literal("pro")),
  }).index("by_email", ["email"]),
  images: defineTable({ user: v.id("users"), prompt: v.string() }),
  places: defineTable({ address: v.string(), found: v.optional(v.string()) }),
});
