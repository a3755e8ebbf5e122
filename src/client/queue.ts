/** convex-rate-limits/queue: work that waits its turn, for limits that are defined with a queue. */
import * as convex from "convex/server";
import { v } from "convex/values";
import { checkFields, isFunction } from "../engine/fields.js";
import { misuseError, show } from "../engine/misuse.js";
import type { BucketArgs } from "../engine/request.js";
import { findBatch, type WorkerCtx } from "../queue/batch.js";
import * as jobs from "../queue/job.js";
import { runAction } from "../queue/settle.js";
import { parseQueue, type Queue, toStoredQueue } from "../queue/terms.js";
import { inQueue, type QueueCtx } from "../queue/wake.js";
import { work } from "../queue/worker.js";
import { inTurn } from "../storage/rows.js";
import { functionOf } from "../wire/functionOf.js";
import * as wire from "../wire/queue.js";
import { type AnyArgs, anything, findBucket, judge } from "./definitions.js";
import { denialError } from "./errors.js";
import { queueModuleOf, throwsField } from "./options.js";
import type { AnyDataModel, Ctx, DefinedRateLimits, InTables, LimitSet, TypesOf } from "./place.js";
import { setOf } from "./place.js";
import { BY_ROWS } from "./plans.js";
import type { ExposedJob, ExposedQueue, RateLimitQueues, RegisteredQueue } from "./queueTypes.js";
import { checkFunction, type JobCall } from "./scheduler.js";

export type { EnqueueArgs, ExposedJob, ExposedQueue, RateLimitQueues, RegisteredQueue } from "./queueTypes.js";
export type { CancelQueuedResult, EnqueueResult, RateLimitQueuedJob, RateLimitQueuePosition } from "../wire/queue.js";
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

  async function getQueued(ctx: Ctx, job: wire.RateLimitQueuedJob): Promise<wire.RateLimitQueuePosition | null> {
    const queue = findJob(set, job, "getQueued");
    const { plans } = queue;
    const { id } = job;
    if (!component) return await inTurn(ctx, () => jobs.getPosition(inQueue(ctx, ""), queue, id));
    const asked = { ...toStoredQueue(queue), ...(plans && { plans: [...plans] }), id };
    return await component.query(ctx, component.api.queue.get, asked);
  }

  return {
    enqueueRateLimited: (ctx: Ctx, asked: AnyArgs, fn: JobCall["fn"], ...fnArgs: JobCall["fnArgs"]) =>
      enqueue(set, ctx, asked, { fn, fnArgs }),

    async cancelQueued(ctx: Ctx, job: wire.RateLimitQueuedJob): Promise<wire.CancelQueuedResult> {
      const queue = findJob(set, job, "cancelQueued");
      const { id } = job;
      if (!component) return await write(set, ctx, (own) => jobs.cancel(own, queue, id));
      return await component.mutation(ctx, component.api.queue.cancel, { ...toStoredQueue(queue), id });
    },

    getQueued,

    exposeQueue(args: { job: ExposedJob<AnyDataModel> }): ExposedQueue {
      const permitted = "a function from ctx and an id to the job";
      checkFields("exposeQueue", "the options", args, { job: { permitted, holds: isFunction, isRequired: true } });
      const handler = async (ctx: convex.GenericQueryCtx<AnyDataModel>, { job: requested }: { job: string }) => {
        const job = await args.job(ctx, requested);
        return job && (await getQueued(ctx as never, job));
      };
      const returns = () => v.union(wire.queuePositionValidator(), v.null());
      return { getQueued: convex.queryGeneric(functionOf(() => ({ job: v.string() }), returns, handler)) };
    },

    exposeQueueWorker: (): RegisteredQueue => registerWorker(set),
  } satisfies Record<keyof RateLimitQueues<never, InTables>, unknown> as never;
}

/** Registers the functions of the workers for the app: convex/queue.ts has those of the component. */
function registerWorker({ definitions, options }: LimitSet): RegisteredQueue {
  const module = queueModuleOf(options);
  const lookUp: WorkerCtx["lookUp"] = (stored) => {
    const { name, key, plan } = stored;
    const own = definitions.get(name);
    const plans = own?.plans;
    // The plan of jobs from before the limit had plans is unknown.
    const definition = plans ? (plan === undefined ? [...plans.values()][0] : plans.get(plan)) : own;
    if (!definition) return parseQueue(stored);
    // A deploy that removes a queue leaves its jobs, which wait by the limit as it is now.
    const { config, queue = stored.queue } = definition;
    return parseQueue({ name, key, config, definition, plan: plans && plan, queue });
  };
  return {
    workQueue: convex.internalMutationGeneric(
      functionOf(wire.workArgs, v.null, (ctx, asked) => work({ ...inQueue(ctx, module), lookUp }, asked)),
    ),
    findArrivals: convex.internalQueryGeneric(functionOf(wire.findArrivalsArgs, wire.arrivalsValidator, findBatch)),
    runQueuedAction: convex.internalActionGeneric(
      functionOf(wire.queuedRunArgs, v.null, (ctx, job) => runAction(ctx, job, module)),
    ),
  };
}

/** A write in the app's own tables: in its turn, with what a queue needs of a ctx. */
function write<Result>({ options }: LimitSet, ctx: Ctx, operation: (own: QueueCtx) => Promise<Result>) {
  return inTurn(ctx, () => operation(inQueue(ctx, queueModuleOf(options))), true);
}

async function enqueue(set: LimitSet, ctx: Ctx, asked: AnyArgs, { fn, fnArgs }: JobCall): Promise<wire.EnqueueResult> {
  const { options } = set;
  const { component } = set.place;
  const { bucket, throws } = judge(set, "enqueueRateLimited", asked, {
    count: anything,
    priority: anything,
    fairBy: anything,
    settles: anything,
    throws: throwsField,
  });
  const queue = queueOf(set, bucket, "enqueueRateLimited");
  const [args = {}]: [wire.JoinArgs["args"]?] = fnArgs;
  checkFunction(queue.name, fn, fnArgs);
  const job = { ...jobs.parseJob(queue, { ...asked, args }), fn: await convex.createFunctionHandle(fn) };
  const result: wire.EnqueueResult = component
    ? await component.mutation(ctx, component.api.queue.enqueue, { ...toStoredQueue(queue), ...job })
    : await write(set, ctx, (own) => jobs.enqueue(own, queue, job));
  if (throws && !result.ok) throw denialError(queue, result, throws, options);
  return result;
}

function queueOf({ definitions }: LimitSet, bucket: BucketArgs, call: string): Queue {
  const { name, plan } = bucket;
  const queue = definitions.get(name)?.queue;
  if (!queue) throw misuseError(name, `has no queue, which ${call} needs: define it with queue: {}.`);
  if (plan === null) throw misuseError(name, "config must be left out: a queue has that of its definition.");
  return parseQueue({ ...bucket, queue });
}

function findJob(set: LimitSet, job: unknown, call: string): Queue {
  const { name, key, id } = (job ?? {}) as Partial<wire.RateLimitQueuedJob>;
  if (typeof name !== "string" || typeof id !== "string" || id === "") {
    throw new Error(`${call} needs the job that enqueueRateLimited returned, got ${show(job)}.`);
  }
  return queueOf(set, findBucket(set.definitions, call, { name, key }, BY_ROWS), call);
}
