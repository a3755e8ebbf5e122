/** What an admin page needs. Each public function first checks that an admin calls it. */
import { vRateLimitPage } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { internalMutation, mutation, query } from "./_generated/server";
import { checkAdmin } from "./callers";
import { clearRateLimitOverride, limits, listRateLimits, overrideRateLimit, sweepRateLimits } from "./limits";

const vName = v.union(
  v.literal("sendMessage"),
  v.literal("loginsOfEmail"),
  v.literal("loginsFromAddress"),
  v.literal("tokensOfDay"),
  v.literal("apiMessages"),
);
/** A key is written as the list shows it. */
const bucket = { name: vName, key: v.string() };
/** Without `until` an override holds until it is cleared. Only the list shows the note. */
const terms = { until: v.optional(v.number()), note: v.optional(v.string()) };

/** The keys of a limit, page by page: all that have a row, only those that have to wait, or only those with an override. */
export const list = query({
  args: {
    name: vName,
    onlyLimited: v.optional(v.boolean()),
    onlyOverridden: v.optional(v.boolean()),
    cursor: v.optional(v.string()),
  },
  returns: vRateLimitPage,
  handler: async (ctx, args) => {
    await checkAdmin(ctx);
    return await listRateLimits(ctx, args);
  },
});

export const block = mutation({
  args: { ...bucket, ...terms },
  returns: v.null(),
  handler: async (ctx, args) => {
    await checkAdmin(ctx);
    return await overrideRateLimit(ctx, { ...args, block: true });
  },
});

/** Gives one key more tokens in each period, on top of its plan. */
export const raise = mutation({
  args: { ...bucket, ...terms, more: v.number() },
  returns: v.null(),
  handler: async (ctx, args) => {
    await checkAdmin(ctx);
    return await overrideRateLimit(ctx, args);
  },
});

/** Ends a block or a raise. */
export const clear = mutation({
  args: bucket,
  returns: v.null(),
  handler: async (ctx, args) => {
    await checkAdmin(ctx);
    return await clearRateLimitOverride(ctx, args);
  },
});

/** No question starts before `until`: for an outage of the model's provider. */
export const pauseModel = mutation({
  args: { until: v.number() },
  returns: v.null(),
  handler: async (ctx, { until }) => {
    await checkAdmin(ctx);
    return await limits.pauseRateLimit(ctx, { name: "modelTokens", until });
  },
});

/** For crons.ts. The component continues by itself until all rows are swept. */
export const sweep = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await sweepRateLimits(ctx, {});
    return null;
  },
});
