/** Maintenance of the component's limits: a list for an admin page, and the daily sweep (crons.ts). */
import { vRateLimitPage } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { internalMutation, internalQuery } from "./_generated/server.js";
import { listRateLimits, sweepRateLimits } from "./administration.js";

/** The keys that have to wait now, page by page. An app makes it a query that only admins may call. */
export const limited = internalQuery({
  args: { name: v.union(v.literal("sendMessage"), v.literal("failedLogin")), cursor: v.optional(v.string()) },
  returns: vRateLimitPage,
  handler: (ctx, args) => listRateLimits(ctx, { ...args, onlyLimited: true }),
});

/** Sweeps the first batch. The component continues by itself. */
export const sweep = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await sweepRateLimits(ctx, {});
    return null;
  },
});
