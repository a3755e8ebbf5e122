// convex/messages.ts
import { v } from "convex/values";
import { mutation, type QueryCtx } from "./_generated/server";
import { limits } from "./limits";

export async function callerOf(ctx: Pick<QueryCtx, "auth">): Promise<string> {
  const identity = await ctx.auth.getUserIdentity();
  if (!identity) throw new Error("not signed in");
  return identity.subject;
}

export const send = mutation({
  args: { body: v.string() },
  returns: v.null(),
  handler: async (ctx, { body }) => {
    const author = await callerOf(ctx);
    await limits.rateLimit(ctx, { name: "sendMessage", key: author, throws: true });
    if (body.length > 500) throw new Error("too long");
    await ctx.db.insert("messages", { author, body });
    return null;
  },
});
