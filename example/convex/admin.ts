/**
 * What an admin page needs: the limits, who has to wait, what is overridden, and a block and an unblock. An app lets only admins call
 * these; here everybody is one.
 */
import { vRateLimitConfig, vRateLimitPage } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { mutation, query } from "./_generated/server.js";
import { clearRateLimitOverride, listRateLimits, overrideRateLimit } from "./administration.js";
import { getRateLimit } from "./rateLimits.js";

/** The limits that are defined with `overrides: true`. */
const NAMES = ["sendMessage", "failedSignIn"] as const;
const vName = v.union(...NAMES.map((name) => v.literal(name)));
const bucket = { name: vName, key: v.string() };
const terms = { until: v.optional(v.number()), note: v.optional(v.string()) };

/** Every key has the same config unless it is overridden: that of a key which nobody uses is the limit's own. */
export const limits = query({
  args: {},
  returns: v.array(v.object({ name: vName, config: vRateLimitConfig })),
  handler: async (ctx) =>
    await Promise.all(
      NAMES.map(async (name) => ({ name, config: (await getRateLimit(ctx, { name, key: "nobody" })).config })),
    ),
});

/** The keys of a limit, page by page: all that have a row, those that have to wait, or those that are overridden. */
export const keys = query({
  args: {
    name: vName,
    onlyLimited: v.optional(v.boolean()),
    onlyOverridden: v.optional(v.boolean()),
    cursor: v.optional(v.string()),
  },
  returns: vRateLimitPage,
  handler: (ctx, args) => listRateLimits(ctx, args),
});

export const block = mutation({
  args: { ...bucket, ...terms },
  returns: v.null(),
  handler: (ctx, args) => overrideRateLimit(ctx, { ...args, block: true }),
});

/** Another config for one customer, until the end of the month, say. */
export const configure = mutation({
  args: { ...bucket, config: vRateLimitConfig, ...terms },
  returns: v.null(),
  handler: (ctx, args) => overrideRateLimit(ctx, args),
});

export const letThrough = mutation({
  args: { ...bucket, ...terms },
  returns: v.null(),
  handler: (ctx, args) => overrideRateLimit(ctx, { ...args, unlimited: true }),
});

/** Whatever the override was, the limit's own config holds again. */
export const unblock = mutation({
  args: bucket,
  returns: v.null(),
  handler: (ctx, args) => clearRateLimitOverride(ctx, args),
});
