/** Calls of a language model wait in a queue, and run again when the provider answers 429. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitLive } from "convex-rate-limits/live";
import { rateLimitQueue } from "convex-rate-limits/queue";
import { ConvexError, v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { DataModel } from "../_generated/dataModel.js";
import {
  internalAction,
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
      queue: { attempts: 5 },
    },
  },
  { queueModule: "stage/queue" },
);
const { adjustRateLimit, pauseRateLimit, resetRateLimit } =
  limits;
const {
  enqueueRateLimited,
  cancelQueued,
  exposeQueue,
  exposeQueueWorker,
} = rateLimitQueue(limits);

/** Any number of callers can ask at once without a conflict. */
export const ask = mutation({
  args: {
    room: v.string(),
    // From the page: reading the last number would conflict.
    first: v.number(),
    jobs: v.number(),
    tokens: v.number(),
  },
  returns: v.null(),
  handler: async (ctx, args): Promise<null> => {
    const { room, first, tokens } = args;
    const key = roomOf(ctx, room);
    const jobs = Math.min(args.jobs, MOST_AT_ONCE);
    for (let i = 0; i < jobs; i++) {
      const task = await ctx.db.insert("stageTasks", {
        room,
        number: first + i,
        tokens,
      });
      const enqueued = await enqueueRateLimited(
        ctx,
        {
          name: "queuedModel",
          key,
          count: tokens,
          settles: "action",
        },
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

/** Jobs behind it move up. Too late from 1 s before it starts. */
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

/** Live: the jobs ahead, and the start if nothing changes. */
export const { getQueued } = exposeQueue<DataModel>({
  job: async (ctx, requested) => {
    const task = ctx.db.normalizeId("stageTasks", requested);
    const found = task && (await ctx.db.get("stageTasks", task));
    return found?.job ?? null;
  },
});

/** The work itself. It runs in turn, when its tokens are paid. */
export const run = internalAction({
  args: { task: v.id("stageTasks") },
  returns: v.object({
    used: v.number(),
    again: v.optional(v.boolean()),
  }),
  handler: async (ctx, { task }): Promise<Settlement> => {
    const { provider, pause } = internal.stage.queue;
    const { status, ...answer } = await ctx.runMutation(
      provider,
      { task },
    );
    if (status === 200) return { used: answer.tokens };
    const until = answer.retryAt;
    await ctx.runMutation(pause, { task, until });
    // The job pays again, and keeps its place in the queue.
    return { used: 0, again: true };
  },
});

/** No job starts before the provider accepts calls again. */
export const pause = internalMutation({
  args: { task: v.id("stageTasks"), until: v.number() },
  returns: v.null(),
  handler: async (ctx, { task, until }) => {
    const asked = await ctx.db.get("stageTasks", task);
    if (!asked) return null;
    const { room: key, denied = 0 } = asked;
    await pauseRateLimit(ctx, {
      name: "queuedModel",
      key,
      until,
    });
    await ctx.db.patch("stageTasks", task, {
      denied: denied + 1,
    });
    return null;
  },
});

export const { workQueue, runQueuedAction } = exposeQueueWorker();

// For the page.

const MOST_AT_ONCE = 100;
const SHOWN_TASKS = 6;

interface Settlement {
  used: number;
  again?: boolean;
}

/** Stands in for the provider's API. It answers at once, with a 429 while the page wants one. */
export const provider = internalMutation({
  args: { task: v.id("stageTasks") },
  returns: v.object({
    status: v.union(v.literal(200), v.literal(429)),
    tokens: v.number(),
    retryAt: v.number(),
  }),
  handler: async (ctx, { task }) => {
    const now = Date.now();
    const asked = await ctx.db.get("stageTasks", task);
    if (!asked)
      return { status: 200 as const, tokens: 0, retryAt: now };
    const { room, number, tokens } = asked;
    const retryAt = (await busyOf(ctx, room))?.until ?? now;
    if (now < retryAt)
      return { status: 429 as const, tokens: 0, retryAt };
    await ctx.db.patch("stageTasks", task, { startedAt: now });
    // Delete the tasks that the page no longer shows.
    const past = await ctx.db
      .query("stageTasks")
      .withIndex("by_room_number", (q) =>
        q.eq("room", room).lte("number", number - SHOWN_TASKS),
      )
      .take(SHOWN_TASKS);
    for (const { _id } of past)
      await ctx.db.delete("stageTasks", _id);
    return { status: 200 as const, tokens, retryAt };
  },
});

/** From now on the provider answers 429. */
export const breakProvider = mutation({
  args: { room: v.string(), ms: v.number() },
  returns: v.null(),
  handler: async (ctx, { room, ms }) => {
    const until = Date.now() + ms;
    const busy = await busyOf(ctx, roomOf(ctx, room));
    if (busy)
      await ctx.db.patch("stageProviders", busy._id, { until });
    else await ctx.db.insert("stageProviders", { room, until });
    return null;
  },
});

/** Until when the provider answers 429. */
export const busyUntil = query({
  args: { room: v.string() },
  returns: v.number(),
  handler: async (ctx, { room }) =>
    (await busyOf(ctx, room))?.until ?? 0,
});

function busyOf(ctx: QueryCtx, room: string) {
  return ctx.db
    .query("stageProviders")
    .withIndex("by_room", (q) => q.eq("room", room))
    .unique();
}

/** The latest jobs, oldest first. */
export const tasks = query({
  args: { room: v.string() },
  returns: v.array(
    v.object({ _id: v.id("stageTasks"), ...taskFields }),
  ),
  handler: async (ctx, { room }) => {
    const latest = await ctx.db
      .query("stageTasks")
      .withIndex("by_room_number", (q) => q.eq("room", room))
      .order("desc")
      .take(SHOWN_TASKS);
    return latest.reverse().map(({ _id, ...task }) => ({
      _id,
      room: task.room,
      number: task.number,
      tokens: task.tokens,
      startedAt: task.startedAt,
      isCancelled: task.isCancelled,
      denied: task.denied,
    }));
  },
});

/** Another client takes tokens from the same bucket, without asking. */
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

/** The bucket itself, with the end of its pause. */
export const { getRateLimit: bucket } = rateLimitLive(
  limits,
).exposeRateLimit("queuedModel", { key: roomOf });

/** Makes the bucket full again. */
export const reset = mutation({
  args: { room: v.string() },
  returns: v.null(),
  handler: (ctx, { room }) =>
    resetRateLimit(ctx, { name: "queuedModel", key: room }),
});
