/**
 * A geocoder that belongs to somebody else and counts our calls in windows of its own. Our windows are the same ones, and a
 * call that does not fit comes back when the next one opens.
 *
 * No order is promised here, unlike in llm.ts: the first caller after a window opens is served. A call is counted just
 * before it leaves and may arrive in the window after; an app with a strict provider sets its rate a little lower.
 */
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import { internalAction, internalMutation, internalQuery, mutation, query } from "./_generated/server.js";
import { rateLimit } from "./rateLimits.js";
import { placeFields } from "./schema.js";

export const add = mutation({
  args: { address: v.string() },
  returns: v.id("places"),
  handler: async (ctx, { address }) => {
    const place = await ctx.db.insert("places", { address });
    await ctx.scheduler.runAfter(0, internal.thirdParty.locate, { place });
    return place;
  },
});

/** An action: the component can be asked from here as well. */
export const locate = internalAction({
  args: { place: v.id("places") },
  returns: v.null(),
  handler: async (ctx, { place }): Promise<null> => {
    const status = await rateLimit(ctx, { name: "geocoder" });
    if (!status.ok) {
      await ctx.scheduler.runAt(status.retryAt, internal.thirdParty.locate, { place });
      return null;
    }
    const address: string = await ctx.runQuery(internal.thirdParty.addressOf, { place });
    const point = await callGeocoder(address);
    await ctx.runMutation(internal.thirdParty.save, { place, found: { ...point, quotaResetAt: status.resetAt } });
    return null;
  },
});

/** Stands in for the provider's API: somewhere in a town in the Black Forest. */
async function callGeocoder(address: string): Promise<{ latitude: number; longitude: number }> {
  return await Promise.resolve({ latitude: 48 + address.length / 1000, longitude: 8.2 });
}

export const addressOf = internalQuery({
  args: { place: v.id("places") },
  returns: v.string(),
  handler: async (ctx, { place }) => {
    const found = await ctx.db.get("places", place);
    if (!found) throw new Error(`There is no place ${place}.`);
    return found.address;
  },
});

export const save = internalMutation({
  args: { place: v.id("places"), found: placeFields.found },
  returns: v.null(),
  handler: async (ctx, { place, found }) => {
    await ctx.db.patch("places", place, { found });
    return null;
  },
});

/** The places that were added last. */
export const places = query({
  args: {},
  returns: v.array(v.object({ _id: v.id("places"), _creationTime: v.number(), ...placeFields })),
  handler: (ctx) => ctx.db.query("places").order("desc").take(100),
});
