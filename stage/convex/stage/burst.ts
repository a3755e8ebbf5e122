/** The usual limit: a burst, then a steady rate. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import { rateLimitLive } from "convex-rate-limits/live";
import { vRateLimitStatus } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { mutation, query } from "../_generated/server.js";
import { editable, forPage } from "./rooms.js";

export const limits = {
  send: {
    kind: "token bucket",
    rate: 2,
    period: SECOND,
    capacity: 10,
    maxReserved: 10,
    keyed: true,
  },
} as const;

const defined = defineRateLimits(limits);
const { rateLimit, resetRateLimit } = defined;
const { getRateLimit, exposeRateLimit } = rateLimitLive(defined);
const configOf = editable(limits);

export const send = mutation({
  args: {
    room: v.string(),
    count: v.optional(v.number()),
    reserve: v.boolean(),
  },
  returns: vRateLimitStatus,
  handler: async (ctx, { room, count = 5, reserve }) => {
    const config = await configOf(ctx, room, "send");
    const status = await rateLimit(ctx, {
      name: "send",
      key: room,
      count,
      reserve,
      config,
      throws: false,
    });
    // A denial has written nothing.
    if (!status.ok) return status;
    await ctx.db.insert("stageMessages", {
      room,
      to: "everyone",
    });
    return status;
  },
});

// For the page.

/** The answer of the bucket at the time `now`. It takes no tokens. */
export const answerAt = query({
  args: { room: v.string(), count: v.number(), now: v.number() },
  returns: vRateLimitStatus,
  handler: async (ctx, { room, count, now }) => {
    const config = await configOf(ctx, room, "send");
    const bucket = { name: "send", key: room, config } as const;
    const snapshot = await getRateLimit(ctx, bucket);
    const { value: _, ...status } = projectRateLimit(snapshot, {
      now,
      count,
    });
    return status;
  },
});

export const reset = mutation({
  args: { room: v.string() },
  returns: v.null(),
  handler: (ctx, { room }) =>
    resetRateLimit(ctx, { name: "send", key: room }),
});

export const { getRateLimit: bucket, getServerTime } =
  exposeRateLimit("send", forPage(configOf, "send"));
