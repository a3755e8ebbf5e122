/** The wire form of everything of queues that crosses into the component or out of it. */
import { type Infer, type ObjectType, v } from "convex/values";
import { bucketArgs, configuredArgs } from "./answers.js";
import { plansField, queueConfigValidator } from "./configs.js";

export const queuedJobValidator = () => v.object({ ...bucketArgs(), id: v.string() });

/** A job that waits in a queue: what `cancelQueued` and `getQueued` need to find it. */
export type RateLimitQueuedJob = Infer<ReturnType<typeof queuedJobValidator>>;

export const enqueueResultValidator = () =>
  v.union(
    v.object({ ok: v.literal(true), job: queuedJobValidator() }),
    v.object({ ok: v.literal(false), retryAt: v.number() }),
  );

/**
 * - `ok: true`: the job waits; `job` can be stored, cancelled and asked for.
 * - `ok: false`: `maxQueued` jobs wait; ask again at `retryAt` (milliseconds since the epoch), an estimate.
 */
export type EnqueueResult =
  { ok: true; job: RateLimitQueuedJob; retryAt?: never } | { ok: false; retryAt: number; job?: never };

export const cancelQueuedResultValidator = () => v.object({ canceled: v.boolean() });

/** Whether the job still waited, and is now removed. One whose start time is set, at most a second ahead, cannot be cancelled any more. */
export type CancelQueuedResult = Infer<ReturnType<typeof cancelQueuedResultValidator>>;

export const queuePositionValidator = () => v.object({ ahead: v.number(), isExact: v.boolean(), runAt: v.number() });

/**
 * The place of a job in its queue.
 *
 * - `ahead`: the jobs that go first, counted up to 200.
 * - `isExact`: false for a job that is further back; `ahead` and `runAt` are then the least.
 * - `runAt`: when its tokens will be there if nothing comes before it and nothing is cancelled, in milliseconds since the epoch.
 */
export type RateLimitQueuePosition = Infer<ReturnType<typeof queuePositionValidator>>;

/** `plan`: the name of the plan that the config is. */
const plannedArgs = () => ({ ...configuredArgs(), plan: v.optional(v.string()) });

/** A queue: the bucket that its jobs take from, and its own config. */
const queueArgs = () => ({ ...plannedArgs(), queue: queueConfigValidator() });
export type StoredQueue = ObjectType<ReturnType<typeof queueArgs>>;
/** The same of a call that names no plan. */
export const queuedArgs = () => ({ ...queueArgs(), ...plansField(), id: v.string() });

/** The state that one run of a queue's worker passes to the next. */
const runArgs = () => ({
  /** It has the queue, so that it can continue if the worker's row was deleted by hand. */
  ...queueArgs(),
  /** Which start this run belongs to. */
  generation: v.number(),
  /** The arrivals up to this commit have been seen. */
  seenTo: v.optional(v.int64()),
  /** When the worker last saw an arrival. */
  busyAt: v.optional(v.number()),
  /** How many jobs to look at. */
  most: v.optional(v.number()),
  /** With `maxQueued`, the jobs that wait, about; and when all that wait were last counted. */
  queued: v.optional(v.number()),
  countedAt: v.optional(v.number()),
});
export type RunArgs = ObjectType<ReturnType<typeof runArgs>>;

/** The arguments of the worker: one of these. All of it is one function, so that an app has one mutation to export. */
export const workArgs = () => ({
  /** One run. */
  run: v.optional(v.object(runArgs())),
  /** A job that is a mutation, to run and to settle. */
  job: v.optional(v.object(queuedRunArgs())),
  /** A job that has ended, to settle. */
  settlement: v.optional(v.object(settleArgs())),
});
export type WorkArgs = ObjectType<ReturnType<typeof workArgs>>;

/** The type of the function of a job that reports its use. */
export const settlesValidator = () => v.union(v.literal("mutation"), v.literal("action"));
/** A function handle, and what the function is called with. */
export const callArgs = () => ({ fn: v.string(), args: v.record(v.string(), v.any()) });

export const enqueueArgs = () => ({
  ...queueArgs(),
  count: v.optional(v.number()),
  priority: v.optional(v.number()),
  fairBy: v.optional(v.string()),
  settles: v.optional(settlesValidator()),
  ...callArgs(),
});
export type JoinArgs = ObjectType<ReturnType<typeof enqueueArgs>>;

/** A job that has been paid: how many tokens, when they were promised, and when they were taken. */
const paidArgs = () => ({
  ...plannedArgs(),
  at: v.optional(v.number()),
  takenAt: v.optional(v.number()),
  count: v.number(),
});

/** The data with which a job that runs again keeps its place. */
const turn = () =>
  v.object({
    at: v.int64(),
    priority: v.number(),
    fairBy: v.optional(v.string()),
    /** Not read any more: jobs that were scheduled by earlier versions have it. */
    round: v.optional(v.number()),
    /** How often it has run, with this run. */
    runs: v.number(),
    /** The id under which it was enqueued. */
    first: v.string(),
    /** The queue as it was then: the worker's row may be gone by the time at which the job ends. */
    queue: queueConfigValidator(),
  });

/** A job that is run by the worker's wrapper, which settles it. */
export const queuedRunArgs = () => ({
  ...paidArgs(),
  ...callArgs(),
  turn: v.optional(turn()),
});
export type QueuedRunArgs = ObjectType<ReturnType<typeof queuedRunArgs>>;

/** A job that has said what it used, and perhaps that it must run again. */
const settleArgs = () => ({
  ...paidArgs(),
  used: v.number(),
  again: v.optional(
    v.object({
      turn: turn(),
      settles: settlesValidator(),
      ...callArgs(),
      /** Not before this time, in ms since the epoch. */
      notBefore: v.optional(v.number()),
    }),
  ),
});
export type SettleArgs = ObjectType<ReturnType<typeof settleArgs>>;
