/** The functions of limits with a queue: join it, leave it, ask for one's place. */
import { createFunctionHandle } from "convex/server";
import { misuseError, show } from "../engine/misuse.js";
import { parseJob } from "../queue/job.js";
import { registeredQueue } from "../queue/registered.js";
import { type Worker, workerFunctionsIn } from "../queue/start.js";
import { type Queue, queueAt } from "../queue/terms.js";
import type { RateLimitQueuedJob } from "../queue/wire.js";
import type { AnyBucketArgs } from "./args.js";
import { thrown } from "./decision.js";
import { checkArgs, checkTerms, type Definitions } from "./definitions.js";
import { exposeQueue } from "./exposeQueue.js";
import type { InComponent, InTables, Place } from "./places.js";
import type { AnyEnqueueArgs } from "./queueArgs.js";
import type { RateLimitQueues } from "./queues.js";
import type { RateLimitsOptions } from "./rateLimits.js";
import { checkFunction } from "./schedule.js";

const ENQUEUE_FIELDS = ["count", "priority", "fairBy", "settles", "throws"];

interface Internal<Contexts extends InTables | InComponent> extends RateLimitQueues<unknown, Contexts> {
  /** After tokens have come back to a bucket: jobs that wait in its queue, if it has one, may be paid earlier. */
  wake: (ctx: unknown, bucket: AnyBucketArgs) => Promise<void>;
}

export function queueFunctionsIn<Contexts extends InTables | InComponent>(
  { queues: place }: Place<Contexts>,
  { limits, queues, lookUp, termsOf }: Definitions,
  { queueModule, throws: byDefault = false, errorKeys = false }: RateLimitsOptions,
): Internal<Contexts> {
  const find = (args: AnyBucketArgs, call: string, fields?: readonly string[]): Queue => {
    checkArgs(args, call, limits);
    const { name, config } = args;
    const bucket = lookUp(args, call, fields);
    const terms = queues.get(name);
    const limit = limits.get(name);
    if (!terms || !limit) throw misuseError(name, `has no queue, which ${call} needs: define it with queue: {}.`);
    if (config !== undefined) throw misuseError(name, "config must be left out: a queue has that of its definition.");
    return queueAt(limit, bucket.key, terms);
  };
  const functions = (): Worker => {
    if (queueModule !== undefined) return workerFunctionsIn(queueModule);
    throw new Error(
      'Rate limits with a queue in your tables need { queueModule: "limits" } in the options of defineRateLimits, naming the module that exports exposeQueueWorker().',
    );
  };
  const findJob = (job: RateLimitQueuedJob, call: string): Queue => {
    checkQueuedJob(job, call);
    return find({ name: job.name, key: job.key }, call);
  };
  const getQueued: Internal<Contexts>["getQueued"] = async (ctx, job) =>
    await place.get(ctx, findJob(job, "getQueued"), job.id);
  return {
    enqueueRateLimited: async (ctx, args, fn, ...[fnArgs = {}]) => {
      const asked = args as unknown as AnyEnqueueArgs;
      const queue = find(asked, "enqueueRateLimited", ENQUEUE_FIELDS);
      const { name, key, throws = termsOf(name)?.throws ?? byDefault } = asked;
      checkTerms(name, { throws });
      checkFunction(name, fn, [fnArgs]);
      const parsed = parseJob(queue, asked, "", fnArgs);
      const withHandle = async () => ({ ...parsed, fn: await createFunctionHandle(fn) });
      const result = await place.enqueue(ctx, queue, withHandle, functions);
      if (throws && !result.ok) throw thrown({ name, key }, result, throws, errorKeys);
      return result as never;
    },
    cancelQueued: async (ctx, job) => await place.cancel(ctx, findJob(job, "cancelQueued"), job.id, functions),
    getQueued,
    exposeQueue: (args) => exposeQueue(args, getQueued as never),
    exposeQueueWorker: () => {
      if (queueModule === undefined) functions();
      return registeredQueue(queueModule ?? "", ({ name, key }) => {
        const [limit, terms] = [limits.get(name), queues.get(name)];
        return limit && terms && queueAt(limit, key, terms);
      });
    },
    wake: async (ctx, { name, key }) => {
      if (!queues.has(name)) return;
      await place.wake(ctx as Contexts["queueMutation"], { name, key }, functions);
    },
  };
}

function checkQueuedJob(job: unknown, call: string): void {
  const { name, id } = (typeof job === "object" && job !== null ? job : {}) as Partial<RateLimitQueuedJob>;
  if (typeof name === "string" && typeof id === "string" && id !== "") return;
  throw new Error(`${call} needs the job that enqueueRateLimited returned, got ${show(job)}.`);
}
