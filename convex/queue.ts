/** Queues in the component: callers join, leave and ask; the worker runs by itself. The wire is not trusted. */
import { v } from "convex/values";
import * as jobs from "../src/queue/job.js";
import { registeredQueue } from "../src/queue/registered.js";
import { parseQueue } from "../src/queue/terms.js";
import { inQueue, wake as wakeWorker } from "../src/queue/wake.js";
import { bucketArgs } from "../src/wire/answers.js";
import { functionOf } from "../src/wire/functionOf.js";
import * as wire from "../src/wire/queue.js";
import { mutation, query } from "./_generated/server.js";

/** This module also exports the worker's functions. */
const MODULE = "queue";

export const enqueue = mutation(
  functionOf(wire.enqueueArgs, wire.enqueueResultValidator, (ctx, { fn, args, ...asked }) => {
    const queue = parseQueue(asked);
    return jobs.enqueue(inQueue(ctx, MODULE), queue, { ...jobs.parseJob(queue, asked, args), fn });
  }),
);

export const cancel = mutation(
  functionOf(wire.queuedArgs, wire.cancelQueuedResultValidator, (ctx, { id, ...args }) =>
    jobs.cancel(inQueue(ctx, MODULE), parseQueue(args), id),
  ),
);

export const get = query(
  functionOf(
    wire.queuedArgs,
    () => v.union(wire.queuePositionValidator(), v.null()),
    (ctx, { id, ...args }) => jobs.getPosition(inQueue(ctx, MODULE), parseQueue(args), id),
  ),
);

/** Tokens have come back: what waits may be paid earlier. */
export const wake = mutation(functionOf(bucketArgs, v.null, (ctx, bucket) => wakeWorker(inQueue(ctx, MODULE), bucket)));

/** The component knows no definitions: a queue is as its worker's row has it. */
export const { workQueue, findArrivals, runQueuedAction } = registeredQueue(MODULE, () => undefined);
