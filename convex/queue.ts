/** Queues in the component: callers join, leave and ask; the worker runs by itself. The wire is not trusted. */
import { v } from "convex/values";
import * as jobs from "../src/queue/job.js";
import { work } from "../src/queue/run.js";
import { runAction } from "../src/queue/start.js";
import { inQueue, wake as wakeWorker } from "../src/queue/worker.js";
import { functionOf } from "../src/wire/functionOf.js";
import * as wire from "../src/wire/queue.js";
import { internalAction, internalMutation, mutation, query } from "./_generated/server.js";

/** This module also exports the worker's functions. */
const MODULE = "queue";

export const enqueue = mutation(
  functionOf(wire.enqueueArgs, wire.enqueueResultValidator, (ctx, asked) => jobs.enqueue(inQueue(ctx, MODULE), asked)),
);

export const cancel = mutation(
  functionOf(wire.queuedArgs, wire.cancelQueuedResultValidator, (ctx, asked) =>
    jobs.cancel(inQueue(ctx, MODULE), asked),
  ),
);

export const get = query(
  functionOf(wire.queuedArgs, wire.foundPositionValidator, (ctx, asked) =>
    jobs.getPosition(inQueue(ctx, MODULE), asked),
  ),
);

/** Tokens may have come back, or the terms have changed: what waits may be paid earlier. */
export const wake = mutation(
  functionOf(wire.wakeArgs, v.null, (ctx, { terms, ...bucket }) => wakeWorker(inQueue(ctx, MODULE), bucket, terms)),
);

// The worker's own functions, which only the scheduler calls: client/queue.ts registers them for an app's tables.

export const workQueue = internalMutation(
  functionOf(wire.workArgs, v.null, (ctx, asked) => work(inQueue(ctx, MODULE), asked)),
);

export const runQueuedAction = internalAction(
  functionOf(wire.queuedRunArgs, v.null, (ctx, job) => runAction(ctx, job, MODULE)),
);
