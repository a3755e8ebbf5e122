// convex/tokens.ts
import { v } from "convex/values";
import { internalQuery } from "./_generated/server";
import { role } from "./schema";

/** The role of a token, by its SHA-256; null if the token is unknown. */
export const roleOf = internalQuery({
  args: { hash: v.string() },
  returns: v.union(role, v.null()),
  handler: async (ctx, { hash }) => {
    const token = await ctx.db
      .query("tokens")
      .withIndex("by_hash", (q) => q.eq("hash", hash))
      .unique();
    return token?.role ?? null;
  },
});
