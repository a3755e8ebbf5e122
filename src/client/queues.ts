/** The functions of limits with a queue, as their users see them. */
import type { GenericDataModel, OptionalRestArgs, SchedulableFunctionReference } from "convex/server";
import type { RegisteredQueue } from "../queue/registered.js";
import type { CancelQueuedResult, EnqueueResult, RateLimitQueuedJob, RateLimitQueuePosition } from "../queue/wire.js";
import type { ReturnedAnswer, ThrowChoice, ThrowChoiceIn } from "./args.js";
import type { ExposedJob, ExposedQueue } from "./exposeQueue.js";
import type { InComponent, InTables } from "./places.js";
import type { EnqueueArgs, QueueNameIn } from "./queueArgs.js";

export interface RateLimitQueues<
  Limits,
  Contexts extends InTables | InComponent,
  Default extends ThrowChoice | undefined = false,
> {
  /**
   * Puts a job into the queue of a limit that is defined with `queue`: `fn` is called with its arguments when its tokens are there and
   * its turn has come. Part of the caller's transaction. For work that may wait in a queue that moves up; `scheduleRateLimited` promises
   * a moment at once.
   * @throws when the limit has no queue, the arguments of `fn` are larger than 8 KiB, or priority and user do not fit the queue.
   */
  enqueueRateLimited: <
    Name extends QueueNameIn<Limits>,
    Fn extends SchedulableFunctionReference,
    Said extends ThrowChoice | undefined = undefined,
  >(
    ctx: Contexts["queueMutation"],
    args: EnqueueArgs<Limits, Name, Fn["_type"], Said>,
    fn: Fn,
    ...fnArgs: OptionalRestArgs<Fn>
  ) => Promise<ReturnedAnswer<EnqueueResult, ThrowChoiceIn<Limits, Name, Said, Default>>>;

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
