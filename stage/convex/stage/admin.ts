/** The keys that have to wait, and what an admin can do about them. In an app, only admins may call these functions. */
import { defineRateLimits } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { rateLimitLive } from "convex-rate-limits/live";
import {
  vRateLimitConfig,
  vRateLimitPage,
} from "convex-rate-limits/schema";
import { v } from "convex/values";
import { mutation, query } from "../_generated/server.js";
import { limits as burst } from "./burst.js";
import { limits as login } from "./login.js";
import { limits as plans } from "./plans.js";
import { limits as promises } from "./promises.js";

const limits = defineRateLimits({
  ...burst,
  ...login,
  ...promises,
  ...plans,
});
const { resetRateLimit } = limits;
const { getRateLimit } = rateLimitLive(limits);
const {
  listRateLimits,
  overrideRateLimit,
  clearRateLimitOverride,
} = rateLimitAdmin(limits);

const vName = v.union(
  v.literal("send"),
  v.literal("failedLogin"),
  v.literal("model"),
  v.literal("calls"),
);
const bucket = { name: vName, key: v.string() };
const terms = {
  until: v.optional(v.number()),
  note: v.optional(v.string()),
};

/** Denies every call of the key, with the reason "blocked". */
export const block = mutation({
  args: { ...bucket, ...terms },
  returns: v.null(),
  handler: (ctx, args) =>
    overrideRateLimit(ctx, { ...args, block: true }),
});

/** Gives one key another config, without a deploy. */
export const configure = mutation({
  args: { ...bucket, config: vRateLimitConfig, ...terms },
  returns: v.null(),
  handler: (ctx, args) => overrideRateLimit(ctx, args),
});

export const letThrough = mutation({
  args: { ...bucket, ...terms },
  returns: v.null(),
  handler: (ctx, args) =>
    overrideRateLimit(ctx, { ...args, unlimited: true }),
});

/** Removes the override: the limit's own config applies again. */
export const clear = mutation({
  args: bucket,
  returns: v.null(),
  handler: (ctx, args) => clearRateLimitOverride(ctx, args),
});

/** Makes the bucket full again. An override stays. */
export const reset = mutation({
  args: bucket,
  returns: v.null(),
  handler: (ctx, args) => resetRateLimit(ctx, args),
});

/** A page of the keys, each with the tokens that it has left. */
export const list = query({
  args: {
    name: vName,
    onlyLimited: v.optional(v.boolean()),
    onlyOverridden: v.optional(v.boolean()),
    cursor: v.optional(v.string()),
  },
  returns: vRateLimitPage,
  handler: (ctx, args) =>
    listRateLimits(ctx, { ...args, limit: 20 }),
});

/** A key's config without its override: its plan's, if any. */
export const config = query({
  args: bucket,
  returns: vRateLimitConfig,
  handler: async (ctx, args) =>
    (await getRateLimit(ctx, args)).config,
});
