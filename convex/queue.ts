/** Queues in the component: callers join, leave and ask; the worker runs by itself. The wire is not trusted. */
import { v } from "convex/values";
import * as jobs from "../src/queue/job.js";
import { registeredQueue } from "../src/queue/registered.js";
import { parseQueue } from "../src/queue/terms.js";
import { inQueue, wake as wakeWorker } from "../src/queue/wake.js";
import * as wire from "../src/wire/queue.js";
import { bucketArgs } from "../src/wire/answers.js";
import { functionOf } from "../src/wire/functionOf.js";
import { mutation, query } from "./_generated/server.js";

/** This module exports the worker's functions, too. */
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

const position = () => v.union(wire.queuePositionValidator(), v.null());
export const get = query(
  functionOf(wire.queuedArgs, position, (ctx, { id, ...args }) =>
    jobs.getPosition(inQueue(ctx, MODULE), parseQueue(args), id),
  ),
);

/** Tokens have come back: what waits may be paid earlier. */
export const wake = mutation(functionOf(bucketArgs, v.null, (ctx, bucket) => wakeWorker(inQueue(ctx, MODULE), bucket)));

/** The worker's own functions, which only the scheduler calls. The component knows no definitions but the worker's row. */
export const { workQueue, findArrivals, runQueuedAction } = registeredQueue(MODULE, () => undefined);
