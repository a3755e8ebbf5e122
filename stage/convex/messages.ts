/**
 * Messages between users, limited for each author.
 *
 * In this and the other modules the client passes the user, so that the example runs without sign-in. An app takes the user
 * from `ctx.auth` instead: a key that the client may choose limits nobody.
 */
import { vRateLimitSnapshot } from "convex-rate-limits/schema";
import { ConvexError, v } from "convex/values";
import type { Id } from "./_generated/dataModel.js";
import { mutation, type MutationCtx, query } from "./_generated/server.js";
import { getRateLimit, rateLimit } from "./rateLimits.js";

/** A denial is thrown. The client recognises it with `isRateLimitError`, and the mutation has written nothing. */
export const send = mutation({
  args: { author: v.id("users"), to: v.id("users"), body: v.string() },
  returns: v.id("messages"),
  handler: (ctx, args) => deliver(ctx, args),
});

/**
 * Sends one message to several users: to all or to none. If a user has left, or the tokens run out midway, the throw rolls
 * back the messages already delivered, with their tokens.
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

/** The state of an author's bucket. It does not depend on the clock; the client projects it (`projectRateLimit`). */
export const quota = query({
  args: { author: v.id("users") },
  returns: vRateLimitSnapshot,
  handler: (ctx, { author }) => getRateLimit(ctx, { name: "sendMessage", key: author }),
});
