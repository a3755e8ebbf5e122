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
import { findArrivals, type WorkerCtx } from "./look.js";
import { runAction, runMutation, settle } from "./settle.js";
import { type CurrentQueue, workerFunctionsIn } from "./start.js";
import {
  type ArrivalBatch,
  findArrivalsArgs,
  queuedRunArgs,
  runArgs,
  settleArgs,
  arrivalsValidator,
} from "../wire/queue.js";
import { work } from "./worker.js";

/** The functions of a worker. Export all of them from the module that `queueModule` names. */
export interface RegisteredQueue {
  /** One run of the worker. */
  workQueue: RegisteredMutation<"internal", ObjectType<ReturnType<typeof runArgs>>, Promise<null>>;
  /** What a run finds: a query, since it reads what callers insert on a stale snapshot. */
  findArrivals: RegisteredQuery<"internal", ObjectType<ReturnType<typeof findArrivalsArgs>>, Promise<ArrivalBatch>>;
  /** Runs a job that says what it has used, and settles it. */
  runQueuedMutation: RegisteredMutation<"internal", ObjectType<ReturnType<typeof queuedRunArgs>>, Promise<null>>;
  runQueuedAction: RegisteredAction<"internal", ObjectType<ReturnType<typeof queuedRunArgs>>, Promise<null>>;
  settleQueued: RegisteredMutation<"internal", ObjectType<ReturnType<typeof settleArgs>>, Promise<null>>;
}

/** @param module - the one that exports them. */
export function registeredQueue(module: string, lookUp: CurrentQueue): RegisteredQueue {
  const functions = workerFunctionsIn(module);
  // The tables are in the schema of the app or component that exports this; the generic ctx does not know them.
  const own = (ctx: unknown) => ctx as WorkerCtx;
  return {
    workQueue: internalMutationGeneric({
      get args() {
        return runArgs();
      },
      get returns() {
        return v.null();
      },
      handler: (ctx, run) => work(own(ctx), run, functions, lookUp),
    }),
    findArrivals: internalQueryGeneric({
      get args() {
        return findArrivalsArgs();
      },
      get returns() {
        return arrivalsValidator();
      },
      handler: (ctx, asked) => findArrivals(own(ctx), asked),
    }),
    runQueuedMutation: internalMutationGeneric({
      get args() {
        return queuedRunArgs();
      },
      get returns() {
        return v.null();
      },
      handler: (ctx, run) => runMutation({ ...own(ctx), runMutation: ctx.runMutation }, run, functions, lookUp),
    }),
    runQueuedAction: internalActionGeneric({
      get args() {
        return queuedRunArgs();
      },
      get returns() {
        return v.null();
      },
      handler: (ctx, run) => runAction(ctx, run, functions),
    }),
    settleQueued: internalMutationGeneric({
      get args() {
        return settleArgs();
      },
      get returns() {
        return v.null();
      },
      handler: (ctx, settlement) => settle(own(ctx), settlement, functions, lookUp),
    }),
  };
}
