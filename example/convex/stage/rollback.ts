/** A message to several users: to all of them, or to none. */
import { defineRateLimits, MINUTE } from "convex-rate-limits";
import { ConvexError, v } from "convex/values";
import { mutation, query } from "../_generated/server.js";
import { editable, forPage } from "./rooms.js";

const limits = {
  message: {
    kind: "token bucket",
    rate: 30,
    period: MINUTE,
    capacity: 10,
    keyed: true,
  },
} as const;

const { rateLimit, exposeRateLimit } = defineRateLimits(limits);
const configOf = editable(limits);

export const broadcast = mutation({
  args: {
    room: v.string(),
    to: v.array(v.string()),
    gone: v.array(v.string()),
  },
  returns: v.number(),
  handler: async (ctx, { room, to, gone }) => {
    const config = await configOf(ctx, room, "message");
    for (const user of to) {
      await rateLimit(ctx, {
        name: "message",
        key: room,
        config,
        throws: true,
      });
      // The throw undoes what came before it: messages and tokens.
      if (gone.includes(user))
        throw new ConvexError({ kind: "NoSuchUser", user });
      await ctx.db.insert("stageMessages", { room, to: user });
    }
    return to.length;
  },
});

// For the page.

export const delivered = query({
  args: { room: v.string() },
  returns: v.array(v.string()),
  handler: async (ctx, { room }) => {
    const messages = await ctx.db
      .query("stageMessages")
      .withIndex("by_room", (q) => q.eq("room", room))
      .order("desc")
      .take(100);
    return messages.map(({ to }) => to);
  },
});

export const { getRateLimit: bucket } = exposeRateLimit(
  "message",
  forPage(configOf, "message"),
);
