/** Queues in the component: callers join, leave and ask; the worker runs by itself. The wire is not trusted. */
import { v } from "convex/values";
import * as joining from "../src/queue/enqueue.js";
import { parseJob } from "../src/queue/job.js";
import * as position from "../src/queue/position.js";
import { registeredQueue } from "../src/queue/registered.js";
import { wake as wakeWorker, workerFunctionsIn } from "../src/queue/start.js";
import { parseQueue } from "../src/queue/terms.js";
import {
  enqueueArgs,
  queueArgs,
  vCancelQueuedResult,
  vEnqueueResult,
  vRateLimitQueuePosition,
} from "../src/queue/wire.js";
import { bucketArgs } from "../src/validators.js";
import { mutation, query } from "./_generated/server.js";

const functions = workerFunctionsIn("queue");

export const enqueue = mutation({
  args: enqueueArgs,
  returns: vEnqueueResult,
  handler: (ctx, { fn, args, ...asked }) => {
    const queue = parseQueue(asked);
    return joining.enqueue(ctx, queue, parseJob(queue, asked, fn, args), functions);
  },
});

export const cancel = mutation({
  args: { ...queueArgs, id: v.string() },
  returns: vCancelQueuedResult,
  handler: (ctx, { id, ...args }) => joining.cancel(ctx, parseQueue(args), id, functions),
});

export const get = query({
  args: { ...queueArgs, id: v.string() },
  returns: v.union(vRateLimitQueuePosition, v.null()),
  handler: (ctx, { id, ...args }) => position.get(ctx, parseQueue(args), id),
});

/** Tokens have come back: what waits may be paid earlier. */
export const wake = mutation({
  args: bucketArgs,
  returns: v.null(),
  handler: (ctx, bucket) => wakeWorker(ctx, bucket, functions),
});

export const { workQueue, findArrivals, runQueuedMutation, runQueuedAction, settleQueued } = registeredQueue("queue");
