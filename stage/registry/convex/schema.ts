// convex/schema.ts
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export const role = v.union(v.literal("publisher"), v.literal("admin"));

export default defineSchema({
  tokens: defineTable({ hash: v.string(), role }).index("by_hash", ["hash"]),
});
