/**
 * Sign-ins with locks that grow: 1 s after the first failure, then 10 s, 1 min and 10 min. A success, or a day without a failure,
 * starts again at 1 s. The limit counts the failures of a day, and an override of the limit is the lock.
 */
import { MINUTE, SECOND } from "convex-rate-limits";
import { v } from "convex/values";
import { internalMutation, mutation, type MutationCtx } from "./_generated/server.js";
import { digest } from "./passwords.js";
import { clearRateLimitOverride, overrideRateLimit } from "./administration.js";
import { adjustRateLimit, checkRateLimit, resetRateLimit } from "./rateLimits.js";

const LOCKS_MS = [SECOND, 10 * SECOND, MINUTE, 10 * MINUTE];
/** The rate of the limit. If there are more failures in a day, the count stays at this number. */
const MOST_FAILURES = 50;

/** Locks an account after a failure, for longer than after the failure before, up to 10 min. Returns when the lock ends. */
async function lockOut(ctx: MutationCtx, key: string): Promise<number> {
  const { remaining } = await adjustRateLimit(ctx, { name: "failedSignIn", key, count: 1 });
  const failures = MOST_FAILURES - remaining;
  const until = Date.now() + (LOCKS_MS[Math.min(failures, LOCKS_MS.length) - 1] ?? 0);
  await overrideRateLimit(ctx, { name: "failedSignIn", key, block: true, until, note: `failures: ${failures}` });
  return until;
}

/** A failure is returned, not thrown: a throw would roll back the lock. */
export const signIn = mutation({
  args: { email: v.string(), password: v.string() },
  returns: v.union(
    v.object({ outcome: v.literal("welcome"), user: v.id("users") }),
    v.object({ outcome: v.union(v.literal("wrong"), v.literal("locked")), lockedUntil: v.number() }),
  ),
  handler: async (ctx, { email, password }) => {
    const failedSignIn = { name: "failedSignIn", key: email } as const;
    const status = await checkRateLimit(ctx, failedSignIn);
    if (!status.ok) return { outcome: "locked" as const, lockedUntil: status.retryAt };
    const user = await ctx.db
      .query("users")
      .withIndex("by_email", (q) => q.eq("email", email))
      .unique();
    if (user?.passwordDigest !== (await digest(email, password))) {
      return { outcome: "wrong" as const, lockedUntil: await lockOut(ctx, email) };
    }
    await resetRateLimit(ctx, failedSignIn);
    return { outcome: "welcome" as const, user: user._id };
  },
});

/** For the support desk: removes the lock and resets the count of failures. */
export const unlock = internalMutation({
  args: { email: v.string() },
  returns: v.null(),
  handler: async (ctx, { email }) => {
    await clearRateLimitOverride(ctx, { name: "failedSignIn", key: email });
    await resetRateLimit(ctx, { name: "failedSignIn", key: email });
    return null;
  },
});
