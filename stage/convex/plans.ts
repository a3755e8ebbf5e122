/**
 * Reports: a paying user may make more of them. One limit has one bucket for each user. Each call passes the user's plan, so a
 * new plan applies from the next call on, and tokens that were used before stay used.
 */
import { vRateLimitSnapshot } from "convex-rate-limits/schema";
import { ConvexError, v } from "convex/values";
import type { Id } from "./_generated/dataModel.js";
import { mutation, query, type QueryCtx } from "./_generated/server.js";
import { getRateLimit, rateLimit } from "./rateLimits.js";
import { vPlan } from "./schema.js";

/** The limit, the key and the user's current plan, for a call. */
async function reportsOf(ctx: QueryCtx, id: Id<"users">) {
  const user = await ctx.db.get("users", id);
  if (!user) throw new ConvexError({ kind: "NoSuchUser", user: id });
  return { name: "report" as const, key: id, plan: user.plan };
}

export const makeReport = mutation({
  args: { user: v.id("users"), title: v.string() },
  returns: v.union(
    v.object({ ok: v.literal(true), left: v.number() }),
    v.object({ ok: v.literal(false), retryAt: v.number() }),
  ),
  handler: async (ctx, { user, title }) => {
    const status = await rateLimit(ctx, await reportsOf(ctx, user));
    if (!status.ok) return { ok: false as const, retryAt: status.retryAt };
    await ctx.db.insert("reports", { user, title });
    return { ok: true as const, left: status.remaining };
  },
});

/** Changes a user's plan. An app would also charge the money. */
export const changePlan = mutation({
  args: { user: v.id("users"), plan: vPlan },
  returns: v.null(),
  handler: async (ctx, { user, plan }) => {
    await ctx.db.patch("users", user, { plan });
    return null;
  },
});

export const quota = query({
  args: { user: v.id("users") },
  returns: vRateLimitSnapshot,
  handler: async (ctx, { user }) => getRateLimit(ctx, await reportsOf(ctx, user)),
});
