/** Messages, limited for each author. */
import { ConvexError, v } from "convex/values";
import { internalQuery, mutation, query, type QueryCtx } from "./_generated/server";
import { callerOf } from "./callers";
import { exposeRateLimit, limits } from "./limits";

/** A denial is thrown, and the client recognises it (`isRateLimitError`). A message that is too long costs nothing. */
export const send = mutation({
  args: { body: v.string() },
  returns: v.null(),
  handler: async (ctx, { body }) => {
    const author = await callerOf(ctx);
    await limits.rateLimit(ctx, { name: "sendMessage", key: author, throws: true });
    if (body === "" || body.length > 500) throw new ConvexError({ kind: "BadLength", atMost: 500 });
    await ctx.db.insert("messages", { author, body });
    return null;
  },
});

export const latest = query({
  args: {},
  returns: v.array(v.object({ author: v.string(), body: v.string() })),
  handler: async (ctx) => {
    await callerOf(ctx);
    return await latestMessages(ctx, 20);
  },
});

/** For the HTTP API, whose callers have no identity. */
export const page = internalQuery({
  args: { count: v.number() },
  returns: v.array(v.object({ author: v.string(), body: v.string() })),
  handler: async (ctx, { count }) => await latestMessages(ctx, count),
});

async function latestMessages(ctx: QueryCtx, count: number) {
  const messages = await ctx.db.query("messages").order("desc").take(count);
  return messages.map(({ author, body }) => ({ author, body }));
}

/** What the page shows: the caller's own bucket, and the server's clock. */
export const { getRateLimit, getServerTime } = exposeRateLimit("sendMessage", { key: callerOf });
