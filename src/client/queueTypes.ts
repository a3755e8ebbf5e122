/** The functions of limits with a queue, as their users see them, and what calls to them say. */
import type * as convex from "convex/server";
import type * as wire from "../wire/queue.js";
import type { CountArg, KeyArg, PlanArg, ThrowsArg } from "./args.js";
import type { CallAnswer } from "./rateLimits.js";
import type { ThrowChoice } from "./definitionTypes.js";
import type { AnyDataModel, InComponent, InTables } from "./place.js";
import type { JobCall } from "./scheduler.js";

/** What `enqueueRateLimited` takes. */
export type EnqueueArgs<
  Limits,
  Name,
  Fn extends JobCall["fn"] = JobCall["fn"],
  Said extends ThrowChoice = ThrowChoice,
  Heard extends MutationReference = MutationReference,
> = {
  name: Name;
  /** 0, the default, to one less than the queue's `priorities`: higher ones go first. */
  priority?: number | undefined;
  /**
   * The type of the job's function, if it returns `{ used }` or `{ again }`. The difference to `count` is then charged
   * or given back when the job ends, for a mutation in its own transaction. An action that dies stays charged.
   */
  settles?: SettledType<Fn> | undefined;
  /** A time in ms since the epoch: a job that has no start time by then is dropped. */
  notAfter?: number | undefined;
  /**
   * A mutation that is scheduled when the job is dropped, with `{ args, reason }`: the job's arguments, and a
   * `DropReason`.
   */
  onDropped?: (Heard & HearsOf<Fn, Heard>) | undefined;
} & CountArg &
  ThrowsArg<Said> &
  (Name extends keyof Limits
    ? QueueNeeded<Limits[Name]> & KeyArg<Limits[Name]> & PlanArg<Limits[Name]> & FairByArg<Limits[Name]>
    : unknown);

type MutationReference = convex.FunctionReference<"mutation", convex.FunctionVisibility>;

/** Its arguments are validated when it runs: one that takes others would never hear of the job. */
type HearsOf<Fn extends JobCall["fn"], Heard extends MutationReference> = [
  { args: convex.FunctionArgs<Fn>; reason: wire.DropReason },
  "args" | "reason",
] extends [convex.FunctionArgs<Heard>, keyof convex.FunctionArgs<Heard>]
  ? unknown
  : GetsArgsAndReason;

/** No function has this type: the compiler shows it to a caller whose `onDropped` takes other arguments. */
interface GetsArgsAndReason {
  readonly "it gets { args, reason }, with the arguments of the job": never;
}

/** What a job returns that is settled: the tokens that it used, or that it must run again. */
type Settled = { used: number } | { again: boolean | { after: number } };
type SettledType<Fn extends JobCall["fn"]> = [Extract<convex.FunctionReturnType<Fn>, Settled>] extends [never]
  ? FunctionReturnsNoUse
  : Fn["_type"];

/** No text has this type: the compiler shows it to a caller whose job has nothing to settle. */
interface FunctionReturnsNoUse {
  readonly "the function must return { used } or { again }": never;
}

type QueueNeeded<Definition> = "queue" extends keyof Definition ? unknown : { name: LimitDefinedWithQueue };

/** No name has this type: the compiler shows it to a caller who enqueues on a limit without a queue. */
interface LimitDefinedWithQueue {
  readonly "define the limit with queue: {}": never;
}

type FairByArg<Definition> = Definition extends { queue: { fair: true } }
  ? {
      /** The user of the job: users with jobs of one priority take turns. A non-empty string. */
      fairBy: string;
    }
  : Definition extends { queue: { fair: boolean } }
    ? { fairBy?: string | undefined }
    : string extends keyof Definition
      ? { fairBy?: string | undefined }
      : { fairBy?: OnlyWithFairTrue | undefined };

/** No text has this type: the compiler shows it to a caller who gives `fairBy` to a queue without turns. */
interface OnlyWithFairTrue {
  readonly "define the limit with queue: { fair: true }": never;
}

/**
 * The server's function from the caller, and the id of a job that the client asks for, to that job; null to show
 * nothing.
 */
export type ExposedJob<DataModel extends convex.GenericDataModel = AnyDataModel> = (
  ctx: convex.GenericQueryCtx<DataModel>,
  requested: string,
) => wire.RateLimitQueuedJob | null | Promise<wire.RateLimitQueuedJob | null>;

/** The public query of a queue. */
export interface ExposedQueue {
  getQueued: convex.RegisteredQuery<"public", { job: string }, Promise<wire.RateLimitQueuePosition | null>>;
}

/** The functions of a worker, to export from the module that `queueModule` names. Only the scheduler calls them. */
export interface RegisteredQueue {
  /** One run of the worker, or of a job that is a mutation, with its settlement. */
  workQueue: convex.RegisteredMutation<"internal", wire.WorkArgs, Promise<null>>;
  /** Runs a job that is an action and says what it has used. */
  runQueuedAction: convex.RegisteredAction<"internal", wire.QueuedRunArgs, Promise<null>>;
}

export interface RateLimitQueues<Limits, Contexts extends InTables | InComponent, Default extends ThrowChoice = false> {
  /**
   * Puts a job into the queue of a limit that is defined with `queue`: `fn` is called with its arguments when its
   * tokens are there and its turn has come. Part of the caller's transaction. For work that may wait and move up;
   * `scheduleRateLimited` promises a time at once.
   * @throws when the limit has no queue, the arguments of `fn` are larger than 8 KiB, or priority and user do not fit
   * the queue. In your tables also when the app does not export the worker of jobs that wait.
   */
  enqueueRateLimited: <
    Name extends keyof Limits & string,
    Fn extends JobCall["fn"],
    Said extends ThrowChoice = undefined,
    Heard extends MutationReference = MutationReference,
  >(
    ctx: Contexts["queueMutation"],
    args: EnqueueArgs<Limits, Name, Fn, Said, Heard>,
    fn: Fn,
    ...fnArgs: convex.OptionalRestArgs<Fn>
  ) => Promise<CallAnswer<wire.EnqueueResult, Limits, Name, Said, Default>>;

  /** Takes a job out of its queue: those behind it move up. A job that has its start time stays. */
  cancelQueued: (ctx: Contexts["queueMutation"], job: wire.RateLimitQueuedJob) => Promise<wire.CancelQueuedResult>;

  /**
   * The place of a job, or its start time; null if it starts within a second, has started, or was cancelled or dropped.
   * It reads the first 200 jobs of each priority, or fewer if there are more than two.
   */
  getQueued: (ctx: Contexts["queueQuery"], job: wire.RateLimitQueuedJob) => Promise<wire.RateLimitQueuePosition | null>;

  /**
   * A public query for a page that shows where a job stands: export it from a module. `job` is the server's function
   * from ctx and the id that the client asks for to the job; null or a throw for one that this client may not see.
   */
  exposeQueue: <DataModel extends convex.GenericDataModel = AnyDataModel>(args: {
    job: ExposedJob<DataModel>;
  }) => ExposedQueue;

  /**
   * In your tables: the functions of the queues' workers, to export from the module that `queueModule` names.
   * @throws when `queueModule` is not named.
   */
  exposeQueueWorker: () => RegisteredQueue;
}
