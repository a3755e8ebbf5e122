import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  messages: defineTable({ author: v.string(), body: v.string() }),
  reports: defineTable({ author: v.string(), madeAt: v.number() }),
});
