/** Queues in the component: callers join, leave and ask; the worker runs by itself. The wire is not trusted. */
import { v } from "convex/values";
import * as jobs from "../src/queue/job.js";
import { work } from "../src/queue/run.js";
import { runAction } from "../src/queue/start.js";
import { textOf } from "../src/queue/terms.js";
import { inQueue, wake as wakeWorker } from "../src/queue/worker.js";
import * as wire from "../src/wire/queue.js";
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
  handler: (ctx, asked) => jobs.enqueue(inQueue(ctx, MODULE), asked),
});

export const cancel = mutation({
  get args() {
    return wire.queuedArgs();
  },
  get returns() {
    return wire.cancelQueuedResultValidator();
  },
  handler: (ctx, asked) => jobs.cancel(inQueue(ctx, MODULE), asked),
});

export const get = query({
  get args() {
    return wire.queuedArgs();
  },
  get returns() {
    return wire.foundPositionValidator();
  },
  handler: (ctx, asked) => jobs.getPosition(inQueue(ctx, MODULE), asked),
});

/** Tokens may have come back, or the terms have changed: what waits may be paid earlier. */
export const wake = mutation({
  get args() {
    return wire.knowingArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, { terms, key }) => wakeWorker(inQueue(ctx, MODULE), { name: terms.name, key }, textOf(terms)),
});

// The worker's own functions, which only the scheduler calls: client/queue.ts registers them for an app's tables.

export const workQueue = internalMutation({
  get args() {
    return wire.workArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, asked) => work(inQueue(ctx, MODULE), asked),
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
