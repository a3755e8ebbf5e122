/** convex-rate-limits/queue: work that waits its turn, for limits that are defined with a queue. */
import * as convex from "convex/server";
import { v } from "convex/values";
import { checkFields, type Field, isFunction } from "../engine/fields.js";
import { misuseError, show } from "../engine/misuse.js";
import * as jobs from "../queue/job.js";
import { work } from "../queue/run.js";
import { runAction } from "../queue/start.js";
import { parseQueue } from "../queue/terms.js";
import { inQueue, type QueueCtx } from "../queue/worker.js";
import { inTurn } from "../storage/rows.js";
import type { QueueTerms } from "../wire/configs.js";
import { functionOf } from "../wire/functionOf.js";
import { present } from "../wire/present.js";
import * as wire from "../wire/queue.js";
import { type AnyArgs, anything, findWrittenBucket, complete } from "./definitions.js";
import { denialError } from "./errors.js";
import { queueModuleOf, throwsField } from "./options.js";
import type { AnyDataModel, Ctx, DefinedRateLimits, InTables, LimitSet, TypesOf } from "./place.js";
import { setOf } from "./place.js";
import { queueTermsOf } from "./plans.js";
import type { ExposedJob, ExposedQueue, RateLimitQueues, RegisteredQueue } from "./queueTypes.js";
import { checkFunction, isReference, type JobCall } from "./scheduler.js";

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

  async function getQueued(ctx: Ctx, job: wire.RateLimitQueuedJob): Promise<wire.RateLimitQueuePosition | null> {
    const asked = parseHandle(set, job, "getQueued");
    if (!component) return await inTurn(ctx, () => jobs.getPosition(inQueue(ctx, ""), asked));
    return await component.query(ctx, component.api.queue.get, asked);
  }

  return {
    enqueueRateLimited: (ctx: Ctx, asked: AnyArgs, fn: JobCall["fn"], ...fnArgs: JobCall["fnArgs"]) =>
      enqueue(set, ctx, asked, { fn, fnArgs }),

    async cancelQueued(ctx: Ctx, job: wire.RateLimitQueuedJob): Promise<wire.CancelQueuedResult> {
      const asked = parseHandle(set, job, "cancelQueued");
      if (!component) return await write(set, ctx, (own) => jobs.cancel(own, asked));
      return await component.mutation(ctx, component.api.queue.cancel, asked);
    },

    getQueued,

    exposeQueue(args: { job: ExposedJob<AnyDataModel> }): ExposedQueue {
      const permitted = "a function from ctx and an id to the job";
      checkFields({ of: "exposeQueue" }, "the options", args, {
        job: { permitted, holds: isFunction, isRequired: true },
      });
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

const referenceField: Field = {
  permitted: "a reference to a mutation of yours, such as internal.agent.dropped",
  holds: isReference,
};

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

/** A write in the app's own tables: in its turn, with what a queue needs of a ctx. */
function write<Result>({ options }: LimitSet, ctx: Ctx, operation: (own: QueueCtx) => Promise<Result>) {
  return inTurn(ctx, () => operation(inQueue(ctx, queueModuleOf(options))), true);
}

async function enqueue(set: LimitSet, ctx: Ctx, asked: AnyArgs, { fn, fnArgs }: JobCall): Promise<wire.EnqueueResult> {
  const { options } = set;
  const { component } = set.place;
  const { bucket, throws } = complete(set, "enqueueRateLimited", asked, {
    count: anything,
    priority: anything,
    fairBy: anything,
    settles: anything,
    notAfter: anything,
    onDropped: referenceField,
    throws: throwsField,
  });
  const { name, key, plan } = bucket;
  const terms = termsOf(set, name, "enqueueRateLimited");
  if (plan === null) throw misuseError(name, "config must be left out: a queue has that of its definition.");
  const queue = parseQueue(terms, { key, plan });
  const [args = {}]: [wire.JoinArgs["args"]?] = fnArgs;
  checkFunction(name, fn, fnArgs);
  const job = jobs.parseJob(queue, { ...asked, args });
  const onDropped = asked.onDropped && (await convex.createFunctionHandle(asked.onDropped));
  const joining = present({ terms, key, plan, ...job, fn: await convex.createFunctionHandle(fn), onDropped });
  const result: wire.EnqueueResult = component
    ? await component.mutation(ctx, component.api.queue.enqueue, joining)
    : await write(set, ctx, (own) => jobs.enqueue(own, joining));
  if (throws && !result.ok) throw denialError(queue, result, throws, options);
  return result;
}

function termsOf({ definitions }: LimitSet, name: string, call: string): QueueTerms {
  const terms = queueTermsOf(definitions, name);
  if (!terms) throw misuseError(name, `has no queue, which ${call} needs: define it with queue: {}.`);
  return terms;
}

function parseHandle(set: LimitSet, job: unknown, call: string) {
  const { name, key, id } = (job ?? {}) as Partial<wire.RateLimitQueuedJob>;
  if (typeof name !== "string" || typeof id !== "string" || id === "") {
    throw new Error(`${call} needs the job that enqueueRateLimited returned, got ${show(job)}.`);
  }
  findWrittenBucket(set.definitions, call, { name, key });
  return present({ terms: termsOf(set, name, call), key, id });
}
