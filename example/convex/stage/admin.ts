/** Who has to wait, and what an admin can do about it. An app lets admins only. */
import { defineRateLimits } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
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
const { getRateLimit, resetRateLimit } = limits;
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

/** Every call of the key is denied: its reason is "blocked". */
export const block = mutation({
  args: { ...bucket, ...terms },
  returns: v.null(),
  handler: (ctx, args) =>
    overrideRateLimit(ctx, { ...args, block: true }),
});

/** Another config for one key, without a deploy. */
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

/** Whatever the override was: the limit's own config holds again. */
export const clear = mutation({
  args: bucket,
  returns: v.null(),
  handler: (ctx, args) => clearRateLimitOverride(ctx, args),
});

/** The bucket is full again. An override stays. */
export const reset = mutation({
  args: bucket,
  returns: v.null(),
  handler: (ctx, args) => resetRateLimit(ctx, args),
});

/** A page of the keys, with what each of them has left now. */
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

/** What holds at a key without an override: the config of its plan, if the limit has plans. */
export const config = query({
  args: bucket,
  returns: vRateLimitConfig,
  handler: async (ctx, args) =>
    (await getRateLimit(ctx, args)).config,
});
