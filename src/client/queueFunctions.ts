/** The functions of queues, for limits in either place: what they check, and what they ask of the place. */
import * as convex from "convex/server";
import { v } from "convex/values";
import { checkFields, type Fields, isFunction } from "../engine/fields.js";
import { misuseError, needError } from "../engine/misuse.js";
import { checkBucket } from "../engine/names.js";
import { parseJob } from "../queue/asked.js";
import { withDefaults } from "../queue/terms.js";
import type { QueueTerms } from "../wire/configs.js";
import { functionOf } from "../wire/functionOf.js";
import { present } from "../wire/present.js";
import * as wire from "../wire/queue.js";
import { type AnyArgs, anything, complete } from "./definitions.js";
import { denialError } from "./decision.js";
import { throwsField } from "./options.js";
import type { AnyDataModel, ComponentCalls, Ctx, InTables, LimitSet } from "./place.js";
import { queueTermsOf } from "./plans.js";
import type { ExposedJob, ExposedQueue, RateLimitQueues } from "./queueTypes.js";
import { checkFunction, isReference, type JobCall } from "./scheduler.js";

/** What a place does with queues. */
export interface QueueCalls {
  enqueue(ctx: Ctx, joining: wire.JoinArgs): Promise<wire.EnqueueResult>;
  cancel(ctx: Ctx, job: wire.QueuedArgs): Promise<wire.CancelQueuedResult>;
  get(ctx: Ctx, job: wire.QueuedArgs): Promise<wire.RateLimitQueuePosition | null>;
}

export const inComponent = ({ api, mutation, query }: ComponentCalls): QueueCalls => ({
  enqueue: (ctx, joining) => mutation(ctx, api.queue.enqueue, joining),
  cancel: (ctx, job) => mutation(ctx, api.queue.cancel, job),
  get: (ctx, job) => query(ctx, api.queue.get, job),
});

export function queuesOf(set: LimitSet, calls: QueueCalls) {
  const getQueued = async (ctx: Ctx, job: wire.RateLimitQueuedJob): Promise<wire.RateLimitQueuePosition | null> =>
    await calls.get(ctx, parseHandle(set, job, "getQueued"));

  return {
    async enqueueRateLimited(ctx: Ctx, asked: AnyArgs, fn: JobCall["fn"], ...fnArgs: JobCall["fnArgs"]) {
      const { name, key, plan, throws } = complete(set, "enqueueRateLimited", asked, jobFields());
      const terms = termsOf(set, name, "enqueueRateLimited");
      if (plan === null) throw misuseError(name, "config must be left out: a queue has that of its definition.");
      const [args = {}]: [wire.JoinArgs["args"]?] = fnArgs;
      checkFunction(name, fn, fnArgs);
      const job = parseJob({ name, terms: withDefaults(terms.queue) }, { ...asked, args });
      const onDropped = asked.onDropped && (await convex.createFunctionHandle(asked.onDropped));
      const joining = present({ terms, key, plan, ...job, fn: await convex.createFunctionHandle(fn), onDropped });
      const result = await calls.enqueue(ctx, joining);
      if (throws && !result.ok) throw denialError({ name, key }, result, throws, set.options);
      return result;
    },

    cancelQueued: async (ctx: Ctx, job: wire.RateLimitQueuedJob): Promise<wire.CancelQueuedResult> =>
      await calls.cancel(ctx, parseHandle(set, job, "cancelQueued")),

    getQueued,

    exposeQueue(args: { job: ExposedJob }): ExposedQueue {
      const permitted = "a function from ctx and an id to the job";
      checkFields({ of: "exposeQueue" }, "the options", args, {
        job: { permitted, holds: isFunction, isRequired: true },
      });
      const handler = async (ctx: convex.GenericQueryCtx<AnyDataModel>, { job: requested }: { job: string }) => {
        const job = await args.job(ctx, requested);
        return job && (await getQueued(ctx as never, job));
      };
      return {
        getQueued: convex.queryGeneric(functionOf(() => ({ job: v.string() }), wire.foundPositionValidator, handler)),
      };
    },
  } satisfies Record<Exclude<keyof RateLimitQueues<never, InTables>, "exposeQueueWorker">, unknown>;
}

const jobFields = (): Fields => ({
  count: anything,
  priority: anything,
  fairBy: anything,
  settles: anything,
  notAfter: anything,
  onDropped: { permitted: "a reference to a mutation of yours, such as internal.agent.dropped", holds: isReference },
  throws: throwsField,
});

function termsOf({ definitions }: LimitSet, name: string, call: string): QueueTerms {
  const terms = queueTermsOf(definitions, name);
  if (!terms) throw misuseError(name, `has no queue, which ${call} needs: define it with queue: {}.`);
  return terms;
}

function parseHandle(set: LimitSet, job: unknown, call: string): wire.QueuedArgs {
  const { name, key, id } = (job ?? {}) as Partial<wire.RateLimitQueuedJob>;
  if (typeof name !== "string" || typeof id !== "string" || id === "") {
    throw needError(call, "the job that enqueueRateLimited returned", job);
  }
  checkBucket({ name, key });
  return present({ name, key, id, terms: queueTermsOf(set.definitions, name) });
}
