/** The functions of a worker, registered for the component, or for an app with queues in its tables. Only the scheduler calls them. */
import * as convex from "convex/server";
import { v } from "convex/values";
import { functionOf } from "../wire/functionOf.js";
import * as wire from "../wire/queue.js";
import { findBatch, type WorkerCtx } from "./batch.js";
import { runAction } from "./settle.js";
import { work } from "./worker.js";
import { inQueue } from "./wake.js";

/** The functions of a worker, to export from the module that `queueModule` names. */
export interface RegisteredQueue {
  /** One run of the worker, or of a job that is a mutation, with its settlement. */
  workQueue: convex.RegisteredMutation<"internal", wire.WorkArgs, Promise<null>>;
  /** The jobs for a run: needed only before convex 1.47, where a run does not know the commit up to which it reads. */
  findArrivals: convex.RegisteredQuery<"internal", wire.FindArrivalsArgs, Promise<wire.ArrivalBatch>>;
  /** Runs a job that is an action and says what it has used. */
  runQueuedAction: convex.RegisteredAction<"internal", wire.QueuedRunArgs, Promise<null>>;
}

/** @param module - the one that exports them. */
export function registeredQueue(module: string, lookUp: NonNullable<WorkerCtx["lookUp"]>): RegisteredQueue {
  // The tables are in the schema of the app or component that exports this; the generic ctx does not know them.
  const own = <Ctx>(ctx: Ctx) => ({ ...inQueue(ctx as Ctx & WorkerCtx, module), lookUp });
  return {
    workQueue: convex.internalMutationGeneric(functionOf(wire.workArgs, v.null, (ctx, asked) => work(own(ctx), asked))),
    findArrivals: convex.internalQueryGeneric(
      functionOf(wire.findArrivalsArgs, wire.arrivalsValidator, (ctx, asked) => findBatch(own(ctx), asked)),
    ),
    runQueuedAction: convex.internalActionGeneric(
      functionOf(wire.queuedRunArgs, v.null, (ctx, job) => runAction(ctx, job, module)),
    ),
  };
}
