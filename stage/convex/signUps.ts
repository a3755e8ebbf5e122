/** Sign-ups: a fixed number an hour for the whole app. */
import { vRateLimitSnapshot } from "convex-rate-limits/schema";
import { ConvexError, v } from "convex/values";
import { mutation, query } from "./_generated/server.js";
import { digest } from "./passwords.js";
import { getRateLimit, rateLimit } from "./rateLimits.js";

/**
 * A denial is returned, and the sign-up page shows it: come back at `retryAt`. An address that is taken throws, so it costs no
 * sign-up.
 */
export const signUp = mutation({
  args: { email: v.string(), password: v.string() },
  returns: v.union(
    v.object({ ok: v.literal(true), user: v.id("users") }),
    v.object({ ok: v.literal(false), retryAt: v.number() }),
  ),
  handler: async (ctx, { email, password }) => {
    const status = await rateLimit(ctx, { name: "signUp" });
    if (!status.ok) return { ok: false as const, retryAt: status.retryAt };

    const taken = await ctx.db
      .query("users")
      .withIndex("by_email", (q) => q.eq("email", email))
      .unique();
    if (taken) throw new ConvexError({ kind: "EmailTaken", email });

    const passwordDigest = await digest(email, password);
    const user = await ctx.db.insert("users", { email, passwordDigest, plan: "free" });
    return { ok: true as const, user };
  },
});

/** Closes an account. This does not give a sign-up back. */
export const close = mutation({
  args: { user: v.id("users") },
  returns: v.null(),
  handler: async (ctx, { user }) => {
    await ctx.db.delete("users", user);
    return null;
  },
});

export const quota = query({
  args: {},
  returns: vRateLimitSnapshot,
  handler: (ctx) => getRateLimit(ctx, { name: "signUp" }),
});
