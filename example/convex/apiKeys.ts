/** API keys for the HTTP API. A key is shown once; only its hash is stored. */
import { hashKey } from "convex-rate-limits/component";
import { ConvexError, v } from "convex/values";
import { internal } from "./_generated/api";
import { action, internalMutation, internalQuery } from "./_generated/server";
import { callerOf, planOf } from "./callers";
import { vPlan } from "./schema";

/** An action, because the random numbers of a mutation must not be secrets: Convex may run it again with the same ones. */
export const issue = action({
  args: {},
  returns: v.string(),
  handler: async (ctx) => {
    const caller = await callerOf(ctx);
    const key = crypto.randomUUID();
    await ctx.runMutation(internal.apiKeys.add, { caller, hash: await hashKey(key) });
    return key;
  },
});

export const add = internalMutation({
  args: { caller: v.string(), hash: v.string() },
  returns: v.null(),
  handler: async (ctx, { caller, hash }) => {
    const own = await ctx.db
      .query("apiKeys")
      .withIndex("by_caller", (q) => q.eq("caller", caller))
      .take(5);
    if (own.length === 5) throw new ConvexError({ kind: "TooManyKeys", atMost: 5 });
    await ctx.db.insert("apiKeys", { caller, hash });
    return null;
  },
});

/** The owner of a key and the owner's plan; null for a key that was not issued. */
export const find = internalQuery({
  args: { hash: v.string() },
  returns: v.union(v.object({ caller: v.string(), plan: vPlan }), v.null()),
  handler: async (ctx, { hash }) => {
    const key = await ctx.db
      .query("apiKeys")
      .withIndex("by_hash", (q) => q.eq("hash", hash))
      .unique();
    return key && { caller: key.caller, plan: await planOf(ctx, key.caller) };
  },
});
