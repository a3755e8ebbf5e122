/**
 * Messages between users, limited for each author.
 *
 * Here and in the other modules the caller says who the user is, so that the example runs without sign-in. An app takes the
 * user from `ctx.auth` instead: a key that the client may choose limits nobody.
 */
import { vRateLimitSnapshot } from "convex-rate-limits/schema";
import { ConvexError, v } from "convex/values";
import type { Id } from "./_generated/dataModel.js";
import { mutation, type MutationCtx, query } from "./_generated/server.js";
import { getRateLimit, rateLimit } from "./rateLimits.js";

/** A denial is thrown: the client shows it with `isRateLimitError`, and the mutation has done nothing. */
export const send = mutation({
  args: { author: v.id("users"), to: v.id("users"), body: v.string() },
  returns: v.id("messages"),
  handler: (ctx, args) => deliver(ctx, args),
});

/**
 * The same message to several users, to all of them or to none: when one has left, or the tokens run out on the way, the
 * throw rolls back the messages already delivered, and their tokens with them.
 */
export const broadcast = mutation({
  args: { author: v.id("users"), to: v.array(v.id("users")), body: v.string() },
  returns: v.array(v.id("messages")),
  handler: async (ctx, { author, to, body }) => {
    const sent: Id<"messages">[] = [];
    for (const user of to) sent.push(await deliver(ctx, { author, to: user, body }));
    return sent;
  },
});

async function deliver(
  ctx: MutationCtx,
  message: { author: Id<"users">; to: Id<"users">; body: string },
): Promise<Id<"messages">> {
  await rateLimit(ctx, { name: "sendMessage", key: message.author, throws: true });
  if (!(await ctx.db.get("users", message.to))) throw new ConvexError({ kind: "NoSuchUser", user: message.to });
  return await ctx.db.insert("messages", message);
}

/** The newest messages first. */
export const inbox = query({
  args: { user: v.id("users") },
  returns: v.array(v.object({ author: v.id("users"), body: v.string() })),
  handler: async (ctx, { user }) => {
    const messages = await ctx.db
      .query("messages")
      .withIndex("by_to", (q) => q.eq("to", user))
      .order("desc")
      .take(50);
    return messages.map(({ author, body }) => ({ author, body }));
  },
});

/** What an author has left. It does not depend on the clock; the client projects it (`projectRateLimit`). */
export const quota = query({
  args: { author: v.id("users") },
  returns: vRateLimitSnapshot,
  handler: (ctx, { author }) => getRateLimit(ctx, { name: "sendMessage", key: author }),
});
