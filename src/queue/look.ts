/**
 * A run of the worker looks at the jobs up to its snapshot, so that a caller who commits meanwhile does not make the run conflict.
 * Where Convex does not say which snapshot that is (before 1.47), a query finds them on a stale one, which is no dependency. Before
 * it stops or sleeps, it reads them as they are.
 */
import type { GenericDataModel, GenericMutationCtx } from "convex/server";
import type { GenericId } from "convex/values";
import { idOf } from "../storage/rows.js";
import { classesOf, findArrivals, MOST_READ, readClasses, shareOfClass } from "./batch.js";
import { inOrder } from "./order.js";
import { sortIn } from "./rounds.js";
import { type JobRow, type QueueReader, readArrivals, readJob, readRounds } from "./rows.js";
import type { OwnCtx } from "./start.js";
import type { Queue } from "./terms.js";
import type { ArrivalBatch, FindArrivalsArgs } from "../wire/queue.js";

/** Jobs that are only counted, at most: with 8 KiB each, a quarter of what a run may read. */
export const MOST_COUNTED = 500;
/** Jobs that are read to say where one stands, which is all that its transaction does. */
const MOST_SHOWN = 512;

/** The fields that order a job and pay for it. */
export type WaitingJob = Pick<JobRow, "_id" | "at" | "priority" | "count">;

/** The ctx of a run of the worker. */
export interface WorkerCtx extends OwnCtx {
  meta?: { getSnapshotTs?: () => bigint };
  runQuery: GenericMutationCtx<GenericDataModel>["runQuery"];
}

/** The result of a look. */
interface Found {
  /** How many jobs have come since the last run; where nobody counts, whether any has. */
  readonly arrived: number;
  readonly seenTo?: bigint | undefined;
  /** The first jobs that wait, in order; and whether there are more. */
  readonly first: readonly WaitingJob[];
  readonly hasMore: boolean;
}

/** @param most - this many jobs of each priority, or fewer if there are many priorities. */
export async function look(
  ctx: WorkerCtx,
  queue: Queue,
  { since, most }: { since: bigint | undefined; most: number },
): Promise<Found> {
  const { fair, maxQueued, exact, aging } = queue.terms;
  const mostCounted = fair || exact || maxQueued === Infinity ? 0 : MOST_COUNTED;
  // All arrivals that it may read: a round that is assigned late is a later round.
  const asked = { most: fair ? MOST_READ : most, mostCounted, ...(since !== undefined && { since }) };
  const found = await find(ctx, queue, asked);
  const { arrivals, arrived, seenTo } = found;
  if (!fair) return { arrived, seenTo, ...merged([...arrivals, ...found.rounds], aging, found.share) };
  const classes = classesOf(queue, arrivals.length);
  for (const [i, of] of classes.entries()) await sortIn(ctx, of, await readPresent(ctx, arrivals[i] ?? []));
  const share = shareOfClass(most, classes);
  const rounds = await Promise.all(classes.map((of) => readRounds(ctx, of, share)));
  const { first, hasMore } = merged(rounds, aging, share);
  const sorted = arrivals.map(({ length }) => length);
  return {
    arrived: sorted.reduce((sum, length) => sum + length, 0),
    seenTo,
    first,
    hasMore: hasMore || sorted.includes(found.share),
  };
}

/** Several lists in one order, as far as it is known. A list of `share` jobs may go on. */
export function merged<Job extends WaitingJob>(
  lists: readonly (readonly Job[])[],
  aging: number,
  share: number,
): { first: Job[]; hasMore: boolean } {
  const isCut = (list: readonly Job[] | undefined) => list !== undefined && list.length >= share;
  const first: Job[] = [];
  for (const job of inOrder(lists, aging)) {
    first.push(job);
    if (lists.some((list) => isCut(list) && list.at(-1) === job)) return { first, hasMore: true };
  }
  return { first, hasMore: false };
}

async function find(
  ctx: WorkerCtx,
  queue: Queue,
  asked: Pick<FindArrivalsArgs, "most" | "mostCounted" | "since" | "mostWaiting">,
): Promise<ArrivalBatch> {
  const { priorities, fair } = queue.terms;
  const args: FindArrivalsArgs = { ...idOf(queue), priorities, fair, ...asked };
  const upTo = snapshotOf(ctx);
  if (upTo !== undefined) return await findArrivals(ctx, args, upTo);
  return (await ctx.runQuery(ctx.worker.findArrivals, args, { useStaleSnapshot: true })) as ArrivalBatch;
}

/** The commit up to which the transaction sees all others: no job that comes later has it, or one before it. */
function snapshotOf({ meta }: WorkerCtx): bigint | undefined {
  try {
    return meta?.getSnapshotTs?.();
  } catch {
    // A backend that is older than the app's convex.
    return undefined;
  }
}

/** Counts the waiting jobs, at most `mostWaiting`; `isCut` if they are too large to count them all. */
export async function findWaiting(
  ctx: WorkerCtx,
  queue: Queue,
  mostWaiting: number,
): Promise<{ count: number; isCut: boolean }> {
  const { waiting } = await find(ctx, queue, { most: 1, mostCounted: 0, mostWaiting });
  return waiting ?? { count: 0, isCut: true };
}

/** The rows of jobs that were found on a snapshot, without those that have been cancelled since. */
export async function readPresent(ctx: QueueReader, jobs: readonly (WaitingJob | JobRow)[]): Promise<JobRow[]> {
  const rows = await Promise.all(jobs.map(async (job) => ("fn" in job ? job : await readJob(ctx, job._id))));
  return rows.filter((row) => row !== null);
}

/** Whether this job, or none, is the first that waits: read as it is now, so that a caller who comes meanwhile makes the run conflict. */
export async function isFirst(
  ctx: QueueReader,
  queue: Queue,
  id: GenericId<"rateLimitQueue"> | undefined,
): Promise<boolean> {
  const { arrivals, rounds } = await readWaiting(ctx, queue, 1);
  const { fair, aging } = queue.terms;
  // A job that has not been sorted in may still go first.
  if (fair && arrivals.some(({ length }) => length > 0)) return false;
  const [first] = inOrder([...arrivals, ...rounds], aging);
  return first?._id === id;
}

/** The present jobs of all classes, at most `most` of each: those in no round, and those in rounds. */
export async function readWaiting(
  ctx: QueueReader,
  queue: Queue,
  most: number,
): Promise<{ share: number; arrivals: JobRow[][]; rounds: JobRow[][] }> {
  const classes = await readClasses(ctx, queue, queue.terms.priorities);
  const share = shareOfClass(most, classes, MOST_SHOWN);
  const [arrivals, rounds] = await Promise.all([
    Promise.all(classes.map((of) => readArrivals(ctx, of, share))),
    Promise.all(classes.map((of) => readRounds(ctx, of, share))),
  ]);
  return { share, arrivals, rounds };
}
