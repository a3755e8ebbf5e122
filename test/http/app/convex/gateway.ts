// convex/gateway.ts
import { defineRateLimits } from "convex-rate-limits";
import { vRateLimitAllStatus } from "convex-rate-limits/schema";
import { inTables, vLimitRequest } from "convex-rate-limits/http";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { internalMutation, internalQuery } from "./_generated/server";

const { rateLimitAll, adjustRateLimit, getRateLimit } = defineRateLimits({});
const args = { requests: v.array(vLimitRequest) };

/** All or nothing, in one transaction. */
export const take = internalMutation({
  args,
  returns: vRateLimitAllStatus,
  handler: async (ctx, { requests }) => await rateLimitAll(ctx, requests),
});

/** For `refund`. */
export const giveBack = internalMutation({
  args,
  handler: async (ctx, { requests }) => {
    const statuses = [];
    for (const request of requests) {
      statuses.push(await adjustRateLimit(ctx, { ...request, count: -request.count }));
    }
    return { statuses };
  },
});

/** For what is left of limits on several rows, and for t of sliding windows. */
export const snapshots = internalQuery({
  args,
  handler: async (ctx, { requests }) =>
    await Promise.all(requests.map(({ name, key, config }) => getRateLimit(ctx, { name, key, config }))),
});

export const consume = inTables({
  take: internal.gateway.take,
  giveBack: internal.gateway.giveBack,
  snapshots: internal.gateway.snapshots,
});
