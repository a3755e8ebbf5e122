// convex/reports.ts
import { v } from "convex/values";
import { DAY, type RateLimitConfig } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { internal } from "./_generated/api";
import { internalMutation, mutation } from "./_generated/server";
import { limits } from "./limits";

const { sweepRateLimits } = rateLimitAdmin(limits);

const plans: Record<"free" | "pro", RateLimitConfig> = {
  free: { kind: "token bucket", rate: 3, period: DAY },
  pro: { kind: "token bucket", rate: 100, period: DAY },
};

export const make = mutation({
  args: { user: v.id("users") },
  returns: v.object({ left: v.optional(v.number()) }),
  handler: async (ctx, { user }) => {
    const account = await ctx.db.get("users", user);
    if (!account) throw new Error("There is no such user.");
    const config = plans[account.plan];
    const { remaining } = await limits.rateLimit(ctx, { name: "report", key: user, config, throws: true });
    return remaining === undefined ? {} : { left: remaining };
  },
});

/** A sweep must know every config that a limit is called with: a row is deleted when it is full under all of them. */
export const sweep = internalMutation({
  args: { cursor: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { cursor }): Promise<null> => {
    const configs = { report: Object.values(plans) };
    await sweepRateLimits(ctx, { cursor, next: internal.reports.sweep, configs });
    return null;
  },
});
