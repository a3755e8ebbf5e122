/** Functions as a user of the package writes them: every kind, in both places. */
import { v } from "convex/values";
import { vRateLimitSnapshot, vRateLimitStatus } from "convex-rate-limits/schema";
import { components } from "./_generated/api";
import { action, mutation, query } from "./_generated/server";
import { inComponent, inOther, inTables, liveInComponent, liveInTables, moved } from "./limits";

const args = { author: v.string(), body: v.string() };

export const send = mutation({
  args,
  returns: v.null(),
  handler: async (ctx, { author, body }) => {
    await inTables.rateLimit(ctx, { name: "send", key: author, throws: true });
    await ctx.db.insert("messages", { author, body });
    return null;
  },
});

export const sendViaComponent = mutation({
  args,
  returns: v.null(),
  handler: async (ctx, { author, body }) => {
    await inComponent.rateLimit(ctx, { name: "send", key: author, throws: true });
    await ctx.db.insert("messages", { author, body });
    return null;
  },
});

export const signUp = action({
  args: {},
  returns: vRateLimitStatus,
  handler: async (ctx) => await inComponent.rateLimit(ctx, { name: "signUp" }),
});

/** Each place and each instance counts separately. */
export const everywhere = mutation({
  args: {},
  returns: v.array(v.boolean()),
  handler: async (ctx) => [
    (await inTables.rateLimit(ctx, { name: "signUp" })).ok,
    (await inComponent.rateLimit(ctx, { name: "signUp" })).ok,
    (await inOther.rateLimit(ctx, { name: "signUp" })).ok,
    await ctx.runMutation(components.inner.letters.post, { body: "hello" }),
  ],
});

export const left = query({
  args: { author: v.string() },
  returns: v.object({ tables: vRateLimitSnapshot, component: vRateLimitSnapshot }),
  handler: async (ctx, { author }) => ({
    tables: await liveInTables.getRateLimit(ctx, { name: "send", key: author }),
    component: await liveInComponent.getRateLimit(ctx, { name: "send", key: author }),
  }),
});

export const config = query({ args: {}, handler: async (ctx) => (await moved.getValue(ctx, "note")).config });
