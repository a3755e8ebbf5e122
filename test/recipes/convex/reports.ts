// convex/reports.ts
import { v } from "convex/values";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { internal } from "./_generated/api";
import { internalMutation, mutation } from "./_generated/server";
import { limits } from "./limits";

const { sweepRateLimits } = rateLimitAdmin(limits);

export const make = mutation({
  args: { user: v.id("users") },
  returns: v.object({ left: v.number() }),
  handler: async (ctx, { user }) => {
    const account = await ctx.db.get("users", user);
    if (!account) throw new Error("There is no such user.");
    const { plan } = account;
    const { remaining } = await limits.rateLimit(ctx, { name: "report", key: user, plan, throws: true });
    return { left: remaining };
  },
});

/** A row is deleted when it is full under all plans. */
export const sweep = internalMutation({
  args: { cursor: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { cursor }): Promise<null> => {
    await sweepRateLimits(ctx, { cursor, next: internal.reports.sweep });
    return null;
  },
});
