// convex/messages.ts
import { v } from "convex/values";
import { mutation } from "./_generated/server";
import { rateLimit } from "./limits";

export const send = mutation({
  args: { author: v.id("users"), body: v.string() },
  handler: async (ctx, { author, body }) => {
    await rateLimit(ctx, { name: "sendMessage", key: author });
    await ctx.db.insert("messages", { author, body });
  },
});
