/**
 * The functions that a worker needs, registered for the component, and for an app that has limits with a queue in its own tables. Only
 * the scheduler calls them.
 */
import {
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
  type RegisteredAction,
  type RegisteredMutation,
  type RegisteredQuery,
} from "convex/server";
import { v } from "convex/values";
import { functionOf } from "../wire/functionOf.js";
import {
  type ArrivalBatch,
  arrivalsValidator,
  findArrivalsArgs,
  type FindArrivalsArgs,
  queuedRunArgs,
  type QueuedRunArgs,
  workArgs,
  type WorkArgs,
} from "../wire/queue.js";
import { findBatch, type WorkerCtx } from "./batch.js";
import { runAction } from "./settle.js";
import { work } from "./worker.js";
import { inQueue } from "./wake.js";

/** The functions of a worker, to export from the module that `queueModule` names. */
export interface RegisteredQueue {
  /** One run of the worker, or of a job that is a mutation, with its settlement. */
  workQueue: RegisteredMutation<"internal", WorkArgs, Promise<null>>;
  /** The jobs for a run: needed only before convex 1.47, where a run does not know the commit up to which it reads. */
  findArrivals: RegisteredQuery<"internal", FindArrivalsArgs, Promise<ArrivalBatch>>;
  /** Runs a job that is an action and says what it has used. */
  runQueuedAction: RegisteredAction<"internal", QueuedRunArgs, Promise<null>>;
}

/** @param module - the one that exports them. */
export function registeredQueue(module: string, lookUp: WorkerCtx["lookUp"]): RegisteredQueue {
  // The tables are in the schema of the app or component that exports this; the generic ctx does not know them.
  const own = <Ctx>(ctx: Ctx) => ({ ...inQueue(ctx as Ctx & WorkerCtx, module), lookUp });
  return {
    workQueue: internalMutationGeneric(functionOf(workArgs, v.null, (ctx, asked) => work(own(ctx), asked))),
    findArrivals: internalQueryGeneric(
      functionOf(findArrivalsArgs, arrivalsValidator, (ctx, asked) => findBatch(own(ctx), asked)),
    ),
    runQueuedAction: internalActionGeneric(
      functionOf(queuedRunArgs, v.null, (ctx, job) => runAction(ctx, job, module)),
    ),
  };
}
