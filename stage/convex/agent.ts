/**
 * An agent whose tasks wait in a queue. Paying users go first, and users of one plan take turns. If a task is cancelled, the tasks
 * behind it move up.
 */
import { vRateLimitQueuePosition } from "convex-rate-limits/queue/schema";
import { ConvexError, v } from "convex/values";
import { internal } from "./_generated/api.js";
import { internalMutation, mutation, query } from "./_generated/server.js";
import { cancelQueued, enqueueRateLimited, getQueued } from "./queues.js";

export const ask = mutation({
  args: { user: v.id("users"), tokens: v.number() },
  returns: v.id("agentTasks"),
  handler: async (ctx, { user, tokens }) => {
    const asking = await ctx.db.get("users", user);
    const task = await ctx.db.insert("agentTasks", { user, tokens });
    const priority = asking?.plan === "pro" ? 1 : 0;
    const enqueued = await enqueueRateLimited(
      ctx,
      { name: "agentTokens", count: tokens, priority, fairBy: user, settles: "mutation" },
      internal.agent.run,
      { task },
    );
    if (!enqueued.ok) throw new ConvexError({ kind: "QueueIsFull", retryAt: enqueued.retryAt });
    await ctx.db.patch("agentTasks", task, { job: enqueued.job });
    return task;
  },
});

/** Cancels a waiting task. Returns false if it is too late: in the last second before a task starts, and after it. */
export const cancel = mutation({
  args: { task: v.id("agentTasks") },
  returns: v.boolean(),
  handler: async (ctx, { task }) => {
    const job = (await ctx.db.get("agentTasks", task))?.job;
    if (!job) throw new ConvexError({ kind: "NoSuchTask", task });
    return (await cancelQueued(ctx, job)).canceled;
  },
});

export const position = query({
  args: { task: v.id("agentTasks") },
  returns: v.union(vRateLimitQueuePosition, v.null()),
  handler: async (ctx, { task }) => {
    const job = (await ctx.db.get("agentTasks", task))?.job;
    return job ? await getQueued(ctx, job) : null;
  },
});

/** Stands in for the model: it uses half of the estimated tokens. The worker gives back the rest. */
export const run = internalMutation({
  args: { task: v.id("agentTasks") },
  returns: v.object({ used: v.number() }),
  handler: async (ctx, { task }) => {
    const asked = await ctx.db.get("agentTasks", task);
    if (!asked || asked.startedAt !== undefined) throw new Error(`Task ${task} is not waiting.`);
    await ctx.db.patch("agentTasks", task, { startedAt: Date.now() });
    return { used: Math.ceil(asked.tokens / 2) };
  },
});

/** A user's first 500 tasks, oldest first. */
export const tasks = query({
  args: { user: v.id("users") },
  returns: v.array(v.object({ tokens: v.number(), startedAt: v.optional(v.number()) })),
  handler: async (ctx, { user }) => {
    const own = ctx.db.query("agentTasks").withIndex("by_user", (q) => q.eq("user", user));
    return (await own.take(500)).map(({ tokens, startedAt }) => ({
      tokens,
      ...(startedAt !== undefined && { startedAt }),
    }));
  },
});
