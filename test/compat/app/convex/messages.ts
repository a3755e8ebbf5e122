import { HOUR, isRateLimitError, MINUTE, type RateLimitConfig, RateLimiter, SECOND } from "@convex-dev/rate-limiter";
import { v } from "convex/values";
import { components, internal } from "./_generated/api.js";
import { action, internalMutation, mutation, query } from "./_generated/server.js";

const rateLimiter = new RateLimiter(components.rateLimiter, {
  sendMessage: { kind: "token bucket", rate: 8, period: MINUTE, capacity: 3 },
  signUp: { kind: "fixed window", rate: 2, period: HOUR, start: 1 },
  report: { kind: "token bucket", rate: 1, period: SECOND, capacity: 1, maxReserved: 3 },
});

export const { getRateLimit, getServerTime } = rateLimiter.hookAPI("sendMessage", {
  key: (_ctx, keyFromClient) => keyFromClient ?? "nobody",
});

export const send = mutation({
  args: { author: v.string(), body: v.string() },
  handler: async (ctx, { author, body }) => {
    await rateLimiter.limit(ctx, "sendMessage", { key: author, throws: true });
    await ctx.db.insert("messages", { author, body });
  },
});

/** Tries to send, and returns "sent" or the wait in ms. */
export const trySend = mutation({
  args: { author: v.string() },
  returns: v.union(v.literal("sent"), v.number()),
  handler: async (ctx, { author }) => {
    try {
      await rateLimiter.limit(ctx, "sendMessage", { key: author, throws: true, reserve: true });
      return "sent";
    } catch (error) {
      if (isRateLimitError(error)) return error.data.retryAfter;
      throw error;
    }
  },
});

export const maySend = query({
  args: { author: v.string(), count: v.optional(v.number()) },
  handler: async (ctx, { author, count = 1 }) => await rateLimiter.check(ctx, "sendMessage", { key: author, count }),
});

export const signUp = mutation({
  args: {},
  handler: async (ctx) => {
    const { ok, retryAfter } = await rateLimiter.limit(ctx, "signUp");
    return ok ? null : retryAfter;
  },
});

export const report = mutation({
  args: { author: v.string() },
  handler: async (ctx, { author }): Promise<number | null> => {
    const status = await rateLimiter.limit(ctx, "report", { reserve: true });
    if (!status.ok) return null;
    await ctx.scheduler.runAfter(status.retryAfter ?? 0, internal.messages.makeReport, { author });
    return status.retryAfter ?? 0;
  },
});

export const makeReport = internalMutation({
  args: { author: v.string() },
  handler: async (ctx, { author }) => {
    await ctx.db.insert("reports", { author, madeAt: Date.now() });
  },
});

/** Gives the config in the call, as apps with plans do. */
export const draw = action({
  args: { user: v.string(), isPro: v.boolean() },
  handler: async (ctx, { user, isPro }) => {
    const config: RateLimitConfig = { kind: "token bucket", rate: isPro ? 4 : 1, period: 64 * SECOND };
    return await rateLimiter.limit(ctx, "draw", { key: user, config });
  },
});

export const forgive = mutation({
  args: { author: v.string() },
  handler: async (ctx, { author }) => {
    await rateLimiter.reset(ctx, "sendMessage", { key: author });
    await rateLimiter.reset(ctx, "draw", { key: author });
    return await rateLimiter.getValue(ctx, "sendMessage", { key: author });
  },
});
