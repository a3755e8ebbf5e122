/**
 * The worker of queues: only the scheduler calls these functions. client/queue.ts registers them for an app's tables.
 */
import { v } from "convex/values";
import { work } from "../src/queue/run.js";
import { runAction } from "../src/queue/start.js";
import { inQueue, WORKER_MODULE } from "../src/queue/worker.js";
import { queuedRunArgs, workArgs } from "../src/wire/queue.js";
import { internalAction, internalMutation } from "./_generated/server.js";

export const workQueue = internalMutation({
  get args() {
    return workArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, asked) => work(inQueue(ctx, WORKER_MODULE), asked),
});

export const runQueuedAction = internalAction({
  get args() {
    return queuedRunArgs();
  },
  get returns() {
    return v.null();
  },
  handler: (ctx, job) => runAction(ctx, job, WORKER_MODULE),
});
