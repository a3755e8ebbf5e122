/** Queues in the component: callers join, leave and ask; the worker runs by itself. The wire is not trusted. */
import { v } from "convex/values";
import * as joining from "../src/queue/enqueue.js";
import { parseJob } from "../src/queue/job.js";
import * as position from "../src/queue/position.js";
import { registeredQueue } from "../src/queue/registered.js";
import { workerFunctionsIn } from "../src/queue/start.js";
import { parseQueue } from "../src/queue/terms.js";
import { wake as wakeWorker } from "../src/queue/wake.js";
import {
  cancelQueuedResultValidator,
  enqueueArgs,
  enqueueResultValidator,
  queueArgs,
  queuePositionValidator,
} from "../src/wire/queue.js";
import { bucketArgs } from "../src/wire/answers.js";
import { mutation, query } from "./_generated/server.js";

const functions = workerFunctionsIn("queue");

export const enqueue = mutation({
  get args() {
    return enqueueArgs();
  },
  get returns() {
    return enqueueResultValidator();
  },
  handler: (ctx, { fn, args, ...asked }) => {
    const queue = parseQueue(asked);
    return joining.enqueue(ctx, queue, parseJob(queue, asked, fn, args), functions);
  },
});

export const cancel = mutation({
  get args() {
    return { ...queueArgs(), id: v.string() };
  },
  get returns() {
    return cancelQueuedResultValidator();
  },
  handler: (ctx, { id, ...args }) => joining.cancel(ctx, parseQueue(args), id, functions),
});

export const get = query({
  get args() {
    return { ...queueArgs(), id: v.string() };
  },
  get returns() {
    return v.union(queuePositionValidator(), v.null());
  },
  handler: (ctx, { id, ...args }) => position.get(ctx, parseQueue(args), id),
});

/** Tokens have come back: what waits may be paid earlier. */
export const wake = mutation({
  get args() {
    return bucketArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, bucket) => wakeWorker(ctx, bucket, functions.work),
});

export const { workQueue, findArrivals, runQueuedAction } = registeredQueue("queue");
