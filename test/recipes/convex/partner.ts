// convex/partner.ts
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { internalAction, mutation } from "./_generated/server";
import { limits } from "./limits";

export const notify = mutation({
  args: { events: v.array(v.string()) },
  returns: v.null(),
  handler: async (ctx, { events }): Promise<null> => {
    for (const event of events) {
      const call = await limits.scheduleRateLimited(ctx, { name: "partner" }, internal.partner.send, { event });
      // All of them or none: the throw takes back the jobs already scheduled, and their tokens.
      if (!call.ok) throw new Error(`The queue is full until ${new Date(call.retryAt).toISOString()}.`);
    }
    return null;
  },
});

export const send = internalAction({
  args: { event: v.string() },
  returns: v.null(),
  handler: async (_ctx, { event }) => {
    await fetch("https://partner.example/events", { method: "POST", body: event });
    return null;
  },
});
