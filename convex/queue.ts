/** Queues in the component: callers join, leave and ask. The wire is not trusted. */
import { v } from "convex/values";
import * as jobs from "../src/queue/job.js";
import { textOf } from "../src/queue/terms.js";
import { inQueue, wake as wakeWorker, WORKER_MODULE } from "../src/queue/worker.js";
import * as wire from "../src/wire/queue.js";
import { mutation, query } from "./_generated/server.js";

export const enqueue = mutation({
  get args() {
    return wire.enqueueArgs();
  },
  get returns() {
    return wire.enqueueResultValidator();
  },
  handler: (ctx, asked) => jobs.enqueue(inQueue(ctx, WORKER_MODULE), asked),
});

export const cancel = mutation({
  get args() {
    return wire.queuedArgs();
  },
  get returns() {
    return wire.cancelQueuedResultValidator();
  },
  handler: (ctx, asked) => jobs.cancel(inQueue(ctx, WORKER_MODULE), asked),
});

export const get = query({
  get args() {
    return wire.queuedArgs();
  },
  get returns() {
    return wire.foundPositionValidator();
  },
  handler: (ctx, asked) => jobs.getPosition(inQueue(ctx, WORKER_MODULE), asked),
});

/** Tokens may have come back, or the terms have changed: what waits may be paid earlier. */
export const wake = mutation({
  get args() {
    return wire.knowingArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, { terms, key }) => wakeWorker(inQueue(ctx, WORKER_MODULE), { name: terms.name, key }, textOf(terms)),
});
