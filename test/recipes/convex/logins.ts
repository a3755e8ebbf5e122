// convex/logins.ts
import { ConvexError, v } from "convex/values";
import { internal } from "./_generated/api";
import { action, internalMutation } from "./_generated/server";
import { limits } from "./limits";

const outcome = v.union(v.literal("welcome"), v.literal("wrong password"), v.literal("locked"));

/** Returns what went wrong: a throw would take back the very token that the attempt has cost. */
export const attempt = internalMutation({
  args: { email: v.string(), password: v.string() },
  returns: outcome,
  handler: async (ctx, { email, password }) => {
    const failedLogin = { name: "failedLogin", key: email } as const;
    if (!(await limits.rateLimit(ctx, failedLogin)).ok) return "locked";
    const user = await ctx.db
      .query("users")
      .withIndex("by_email", (q) => q.eq("email", email))
      .unique();
    if (user?.password !== password) return "wrong password";
    await limits.resetRateLimit(ctx, failedLogin);
    return "welcome";
  },
});

/** An action throws after the mutation has committed, so that the client gets an error and the attempt has counted. */
export const logIn = action({
  args: { email: v.string(), password: v.string() },
  returns: v.null(),
  handler: async (ctx, credentials): Promise<null> => {
    const result: string = await ctx.runMutation(internal.logins.attempt, credentials);
    if (result !== "welcome") throw new ConvexError({ kind: result });
    return null;
  },
});
