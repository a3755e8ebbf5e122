/** Calls a month. The customer's plan says how many. */
import { defineRateLimits } from "convex-rate-limits";
import { rateLimitLive } from "convex-rate-limits/live";
import { vRateLimitStatus } from "convex-rate-limits/schema";
import { v } from "convex/values";
import type { DataModel } from "../_generated/dataModel.js";
import { mutation, type QueryCtx } from "../_generated/server.js";
import { roomOf } from "./rooms.js";
import { vPlan } from "./tables.js";

export const limits = {
  calls: {
    kind: "fixed window",
    period: "month",
    timeZone: "America/Los_Angeles",
    keyed: true,
    plans: { free: { rate: 100 }, pro: { rate: 1000 } },
  },
} as const;
const defined = defineRateLimits(limits);
const { rateLimit } = defined;
const { exposeRateLimit } = rateLimitLive(defined);

export const call = mutation({
  args: { room: v.string(), count: v.number() },
  returns: vRateLimitStatus,
  handler: async (ctx, { room, count }) => {
    const plan = await planOf(ctx, room);
    return await rateLimit(ctx, {
      name: "calls",
      key: room,
      count,
      plan,
      throws: false,
    });
  },
});

/** An app checks who pays. Calls already used stay used. */
export const choose = mutation({
  args: { room: v.string(), plan: vPlan },
  returns: v.null(),
  handler: async (ctx, { room, plan }) => {
    const customer = await customerOf(ctx, room);
    if (customer)
      await ctx.db.patch("stageCustomers", customer._id, {
        plan,
      });
    else
      await ctx.db.insert("stageCustomers", {
        room: roomOf(ctx, room),
        plan,
      });
    return null;
  },
});

/** The page reads the quota. The server looks up the plan. */
export const { getRateLimit: quota } = exposeRateLimit<
  "calls",
  DataModel
>("calls", {
  key: roomOf,
  plan: (ctx, room = "") => planOf(ctx, room),
});

async function planOf(ctx: QueryCtx, room: string) {
  return (await customerOf(ctx, room))?.plan ?? "free";
}

// For the page.

function customerOf(ctx: QueryCtx, room: string) {
  return ctx.db
    .query("stageCustomers")
    .withIndex("by_room", (q) => q.eq("room", room))
    .unique();
}
