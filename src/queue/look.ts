/**
 * What a run of the worker looks at. It finds the jobs that callers have inserted on a stale snapshot, which is no dependency: one who
 * commits meanwhile does not make the run conflict. Before it stops or sleeps, it reads them as they are.
 */
import type { GenericDataModel, GenericMutationCtx } from "convex/server";
import type { GenericId } from "convex/values";
import { type BucketId, idOf } from "../storage/rows.js";
import { countWaiting, readNewest, readSince } from "./arrivals.js";
import { inOrder } from "./order.js";
import { sortIn } from "./rounds.js";
import {
  type Class,
  type JobRow,
  type QueueReader,
  type QueueWriter,
  readAbove,
  readArrivals,
  readJob,
  readRounds,
} from "./rows.js";
import type { Worker } from "./start.js";
import { MAX_PRIORITIES } from "./config.js";
import type { Queue } from "./terms.js";
import type { ArrivalBatch, FindArrivalsArgs } from "../wire/queue.js";

/** Jobs that are read of all classes together, and those that are only counted: with 8 KiB each, a quarter of what a run may read. */
const MOST_READ = 256;
export const MOST_COUNTED = 500;
/** Jobs that are read to say where one stands, which is all that its transaction does. */
const MOST_SHOWN = 512;

/** What orders and pays for a job. */
export type WaitingJob = Pick<JobRow, "_id" | "at" | "priority" | "count">;

export interface WorkerCtx extends QueueWriter {
  runQuery: GenericMutationCtx<GenericDataModel>["runQuery"];
}

/** What a run has found. */
interface Found {
  /** How many jobs have come since the last run; where nobody counts, whether any has. */
  readonly arrived: number;
  readonly seenTo?: bigint | undefined;
  /** The first jobs that wait, in order; and whether there are more. */
  readonly first: readonly WaitingJob[];
  readonly hasMore: boolean;
}

/** @param most - so many jobs of each priority, or fewer where there are many priorities. */
export async function look(
  ctx: WorkerCtx,
  queue: Queue,
  { since, most }: { since: bigint | undefined; most: number },
  functions: Worker,
): Promise<Found> {
  const { fair, maxQueued, exact, aging } = queue.terms;
  const mostCounted = fair || exact || maxQueued === Infinity ? 0 : MOST_COUNTED;
  // Of arrivals all that it may: rounds that are given late are later rounds.
  const asked = { most: fair ? MOST_READ : most, mostCounted, ...(since !== undefined && { since }) };
  const found = await find(ctx, queue, asked, functions);
  const { arrivals, arrived, seenTo } = found;
  if (!fair) return { arrived, seenTo, ...merged([...arrivals, ...found.rounds], aging, found.share) };
  const classes = classesOf(queue, arrivals.length);
  for (const [i, of] of classes.entries()) await sortIn(ctx, of, await readPresent(ctx, arrivals[i] ?? []));
  const share = shareOf(most, classes);
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

function classesOf(bucket: BucketId, priorities: number): Class[] {
  return Array.from({ length: priorities }, (_, priority) => ({ name: bucket.name, key: bucket.key, priority }));
}

/** The classes of a bucket: while jobs wait that came when there were more priorities, all that there can be. */
async function readClasses(ctx: QueueReader, bucket: BucketId, priorities: number): Promise<Class[]> {
  const isCut = priorities < MAX_PRIORITIES && (await readAbove(ctx, bucket, priorities - 1)) !== null;
  return classesOf(bucket, isCut ? MAX_PRIORITIES : priorities);
}

async function find(
  { runQuery }: WorkerCtx,
  queue: Queue,
  asked: Pick<FindArrivalsArgs, "most" | "mostCounted" | "since" | "mostWaiting">,
  { findArrivals }: Worker,
): Promise<ArrivalBatch> {
  const { priorities, fair } = queue.terms;
  const args: FindArrivalsArgs = { ...idOf(queue), priorities, fair, ...asked };
  return (await runQuery(findArrivals, args, { useStaleSnapshot: true })) as ArrivalBatch;
}

/** How many jobs wait, counted up to so many; `isCut` when they are too large to count them all. */
export async function findWaiting(
  ctx: WorkerCtx,
  queue: Queue,
  mostWaiting: number,
  functions: Worker,
): Promise<{ count: number; isCut: boolean }> {
  const { waiting } = await find(ctx, queue, { most: 1, mostCounted: 0, mostWaiting }, functions);
  return waiting ?? { count: 0, isCut: true };
}

/** The rows of jobs that were found on a snapshot, without those that have been cancelled since. */
export async function readPresent(ctx: QueueReader, jobs: readonly (WaitingJob | JobRow)[]): Promise<JobRow[]> {
  const rows = await Promise.all(jobs.map(async (job) => ("fn" in job ? job : await readJob(ctx, job._id))));
  return rows.filter((row) => row !== null);
}

/** What {@link look} asks of a snapshot. */
export async function findArrivals(ctx: QueueReader, asked: FindArrivalsArgs): Promise<ArrivalBatch> {
  const { name, key, priorities, fair, most, since, mostCounted, mostWaiting } = asked;
  const bucket = { name, key };
  const classes = await readClasses(ctx, bucket, priorities);
  const of = async (read: (of: Class) => Promise<JobRow[]>) => (await Promise.all(classes.map(read))).map(foundIn);
  const share = shareOf(most, classes);
  const [arrivals, rounds, newest, fresh, waiting] = await Promise.all([
    of((one) => readArrivals(ctx, one, share)),
    // A queue that is not fair has jobs in rounds only when it was, before a deploy.
    fair ? [] : of((one) => readRounds(ctx, one, share)),
    readNewest(ctx, bucket),
    mostCounted > 0 ? readSince(ctx, bucket, since, mostCounted) : [],
    mostWaiting === undefined ? undefined : countWaiting(ctx, bucket, mostWaiting),
  ]);
  const seenTo = newest && (since === undefined || newest.at > since) ? newest.at : since;
  return {
    share,
    arrivals,
    rounds,
    arrived: mostCounted > 0 ? fresh.length : Number(seenTo !== since),
    ...(seenTo !== undefined && { seenTo }),
    ...(waiting && { waiting }),
  };
}

function foundIn(jobs: readonly JobRow[]): WaitingJob[] {
  return jobs.map(({ _id, at, priority, count }) => ({ _id, at, priority, count }));
}

/** Whether this job, or none, is the first that waits: read as it is now, so that a caller who comes meanwhile makes the run conflict. */
export async function isFirst(
  ctx: QueueReader,
  queue: Queue,
  id: GenericId<"rateLimitQueue"> | undefined,
): Promise<boolean> {
  const { arrivals, rounds } = await readWaiting(ctx, queue, 1);
  const { fair, aging } = queue.terms;
  // Who has not been sorted in may still go first.
  if (fair && arrivals.some(({ length }) => length > 0)) return false;
  const [first] = inOrder([...arrivals, ...rounds], aging);
  return first?._id === id;
}

/** The jobs of all classes as they are now, at most so many of each: those in no round, and those in rounds. */
export async function readWaiting(
  ctx: QueueReader,
  queue: Queue,
  most: number,
): Promise<{ share: number; arrivals: JobRow[][]; rounds: JobRow[][] }> {
  const classes = await readClasses(ctx, queue, queue.terms.priorities);
  const share = shareOf(most, classes, MOST_SHOWN);
  const [arrivals, rounds] = await Promise.all([
    Promise.all(classes.map((of) => readArrivals(ctx, of, share))),
    Promise.all(classes.map((of) => readRounds(ctx, of, share))),
  ]);
  return { share, arrivals, rounds };
}

function shareOf(most: number, classes: readonly Class[], ofAll = MOST_READ): number {
  return Math.min(most, Math.floor(ofAll / classes.length));
}
