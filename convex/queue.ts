/** Queues in the component: callers join, leave and ask; the worker runs by itself. The wire is not trusted. */
import { v } from "convex/values";
import * as joining from "../src/queue/enqueue.js";
import { parseJob } from "../src/queue/job.js";
import * as position from "../src/queue/position.js";
import { findBatch } from "../src/queue/batch.js";
import { runAction } from "../src/queue/settle.js";
import { type CurrentQueue, workerFunctionsIn } from "../src/queue/start.js";
import { parseQueue } from "../src/queue/terms.js";
import { wake as wakeWorker } from "../src/queue/wake.js";
import { work } from "../src/queue/worker.js";
import {
  arrivalsValidator,
  cancelQueuedResultValidator,
  enqueueArgs,
  enqueueResultValidator,
  findArrivalsArgs,
  queuedArgs,
  queuedRunArgs,
  queuePositionValidator,
  workArgs,
} from "../src/wire/queue.js";
import { bucketArgs } from "../src/wire/answers.js";
import { internalAction, internalMutation, internalQuery, mutation, query } from "./_generated/server.js";

const worker = workerFunctionsIn("queue");

export const enqueue = mutation({
  get args() {
    return enqueueArgs();
  },
  get returns() {
    return enqueueResultValidator();
  },
  handler: (ctx, { fn, args, ...asked }) => {
    const queue = parseQueue(asked);
    return joining.enqueue({ ...ctx, worker }, queue, parseJob(queue, asked, fn, args));
  },
});

export const cancel = mutation({
  get args() {
    return queuedArgs();
  },
  get returns() {
    return cancelQueuedResultValidator();
  },
  handler: (ctx, { id, ...args }) => joining.cancel({ ...ctx, worker }, parseQueue(args), id),
});

export const get = query({
  get args() {
    return queuedArgs();
  },
  get returns() {
    return v.union(queuePositionValidator(), v.null());
  },
  handler: (ctx, { id, ...args }) => position.getPosition(ctx, parseQueue(args), id),
});

/** Tokens have come back: what waits may be paid earlier. */
export const wake = mutation({
  get args() {
    return bucketArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, bucket) => wakeWorker(ctx, bucket, worker.work),
});

// The worker's own functions, which only the scheduler calls: as registered.ts has them for an app's tables.

/** The component knows no definitions: a queue is as its worker's row has it. */
const lookUp: CurrentQueue = () => undefined;

export const workQueue = internalMutation({
  get args() {
    return workArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, asked) => work({ ...ctx, worker, lookUp }, asked),
});

export const findArrivals = internalQuery({
  get args() {
    return findArrivalsArgs();
  },
  get returns() {
    return arrivalsValidator();
  },
  handler: (ctx, asked) => findBatch(ctx, asked),
});

export const runQueuedAction = internalAction({
  get args() {
    return queuedRunArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, job) => runAction(ctx, job, worker),
});
