/**
 * The functions that a worker needs, registered: the component exports them, and so does an app that has limits with a queue in its own
 * tables. Only the scheduler calls them.
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
import { type ArrivalBatch, findArrivalsArgs, queuedRunArgs, workArgs, arrivalsValidator } from "../wire/queue.js";
import { work } from "./worker.js";

/** The functions of a worker. Export all of them from the module that `queueModule` names: one of each kind that Convex knows. */
export interface RegisteredQueue {
  /** One run of the worker, or of a job that is a mutation, with its settlement. */
  workQueue: RegisteredMutation<"internal", ObjectType<ReturnType<typeof workArgs>>, Promise<null>>;
  /** What a run finds: a query, since it reads what callers insert on a stale snapshot. */
  findArrivals: RegisteredQuery<"internal", ObjectType<ReturnType<typeof findArrivalsArgs>>, Promise<ArrivalBatch>>;
  /** Runs a job that is an action and says what it has used. */
  runQueuedAction: RegisteredAction<"internal", ObjectType<ReturnType<typeof queuedRunArgs>>, Promise<null>>;
}

/** @param module - the one that exports them. */
export function registeredQueue(module: string, lookUp: CurrentQueue = () => undefined): RegisteredQueue {
  const functions = workerFunctionsIn(module);
  // The tables are in the schema of the app or component that exports this; the generic ctx does not know them.
  const own = (ctx: unknown) => ctx as WorkerCtx;
  return {
    workQueue: internalMutationGeneric({
      get args() {
        return workArgs();
      },
      get returns() {
        return v.null();
      },
      handler: async (ctx, { run, job, settlement }) => {
        if (run) await work(own(ctx), run, functions, lookUp);
        if (job) await runMutation({ ...own(ctx), runMutation: ctx.runMutation }, job, functions, lookUp);
        if (settlement) await settle(own(ctx), settlement, functions, lookUp);
        return null;
      },
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
    runQueuedAction: internalActionGeneric({
      get args() {
        return queuedRunArgs();
      },
      get returns() {
        return v.null();
      },
      handler: (ctx, job) => runAction(ctx, job, functions),
    }),
  };
}
