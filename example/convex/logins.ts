/**
 * Logins, of which only the failed ones are limited, for each account: a user who knows the password never notices,
 * and an attacker gets five tries at once and ten more an hour.
 *
 * The key is the address that was typed, whether it has an account or not; otherwise the limit would tell which ones do. A
 * limit for each account lets a stranger lock its owner out for a while; an app adds one for each network address.
 */
import { vRateLimitSnapshot } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { internalMutation, mutation, query } from "./_generated/server.js";
import { digest } from "./passwords.js";
import { checkRateLimit, getRateLimit, rateLimit, resetRateLimit } from "./rateLimits.js";

/**
 * A failed attempt must count. So it is returned and not thrown: a throw would roll back the very token that it has cost, and
 * leave the guesser with endless tries. Check and consume are one transaction, so that guesses in parallel get no more tries.
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
      const { remaining } = await rateLimit(ctx, failedLogin);
      return { outcome: "wrong" as const, attemptsLeft: remaining };
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
