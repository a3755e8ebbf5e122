/** Queues in the component: callers join, leave and ask; the worker runs by itself. The wire is not trusted. */
import { v } from "convex/values";
import * as jobs from "../src/queue/job.js";
import { runAction } from "../src/queue/settle.js";
import { parseQueue } from "../src/queue/terms.js";
import { inQueue, wake as wakeWorker } from "../src/queue/wake.js";
import { work } from "../src/queue/worker.js";
import * as wire from "../src/wire/queue.js";
import { bucketArgs } from "../src/wire/answers.js";
import { internalAction, internalMutation, mutation, query } from "./_generated/server.js";

/** This module also exports the worker's functions. */
const MODULE = "queue";

export const enqueue = mutation({
  get args() {
    return wire.enqueueArgs();
  },
  get returns() {
    return wire.enqueueResultValidator();
  },
  handler: (ctx, { fn, ...asked }) => {
    const queue = parseQueue(asked);
    return jobs.enqueue(inQueue(ctx, MODULE), queue, { ...jobs.parseJob(queue, asked), fn });
  },
});

export const cancel = mutation({
  get args() {
    return wire.queuedArgs();
  },
  get returns() {
    return wire.cancelQueuedResultValidator();
  },
  handler: (ctx, { id, ...args }) => jobs.cancel(inQueue(ctx, MODULE), parseQueue(args), id),
});

export const get = query({
  get args() {
    return wire.queuedArgs();
  },
  get returns() {
    return v.union(wire.queuePositionValidator(), v.null());
  },
  handler: (ctx, { id, ...args }) => jobs.getPosition(inQueue(ctx, MODULE), parseQueue(args), id),
});

/** Tokens have come back: what waits may be paid earlier. */
export const wake = mutation({
  get args() {
    return bucketArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, bucket) => wakeWorker(inQueue(ctx, MODULE), bucket),
});

// The worker's own functions, which only the scheduler calls: client/queue.ts registers them for an app's tables.

export const workQueue = internalMutation({
  get args() {
    return wire.workArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, asked) => work({ ...inQueue(ctx, MODULE), lookUp: parseQueue }, asked),
});

export const runQueuedAction = internalAction({
  get args() {
    return wire.queuedRunArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, job) => runAction(ctx, job, MODULE),
});
