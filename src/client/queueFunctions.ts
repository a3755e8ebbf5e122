/** The functions of limits with a queue: join it, leave it, ask for one's place. */
import {
  createFunctionHandle,
  type GenericDataModel,
  type OptionalRestArgs,
  type SchedulableFunctionReference,
} from "convex/server";
import type { Value } from "convex/values";
import type { Fields } from "../engine/fields.js";
import { misuseError, show } from "../engine/misuse.js";
import { parseJob } from "../queue/job.js";
import { type RegisteredQueue, registeredQueue } from "../queue/registered.js";
import { type WorkerFunctions, workerFunctionsIn } from "../queue/start.js";
import { type Queue, queueAt } from "../queue/terms.js";
import type { CancelQueuedResult, EnqueueResult, RateLimitQueuedJob, RateLimitQueuePosition } from "../queue/wire.js";
import type { AnyBucketArgs } from "./args.js";
import type { Definitions } from "./definitions.js";
import { type ExposedJob, type ExposedQueue, exposeQueue } from "./exposeQueue.js";
import type { InComponent, InTables, Place } from "./places.js";
import type { AnyEnqueueArgs, EnqueueArgs, QueueNameIn } from "./queueArgs.js";
import type { RateLimitsOptions } from "./rateLimits.js";

export interface QueueFunctions<Limits, Contexts extends InTables | InComponent> {
  /**
   * Puts a job into the queue of a limit that is defined with `queue`: `fn` is called with its arguments when its tokens are there and
   * its turn has come. Part of the caller's transaction. For work that may wait in a queue that moves up; `scheduleRateLimited` promises
   * a moment at once.
   * @throws when the limit has no queue, the arguments of `fn` are larger than 8 KiB, or priority and user do not fit the queue.
   */
  enqueueRateLimited: <Name extends QueueNameIn<Limits>, Fn extends SchedulableFunctionReference>(
    ctx: Contexts["queueMutation"],
    args: EnqueueArgs<Limits, Name>,
    fn: Fn,
    ...fnArgs: OptionalRestArgs<Fn>
  ) => Promise<EnqueueResult>;

  /** Takes a job out of its queue: those behind it move up. Too late for one that has its moment, which is at most a second ahead. */
  cancelQueued: (ctx: Contexts["queueMutation"], job: RateLimitQueuedJob) => Promise<CancelQueuedResult>;

  /** Where a job stands; null when it does not wait any more. It reads up to 200 rows of each priority. */
  getQueued: (ctx: Contexts["queueQuery"], job: RateLimitQueuedJob) => Promise<RateLimitQueuePosition | null>;

  /**
   * A public query for a page that shows where a job stands: export it from a module. `job` is the server's function from ctx and the id
   * that the client asks for to the job; null or a throw for one that this client may not see.
   */
  exposeQueue: <DataModel extends GenericDataModel = GenericDataModel>(args: {
    job: ExposedJob<DataModel>;
  }) => ExposedQueue;

  /** In your tables: the functions of the queues' workers, to export from the module that `queueModule` names. */
  exposeQueueWorker: () => RegisteredQueue;
}

const ENQUEUE_FIELDS: Fields = Object.fromEntries(
  ["count", "priority", "fairBy", "settles"].map((field) => [field, { permitted: "anything", holds: () => true }]),
);

interface Internal<Contexts extends InTables | InComponent> extends QueueFunctions<unknown, Contexts> {
  /** After tokens have come back to a bucket: whoever waits in its queue, if it has one, may be paid earlier. */
  wake: (ctx: unknown, bucket: AnyBucketArgs) => Promise<void>;
}

export function queueFunctionsIn<Contexts extends InTables | InComponent>(
  { queues: place }: Place<Contexts>,
  { limits, queues, lookUp }: Definitions,
  { queueModule }: RateLimitsOptions,
): Internal<Contexts> {
  const find = ({ name, key, ...rest }: AnyBucketArgs, call: string, fields?: Fields): Queue => {
    const bucket = lookUp({ name, ...(key !== undefined && { key }), ...rest }, call, fields);
    const terms = queues.get(name);
    const limit = limits.get(name);
    if (!terms || !limit) throw misuseError(name, `has no queue, which ${call} needs: define it with queue: {}.`);
    if (rest.config !== undefined)
      throw misuseError(name, "config must be left out: a queue has that of its definition.");
    return queueAt(limit, bucket.key, terms);
  };
  const functions = (): WorkerFunctions => {
    if (queueModule !== undefined) return workerFunctionsIn(queueModule);
    throw new Error(
      'Rate limits with a queue in your tables need { queueModule: "limits" } in the options of defineRateLimits, naming the module that exports exposeQueueWorker().',
    );
  };
  const findJob = (job: RateLimitQueuedJob, call: string): Queue => {
    checkQueuedJob(job, call);
    return find({ name: job.name, ...(job.key !== undefined && { key: job.key }) }, call);
  };
  const getQueued: Internal<Contexts>["getQueued"] = async (ctx, job) =>
    await place.get(ctx, findJob(job, "getQueued"), job.id);
  return {
    enqueueRateLimited: async (ctx, args, fn, ...[fnArgs = {}]) => {
      const asked = args as unknown as AnyEnqueueArgs;
      const queue = find(asked, "enqueueRateLimited", ENQUEUE_FIELDS);
      const parsed = parseJob(queue, asked, "", fnArgs as Record<string, Value>);
      return await place.enqueue(ctx, queue, { ...parsed, fn: await createFunctionHandle(fn) }, functions);
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
