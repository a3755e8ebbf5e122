// convex/geocoder.ts
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { internalAction, internalMutation, mutation } from "./_generated/server";
import { limits } from "./limits";

/** The call is scheduled for a moment at which it keeps to the provider's limit; it does not ask again. */
export const locate = mutation({
  args: { address: v.string() },
  returns: v.union(v.object({ calledAt: v.number() }), v.object({ retryAt: v.number() })),
  handler: async (ctx, { address }): Promise<{ calledAt: number } | { retryAt: number }> => {
    const place = await ctx.db.insert("places", { address });
    const call = await limits.scheduleRateLimited(ctx, { name: "geocoder" }, internal.geocoder.call, {
      place,
      address,
    });
    if (call.ok) return { calledAt: call.runAt };
    await ctx.db.delete("places", place);
    return { retryAt: call.retryAt };
  },
});

export const call = internalAction({
  args: { place: v.id("places"), address: v.string() },
  returns: v.null(),
  handler: async (ctx, { place, address }) => {
    const answer = await fetch(`https://geocoder.example/?q=${encodeURIComponent(address)}`);
    await ctx.runMutation(internal.geocoder.save, { place, found: await answer.text() });
    return null;
  },
});

export const save = internalMutation({
  args: { place: v.id("places"), found: v.string() },
  returns: v.null(),
  handler: async (ctx, { place, found }) => {
    await ctx.db.patch("places", place, { found });
    return null;
  },
});
