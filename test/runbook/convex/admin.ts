// convex/admin.ts
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { vRateLimitPage, vRateLimitStatus } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { internalMutation, internalQuery } from "./_generated/server";
import { limits } from "./limits";

const { listRateLimits } = rateLimitAdmin(limits);

const name = v.union(v.literal("sendMessage"), v.literal("failedLogin"));
const bucket = { name, key: v.string() };

/** The keys that would be denied now, page by page. */
export const limited = internalQuery({
  args: { name, cursor: v.optional(v.string()) },
  returns: vRateLimitPage,
  handler: async (ctx, args) => await listRateLimits(ctx, { ...args, onlyLimited: true }),
});

/** Whether the next call on a bucket goes through, or when, and what would be left after it. */
export const look = internalQuery({
  args: bucket,
  returns: vRateLimitStatus,
  handler: async (ctx, args) => await limits.checkRateLimit(ctx, args),
});

/** Forgets the bucket: it is full again. */
export const unlock = internalMutation({
  args: bucket,
  returns: v.null(),
  handler: async (ctx, args) => await limits.resetRateLimit(ctx, args),
});

/** Gives tokens, or takes them when `count` is negative. */
export const give = internalMutation({
  args: { ...bucket, count: v.number() },
  returns: vRateLimitStatus,
  handler: async (ctx, { count, ...args }) => await limits.adjustRateLimit(ctx, { ...args, count: -count }),
});
