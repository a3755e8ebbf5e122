/**
 * Logins, limited for each account. Only failed ones count: a user who knows the password never notices the limit. An attacker
 * gets five tries at once and ten more an hour.
 *
 * The key is the email address that was typed, with or without an account. Otherwise the limit would show which addresses have
 * one. A limit for each account lets a stranger lock its owner out for a while, so an app adds a limit for each network address.
 */
import { vRateLimitSnapshot } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { internalMutation, mutation, query } from "./_generated/server.js";
import { digest } from "./passwords.js";
import { checkRateLimit, getRateLimit, rateLimit, resetRateLimit } from "./rateLimits.js";

/**
 * A failed attempt is returned, not thrown: a throw would roll back the token that the attempt cost, and guesses would be free.
 * Check and charge are one transaction, so parallel guesses get no extra tries.
 */
export const logIn = mutation({
  args: { email: v.string(), password: v.string() },
  returns: v.union(
    v.object({ outcome: v.literal("welcome"), user: v.id("users") }),
    v.object({ outcome: v.literal("wrong"), attemptsLeft: v.number() }),
    v.object({ outcome: v.literal("locked"), retryAt: v.number() }),
  ),
  handler: async (ctx, { email, password }) => {
    const failedLogin = { name: "failedLogin", key: email } as const;

    const allowed = await checkRateLimit(ctx, failedLogin);
    if (!allowed.ok) return { outcome: "locked" as const, retryAt: allowed.retryAt };

    const user = await ctx.db
      .query("users")
      .withIndex("by_email", (q) => q.eq("email", email))
      .unique();
    if (user?.passwordDigest !== (await digest(email, password))) {
      const status = await rateLimit(ctx, failedLogin);
      return { outcome: "wrong" as const, attemptsLeft: status.remaining };
    }

    await resetRateLimit(ctx, failedLogin);
    return { outcome: "welcome" as const, user: user._id };
  },
});

/** For the support desk, or for the link in a "reset my password" mail. */
export const unlock = internalMutation({
  args: { email: v.string() },
  returns: v.null(),
  handler: (ctx, { email }) => resetRateLimit(ctx, { name: "failedLogin", key: email }),
});

export const attempts = query({
  args: { email: v.string() },
  returns: vRateLimitSnapshot,
  handler: (ctx, { email }) => getRateLimit(ctx, { name: "failedLogin", key: email }),
});
