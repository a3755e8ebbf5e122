/** convex-rate-limits/queue: work that waits its turn, for limits that are defined with a queue. */
import * as convex from "convex/server";
import { v } from "convex/values";
import * as jobs from "../queue/job.js";
import { work } from "../queue/run.js";
import { runAction } from "../queue/start.js";
import { inQueue } from "../queue/worker.js";
import { inTurn } from "../storage/rows.js";
import { functionOf } from "../wire/functionOf.js";
import * as wire from "../wire/queue.js";
import { queueModuleOf } from "./options.js";
import type { Ctx, DefinedRateLimits, LimitSet, TypesOf } from "./place.js";
import { setOf } from "./place.js";
import { queueTermsOf } from "./plans.js";
import { inComponent, type QueueCalls, queuesOf } from "./queueFunctions.js";
import type { RateLimitQueues, RegisteredQueue } from "./queueTypes.js";

export type { EnqueueArgs, ExposedJob, ExposedQueue, RateLimitQueues, RegisteredQueue } from "./queueTypes.js";
export type {
  CancelQueuedResult,
  DropReason,
  EnqueueResult,
  RateLimitQueuedJob,
  RateLimitQueuePosition,
} from "../wire/queue.js";
export type { MutationCtxWithRateLimitQueue, QueryCtxWithRateLimitQueue } from "./place.js";

/**
 * The functions of the queues of a set of limits, in either place: those of its limits that are defined with `queue`.
 *
 * @param limits - what `defineRateLimits` returned.
 * @example
 * ```ts
 * import { defineRateLimits, MINUTE } from "convex-rate-limits";
 * import { rateLimitQueue } from "convex-rate-limits/queue";
 *
 * const limits = defineRateLimits(
 *   { generate: { kind: "token bucket", rate: 20, period: MINUTE, queue: { priorities: 2 } } },
 *   { queueModule: "queue" },
 * );
 * export const queue = rateLimitQueue(limits);
 * export const { workQueue, runQueuedAction } = queue.exposeQueueWorker();
 * ```
 */
export function rateLimitQueue<Set extends DefinedRateLimits>(
  limits: Set,
): RateLimitQueues<TypesOf<Set>["limits"], TypesOf<Set>["contexts"], TypesOf<Set>["throws"]> {
  const set = setOf(limits, "rateLimitQueue");
  const { component } = set.place;
  const queues = queuesOf(set, component ? inComponent(component) : inTables(set));
  return { ...queues, exposeQueueWorker: () => registerWorker(set) } as never;
}

/** Writes are done in their turn, with what a queue needs of a ctx. */
function inTables({ options }: LimitSet): QueueCalls {
  const own = (ctx: Ctx) => inQueue(ctx, queueModuleOf(options));
  return {
    enqueue: (ctx, joining) => inTurn(ctx, () => jobs.enqueue(own(ctx), joining), true),
    cancel: (ctx, job) => inTurn(ctx, () => jobs.cancel(own(ctx), job), true),
    get: (ctx, job) => inTurn(ctx, () => jobs.getPosition(inQueue(ctx, ""), job)),
  };
}

/** Registers the functions of the workers for the app: convex/queue.ts has those of the component. */
function registerWorker({ definitions, options }: LimitSet): RegisteredQueue {
  const module = queueModuleOf(options);
  const definedTerms = (name: string) => queueTermsOf(definitions, name);
  return {
    workQueue: convex.internalMutationGeneric(
      functionOf(wire.workArgs, v.null, (ctx, asked) => work({ ...inQueue(ctx, module), definedTerms }, asked)),
    ),
    runQueuedAction: convex.internalActionGeneric(
      functionOf(wire.queuedRunArgs, v.null, (ctx, job) => runAction(ctx, job, module)),
    ),
  };
}
