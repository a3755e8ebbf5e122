/**
 * The functions that a worker needs, registered for an app that has limits with a queue in its own tables. Only the scheduler calls
 * them. The component registers its own in convex/queue.ts.
 */
import {
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
  type RegisteredAction,
  type RegisteredMutation,
  type RegisteredQuery,
} from "convex/server";
import { type ObjectType, v } from "convex/values";
import { findBatch } from "./batch.js";
import type { WorkerCtx } from "./look.js";
import { runAction } from "./settle.js";
import { type CurrentQueue, workerFunctionsIn } from "./start.js";
import { type ArrivalBatch, findArrivalsArgs, queuedRunArgs, workArgs, arrivalsValidator } from "../wire/queue.js";
import { work } from "./worker.js";

/** The functions of a worker, to export from the module that `queueModule` names. */
export interface RegisteredQueue {
  /** One run of the worker, or of a job that is a mutation, with its settlement. */
  workQueue: RegisteredMutation<"internal", ObjectType<ReturnType<typeof workArgs>>, Promise<null>>;
  /** The jobs for a run: needed only before convex 1.47, where a run does not know the commit up to which it reads. */
  findArrivals: RegisteredQuery<"internal", ObjectType<ReturnType<typeof findArrivalsArgs>>, Promise<ArrivalBatch>>;
  /** Runs a job that is an action and says what it has used. */
  runQueuedAction: RegisteredAction<"internal", ObjectType<ReturnType<typeof queuedRunArgs>>, Promise<null>>;
}

/** @param module - the one that exports them. */
export function registeredQueue(module: string, lookUp: CurrentQueue): RegisteredQueue {
  const worker = workerFunctionsIn(module);
  // The tables are in the schema of the app or component that exports this; the generic ctx does not know them.
  const own = <Ctx>(ctx: Ctx) => ({ ...(ctx as Ctx & WorkerCtx), worker, lookUp });
  return {
    workQueue: internalMutationGeneric({
      get args() {
        return workArgs();
      },
      get returns() {
        return v.null();
      },
      handler: (ctx, asked) => work(own(ctx), asked),
    }),
    findArrivals: internalQueryGeneric({
      get args() {
        return findArrivalsArgs();
      },
      get returns() {
        return arrivalsValidator();
      },
      handler: (ctx, asked) => findBatch(own(ctx), asked),
    }),
    runQueuedAction: internalActionGeneric({
      get args() {
        return queuedRunArgs();
      },
      get returns() {
        return v.null();
      },
      handler: (ctx, job) => runAction(ctx, job, worker),
    }),
  };
}
