/** convex-rate-limits/queue: work that waits its turn, for limits that are defined with a queue. */
import { createFunctionHandle, type FunctionReference, type GenericQueryCtx, queryGeneric } from "convex/server";
import { v, type Value } from "convex/values";
import { checkFields, type Field, type Fields, isFunction } from "../engine/fields.js";
import { misuseError, show } from "../engine/misuse.js";
import { countField } from "../engine/request.js";
import * as jobs from "../queue/job.js";
import { registeredQueue, type RegisteredQueue } from "../queue/registered.js";
import { parseQueue, type Queue, toStoredQueue } from "../queue/terms.js";
import { inQueue } from "../queue/wake.js";
import { inTurn } from "../storage/rows.js";
import { functionOf } from "../wire/functionOf.js";
import {
  type CancelQueuedResult,
  type EnqueueResult,
  queuePositionValidator,
  type RateLimitQueuedJob,
  type RateLimitQueuePosition,
} from "../wire/queue.js";
import { type AnyArgs, type AnyBucketArgs, anything, BUCKET_FIELDS, findBucket, writtenFields } from "./definitions.js";
import { denialError } from "./errors.js";
import { queueModuleOf, throwsField } from "./options.js";
import type { AnyDataModel, Ctx, LimitSet } from "./place.js";
import type { ExposedJob, ExposedQueue, RateLimitQueues } from "./queueTypes.js";
import { checkFunction } from "./schedule.js";
import { type DefinedRateLimits, setOf, type TypesOf } from "./set.js";

export type { EnqueueArgs, ExposedJob, ExposedQueue, RateLimitQueues } from "./queueTypes.js";
export type { RegisteredQueue } from "../queue/registered.js";
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
  return {
    enqueueRateLimited: (ctx, args, fn, ...[fnArgs = {}]) =>
      enqueue(set, ctx as Ctx, args, { fn, args: fnArgs }) as never,
    cancelQueued: (ctx, job) => cancel(set, ctx as Ctx, job),
    getQueued: (ctx, job) => get(set, ctx as Ctx, job),
    exposeQueue: (args) => exposeQueue(args, (ctx, job) => get(set, ctx as Ctx, job)),
    exposeQueueWorker: () => exposeWorker(set),
  };
}

const enqueueFields = (): Fields => ({
  ...BUCKET_FIELDS,
  count: countField,
  priority: anything,
  fairBy: anything,
  settles: anything,
  throws: throwsField,
});

async function enqueue(
  set: LimitSet,
  ctx: Ctx,
  asked: AnyArgs,
  work: { fn: FunctionReference<"mutation" | "action", "public" | "internal">; args: Record<string, Value> },
): Promise<EnqueueResult> {
  const queue = find(set, asked, "enqueueRateLimited", enqueueFields());
  const { name } = queue;
  const { throws = set.definitions.get(name)?.throws ?? set.options.throws ?? false } = asked;
  checkFunction(name, work.fn, [work.args]);
  const parsed = jobs.parseJob(queue, asked, work.args);
  const job = async () => ({ ...parsed, fn: await createFunctionHandle(work.fn) });
  const { component } = set.place;
  const call = component?.mutation(ctx);
  const result =
    component && call
      ? await call(component.api.queue.enqueue, { ...toStoredQueue(queue), ...(await job()) })
      : await inTurn(
          ctx,
          async () => await jobs.enqueue(inQueue(ctx, queueModuleOf(set.options)), queue, await job()),
          true,
        );
  if (throws && !result.ok) throw denialError(queue, result, throws, set.options);
  return result;
}

async function cancel(set: LimitSet, ctx: Ctx, job: RateLimitQueuedJob): Promise<CancelQueuedResult> {
  const queue = findJob(set, job, "cancelQueued");
  const { component } = set.place;
  if (component)
    return await component.mutation(ctx)(component.api.queue.cancel, { ...toStoredQueue(queue), id: job.id });
  return await inTurn(ctx, () => jobs.cancel(inQueue(ctx, queueModuleOf(set.options)), queue, job.id), true);
}

async function get(set: LimitSet, ctx: Ctx, job: RateLimitQueuedJob): Promise<RateLimitQueuePosition | null> {
  const queue = findJob(set, job, "getQueued");
  const { component } = set.place;
  if (component) {
    const { plans } = queue;
    const asked = { ...toStoredQueue(queue), ...(plans && { plans: [...plans] }), id: job.id };
    return await component.query(ctx)(component.api.queue.get, asked);
  }
  return await inTurn(ctx, () => jobs.getPosition(inQueue(ctx, ""), queue, job.id));
}

function find({ definitions }: LimitSet, args: AnyBucketArgs, call: string, fields = writtenFields()): Queue {
  const bucket = findBucket(definitions, call, args, fields);
  const { name } = bucket;
  const queue = definitions.get(name)?.queue;
  if (!queue) throw misuseError(name, `has no queue, which ${call} needs: define it with queue: {}.`);
  if (args.config !== undefined) {
    throw misuseError(name, "config must be left out: a queue has that of its definition.");
  }
  return parseQueue({ ...bucket, plan: bucket.plan ?? undefined, queue });
}

function findJob(set: LimitSet, job: unknown, call: string): Queue {
  const { name, key, id } = (typeof job === "object" && job !== null ? job : {}) as Partial<RateLimitQueuedJob>;
  if (typeof name === "string" && typeof id === "string" && id !== "") return find(set, { name, key }, call);
  throw new Error(`${call} needs the job that enqueueRateLimited returned, got ${show(job)}.`);
}

function exposeWorker({ definitions, options }: LimitSet): RegisteredQueue {
  return registeredQueue(queueModuleOf(options), ({ name, key, plan }) => {
    const own = definitions.get(name);
    if (!own?.queue) return undefined;
    const { queue, plans } = own;
    // The plan of jobs from before the limit had plans is unknown.
    const definition = plans ? (plan === undefined ? [...plans.values()][0] : plans.get(plan)) : own;
    const { config } = definition ?? {};
    return config && parseQueue({ name, key, config, definition, plan: plans && plan, queue });
  });
}

function exposeQueue(
  args: { job: ExposedJob<AnyDataModel> },
  get: (ctx: unknown, job: RateLimitQueuedJob) => Promise<RateLimitQueuePosition | null>,
): ExposedQueue {
  const job: Field = { permitted: "a function from ctx and an id to the job", holds: isFunction, isRequired: true };
  checkFields("exposeQueue", "the options", args, { job });
  return {
    getQueued: queryGeneric(
      functionOf(
        () => ({ job: v.string() }),
        () => v.union(queuePositionValidator(), v.null()),
        async (ctx: GenericQueryCtx<AnyDataModel>, { job: requested }) => {
          const job = await args.job(ctx, requested);
          return job && (await get(ctx, job));
        },
      ),
    ),
  };
}
