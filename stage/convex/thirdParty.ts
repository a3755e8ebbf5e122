/**
 * A third party's geocoder, which counts our calls in fixed windows. Our windows are the same, and a call that does not fit runs
 * again when the next one opens.
 *
 * Unlike llm.ts, this promises no order: the first call after a window opens is served. A call is counted just before it is
 * sent, and may arrive in the next window. For a strict provider, set the rate a little lower.
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

/** An action, which can also ask a limit in the component. */
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

/** Stands in for the provider's API: returns a point in a town in the Black Forest. */
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

/** The 100 places that were added last, newest first. */
export const places = query({
  args: {},
  returns: v.array(v.object({ _id: v.id("places"), _creationTime: v.number(), ...placeFields })),
  handler: (ctx) => ctx.db.query("places").order("desc").take(100),
});
