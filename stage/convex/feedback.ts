/**
 * A limit in the app's own `rateLimits` table (see schema.ts). A call does not enter a component, which saves a hop. Only queries
 * and mutations can make it. Everything else is the same.
 */
import { DAY, defineRateLimits } from "convex-rate-limits";
import { rateLimitAdmin, type SweepResult } from "convex-rate-limits/admin";
import { rateLimitLive } from "convex-rate-limits/live";
import { vRateLimitSnapshot, vSweepResult } from "convex-rate-limits/schema";
import { ConvexError, v } from "convex/values";
import { internal } from "./_generated/api.js";
import { internalMutation, mutation, query } from "./_generated/server.js";

const limits = defineRateLimits({
  sendFeedback: { kind: "fixed window", rate: 3, period: DAY, keyed: true },
});
const { rateLimit } = limits;
const { getRateLimit } = rateLimitLive(limits);
const { sweepRateLimits } = rateLimitAdmin(limits);

export const send = mutation({
  args: { user: v.id("users"), text: v.string() },
  returns: v.id("feedback"),
  handler: async (ctx, { user, text }) => {
    await rateLimit(ctx, { name: "sendFeedback", key: user, throws: true });
    const previous = await ctx.db
      .query("feedback")
      .withIndex("by_user", (q) => q.eq("user", user))
      .order("desc")
      .first();
    // The same text twice is a mistake: the throw gives the token back.
    if (previous?.text === text) throw new ConvexError({ kind: "AlreadySent" });
    return await ctx.db.insert("feedback", { user, text });
  },
});

export const quota = query({
  args: { user: v.id("users") },
  returns: vRateLimitSnapshot,
  handler: (ctx, { user }) => getRateLimit(ctx, { name: "sendFeedback", key: user }),
});

/** For the daily cron. Each run sweeps one batch, and schedules itself (`next`) with the `cursor` of the next batch. */
export const sweep = internalMutation({
  args: { cursor: v.optional(v.string()) },
  returns: vSweepResult,
  handler: (ctx, { cursor }): Promise<SweepResult> => sweepRateLimits(ctx, { cursor, next: internal.feedback.sweep }),
});
