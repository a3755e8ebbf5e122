/** The wire form of everything of queues that crosses into the component or out of it. */
import { type Infer, type ObjectType, v } from "convex/values";
import { bucketArgs } from "./answers.js";
import { queueTerms } from "./configs.js";

export const queuedJobValidator = () => v.object({ ...bucketArgs(), id: v.string() });

/** A job that waits in a queue: what `cancelQueued` and `getQueued` need to find it. */
export type RateLimitQueuedJob = Infer<ReturnType<typeof queuedJobValidator>>;

export const enqueueResultValidator = () =>
  v.union(
    v.object({ ok: v.literal(true), job: queuedJobValidator() }),
    v.object({ ok: v.literal(false), retryAt: v.number(), reason: v.optional(v.literal("too large")) }),
  );

/**
 * - `ok: true`: the job waits; `job` can be stored, cancelled and asked for.
 * - `ok: false`: `maxQueued` jobs wait. By `retryAt` (milliseconds since the epoch) one of them has left, if nothing
 *   else happens. With the
 *   `reason` "too large" the bucket can never start the job, or not within five years.
 */
export type EnqueueResult =
  | { ok: true; job: RateLimitQueuedJob; retryAt?: never; reason?: never }
  | { ok: false; retryAt: number; reason?: "too large"; job?: never };

export const cancelQueuedResultValidator = () => v.object({ canceled: v.boolean() });

/** Whether the job still waited, and is now removed. One that has its start time cannot be cancelled any more. */
export type CancelQueuedResult = Infer<ReturnType<typeof cancelQueuedResultValidator>>;

export const queuePositionValidator = () =>
  v.union(v.object({ ahead: v.number(), startsAt: v.optional(v.number()) }), v.object({ startsAt: v.number() }));

export const foundPositionValidator = () => v.union(queuePositionValidator(), v.null());

/**
 * The place of a job in its queue.
 *
 * - `ahead`: the jobs that go first, counted up to 200, or fewer if there are more than two priorities. It is absent if
 *   the job has its start time, or must run again from a time on.
 * - `startsAt`: when the job starts, or waits again, in milliseconds since the epoch. While it waits this is an
 *   estimate: when the bucket will have had as many tokens as those ahead and the job take. It is absent for a job
 *   further back than `ahead` counts, in a block, and while no worker runs.
 */
export type RateLimitQueuePosition = { ahead: number; startsAt?: number } | { ahead?: never; startsAt: number };

/** A key of a queue, and the plan of its jobs, if the limit has plans. */
const queueArgs = () => ({ ...bucketArgs(), plan: v.optional(v.string()) });

/** A call about a key of a queue: what its caller knows of the terms. */
export const knowingArgs = () => ({ terms: v.object(queueTerms()), key: v.optional(v.string()) });
/** A call about a job. Without terms, since a deploy has removed the queue, those hold that are stored. */
export const queuedArgs = () => ({ ...bucketArgs(), id: v.string(), terms: v.optional(v.object(queueTerms())) });
export type QueuedArgs = ObjectType<ReturnType<typeof queuedArgs>>;

/** The state that one run of a queue's worker passes to the next. */
const runArgs = () => ({
  /** With the plan, so that it can continue if the worker's row was deleted by hand. */
  ...queueArgs(),
  /** Which start this run belongs to. */
  generation: v.number(),
  /** The arrivals up to this commit have been seen; if not all of its own, those up to this creation time. */
  seenTo: v.optional(v.int64()),
  createdTo: v.optional(v.number()),
  /** When the worker last saw an arrival. */
  busyAt: v.optional(v.number()),
  /** How many jobs to look at. */
  most: v.optional(v.number()),
  /** With `maxQueued`, the jobs that wait. */
  queued: v.optional(v.number()),
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
  /** A job that has failed: its function may be missing. */
  failed: v.optional(v.object(queuedRunArgs())),
  /** The row of a job that has started. */
  started: v.optional(v.id("rateLimitQueue")),
});
export type WorkArgs = ObjectType<ReturnType<typeof workArgs>>;

/** The type of the function of a job that reports its use. */
export const settlesValidator = () => v.union(v.literal("mutation"), v.literal("action"));
/** A function handle, and what the function is called with. */
export const callArgs = () => ({ fn: v.string(), args: v.record(v.string(), v.any()) });
/** Until when a job may wait, in ms since the epoch, and the handle of the mutation that is told when it is dropped. */
export const dropArgs = () => ({ notAfter: v.optional(v.number()), onDropped: v.optional(v.string()) });

/** Why a job is dropped: it has run `attempts` times, has no start time by `notAfter`, or its function is gone. */
export type DropReason = "attempts" | "expired" | "function missing";

export const enqueueArgs = () => ({
  ...knowingArgs(),
  plan: v.optional(v.string()),
  count: v.optional(v.number()),
  priority: v.optional(v.number()),
  fairBy: v.optional(v.string()),
  settles: v.optional(settlesValidator()),
  ...callArgs(),
  ...dropArgs(),
});
export type JoinArgs = ObjectType<ReturnType<typeof enqueueArgs>>;

/** A job that has been paid: how many tokens, when they were promised, and when they were taken. */
const paidArgs = () => ({
  ...queueArgs(),
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
    /** How often it has run, with this run. */
    runs: v.number(),
    /** The id under which it was enqueued. */
    first: v.string(),
    ...dropArgs(),
  });

/** A job that is run by the worker's wrapper, which settles it. */
export const queuedRunArgs = () => ({ ...paidArgs(), ...callArgs(), turn: turn() });
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
