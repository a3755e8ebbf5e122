// convex/lockouts.ts
import { MINUTE, SECOND } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { v } from "convex/values";
import { mutation, type MutationCtx } from "./_generated/server";
import { limits } from "./limits";

const { overrideRateLimit } = rateLimitAdmin(limits);

const LOCKS_MS = [SECOND, 10 * SECOND, MINUTE, 10 * MINUTE];
/** The rate of the limit. */
const MOST_FAILURES = 50;

/** After a failure: locks for longer than the one before did. Returns until when. */
async function lockOut(ctx: MutationCtx, key: string): Promise<number> {
  const { remaining } = await limits.adjustRateLimit(ctx, { name: "failedSignIn", key, count: 1 });
  const failures = MOST_FAILURES - remaining;
  const until = Date.now() + (LOCKS_MS[Math.min(failures, LOCKS_MS.length) - 1] ?? 0);
  await overrideRateLimit(ctx, { name: "failedSignIn", key, block: true, until, note: `failures: ${failures}` });
  return until;
}

/** Returns the failure: a throw would take the lock back. */
export const signIn = mutation({
  args: { email: v.string(), password: v.string() },
  returns: v.object({ ok: v.boolean(), lockedUntil: v.optional(v.number()) }),
  handler: async (ctx, { email, password }) => {
    const failedSignIn = { name: "failedSignIn", key: email } as const;
    const status = await limits.checkRateLimit(ctx, failedSignIn);
    if (!status.ok) return { ok: false, lockedUntil: status.retryAt };
    const user = await ctx.db
      .query("users")
      .withIndex("by_email", (q) => q.eq("email", email))
      .unique();
    if (user?.password !== password) return { ok: false, lockedUntil: await lockOut(ctx, email) };
    await limits.resetRateLimit(ctx, failedSignIn);
    return { ok: true };
  },
});
