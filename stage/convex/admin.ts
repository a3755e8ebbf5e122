/**
 * The functions of an admin page: they list the limits, the keys that have to wait and the overrides, and they block and unblock
 * keys. An app lets only admins call them; this example lets everybody.
 */
import { vRateLimitConfig, vRateLimitPage } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { mutation, query } from "./_generated/server.js";
import { clearRateLimitOverride, listRateLimits, overrideRateLimit } from "./administration.js";
import { getRateLimit } from "./rateLimits.js";

/** The limits that admins see. */
const NAMES = ["sendMessage", "failedSignIn"] as const;
const vName = v.union(...NAMES.map((name) => v.literal(name)));
const bucket = { name: vName, key: v.string() };
const terms = { until: v.optional(v.number()), note: v.optional(v.string()) };

/** The limits with their own configs. A key without an override has its limit's config, so this reads a key that nobody uses. */
export const limits = query({
  args: {},
  returns: v.array(v.object({ name: vName, config: vRateLimitConfig })),
  handler: async (ctx) =>
    await Promise.all(
      NAMES.map(async (name) => ({ name, config: (await getRateLimit(ctx, { name, key: "nobody" })).config })),
    ),
});

/** The keys of a limit, page by page: all keys with a row, only those that have to wait, or only those with an override. */
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

/** Gives one customer another config, for example until the end of the month. */
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

/** Removes an override of any kind: the limit's own config applies again. */
export const unblock = mutation({
  args: bucket,
  returns: v.null(),
  handler: (ctx, args) => clearRateLimitOverride(ctx, args),
});
