/** Jobs for a language model wait in a queue: no moment is promised, so they move up. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitQueue } from "convex-rate-limits/queue";
import { ConvexError, v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { DataModel } from "../_generated/dataModel.js";
import {
  internalMutation,
  mutation,
  query,
  type QueryCtx,
} from "../_generated/server.js";
import { roomOf } from "./rooms.js";
import { taskFields } from "./tables.js";

const limits = defineRateLimits(
  {
    queuedModel: {
      kind: "token bucket",
      rate: 20,
      period: SECOND,
      capacity: 100,
      keyed: true,
      queue: {},
    },
  },
  { queueModule: "stage/queue" },
);
const { adjustRateLimit, resetRateLimit } = limits;
const {
  enqueueRateLimited,
  cancelQueued,
  exposeQueue,
  exposeQueueWorker,
} = rateLimitQueue(limits);

/** Some jobs of so many tokens each: one transaction, and no conflicts with others who ask. */
export const ask = mutation({
  args: {
    room: v.string(),
    tokens: v.number(),
    jobs: v.number(),
  },
  returns: v.null(),
  handler: async (ctx, { room, tokens, jobs }): Promise<null> => {
    const key = roomOf(ctx, room);
    const latest = await latestOf(ctx, room).first();
    const last = latest?.number ?? 0;
    const most = last + Math.min(jobs, MOST_AT_ONCE);
    for (let number = last + 1; number <= most; number++) {
      const task = await ctx.db.insert("stageTasks", {
        room,
        number,
        tokens,
      });
      const enqueued = await enqueueRateLimited(
        ctx,
        { name: "queuedModel", key, count: tokens },
        internal.stage.queue.run,
        { task },
      );
      if (!enqueued.ok)
        throw new ConvexError({ kind: "QueueIsFull" });
      const { job } = enqueued;
      await ctx.db.patch("stageTasks", task, { job });
    }
    return null;
  },
});

/** Those behind it move up. Too late for one that starts within a second. */
export const cancel = mutation({
  args: { task: v.id("stageTasks") },
  returns: v.boolean(),
  handler: async (ctx, { task }) => {
    const { job } = (await ctx.db.get("stageTasks", task)) ?? {};
    if (!job) throw new ConvexError({ kind: "NoSuchTask" });
    const { canceled } = await cancelQueued(ctx, job);
    if (canceled)
      await ctx.db.patch("stageTasks", task, {
        isCancelled: true,
      });
    return canceled;
  },
});

/** Live: how many go first, and when it starts if nothing changes. */
export const { getQueued } = exposeQueue<DataModel>({
  job: async (ctx, requested) => {
    const task = ctx.db.normalizeId("stageTasks", requested);
    const found = task && (await ctx.db.get("stageTasks", task));
    return found?.job ?? null;
  },
});

/** The work itself, when its tokens are there and its turn has come. */
export const run = internalMutation({
  args: { task: v.id("stageTasks") },
  returns: v.null(),
  handler: async (ctx, { task }) => {
    const now = Date.now();
    const started = await ctx.db.get("stageTasks", task);
    if (!started) return null;
    await ctx.db.patch("stageTasks", task, { startedAt: now });
    // Those that are over and long past go.
    const { room, number } = started;
    const past = await ctx.db
      .query("stageTasks")
      .withIndex("by_room_number", (q) =>
        q.eq("room", room).lte("number", number - SHOWN_TASKS),
      )
      .take(SHOWN_TASKS);
    for (const { _id } of past)
      await ctx.db.delete("stageTasks", _id);
    return null;
  },
});

export const { workQueue, findArrivals, runQueuedAction } =
  exposeQueueWorker();

// For the page.

const MOST_AT_ONCE = 1000;
const SHOWN_TASKS = 6;

/** The latest jobs, oldest first. */
export const tasks = query({
  args: { room: v.string() },
  returns: v.array(
    v.object({ _id: v.id("stageTasks"), ...taskFields }),
  ),
  handler: async (ctx, { room }) => {
    const latest = await latestOf(ctx, room).take(SHOWN_TASKS);
    return latest.reverse().map(({ _id, ...task }) => ({
      _id,
      room: task.room,
      number: task.number,
      tokens: task.tokens,
      startedAt: task.startedAt,
      isCancelled: task.isCancelled,
    }));
  },
});

/** Somebody else takes tokens from the same bucket, without asking. */
export const spend = mutation({
  args: { room: v.string(), tokens: v.number() },
  returns: v.null(),
  handler: async (ctx, { room, tokens }) => {
    await adjustRateLimit(ctx, {
      name: "queuedModel",
      key: roomOf(ctx, room),
      count: tokens,
    });
    return null;
  },
});

/** The bucket is full again. */
export const reset = mutation({
  args: { room: v.string() },
  returns: v.null(),
  handler: (ctx, { room }) =>
    resetRateLimit(ctx, { name: "queuedModel", key: room }),
});

function latestOf(ctx: QueryCtx, room: string) {
  return ctx.db
    .query("stageTasks")
    .withIndex("by_room_number", (q) => q.eq("room", room))
    .order("desc");
}
