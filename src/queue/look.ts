/**
 * What a run of the worker looks at. It finds the jobs that callers have inserted on a stale snapshot, which is no dependency: one whose
 * transaction took longer than others does not make the run conflict. Before it stops or sleeps, it reads them as they are.
 */
import type { GenericDataModel, GenericMutationCtx } from "convex/server";
import type { GenericId } from "convex/values";
import { idOf } from "../storage/rows.js";
import { inOrder } from "./order.js";
import { sortIn } from "./rounds.js";
import {
  type Class,
  type JobRow,
  type QueueReader,
  type QueueWriter,
  readArrivals,
  readJob,
  readRounds,
} from "./rows.js";
import type { Worker } from "./start.js";
import type { Queue } from "./terms.js";
import type { ArrivalBatch, FindArrivalsArgs } from "./wire.js";

/** The arrivals of a class that a run looks at: it writes each of those that it sorts in, and only counts the others. */
const MOST_SORTED = 128;
const MOST_COUNTED = 1000;

/** What orders and pays for a job. */
export type WaitingJob = Pick<JobRow, "_id" | "at" | "priority" | "count">;

export interface WorkerCtx extends QueueWriter {
  runQuery: GenericMutationCtx<GenericDataModel>["runQuery"];
}

interface Found {
  readonly count: number;
  /** Whether there are more than one run sorts in. */
  readonly hasMore: boolean;
}

export function classesOf({ limit, key, terms }: Queue): Class[] {
  return Array.from({ length: terms.priorities }, (_, priority) => ({ name: limit.name, key, priority }));
}

/** The arrivals since the last run, and the first jobs of each class, at most so many. */
export async function look(
  ctx: WorkerCtx,
  queue: Queue,
  { from, to }: { from: number; to: number },
  most: number,
  functions: Worker,
): Promise<{ arrivals: Found; heads: readonly (readonly (WaitingJob | JobRow)[])[] }> {
  const { fair, maxQueued, exact } = queue.terms;
  const mostCounted = fair ? 0 : maxQueued < Infinity && !exact ? MOST_COUNTED : 1;
  const asked = { to, most: fair ? MOST_SORTED : most, since: from, mostCounted };
  const found = await find(ctx, queue, asked, functions);
  if (!fair) return { arrivals: { count: found.count, hasMore: false }, heads: found.classes };
  const classes = classesOf(queue);
  for (const [i, of] of classes.entries()) await sortIn(ctx, of, await readPresent(ctx, found.classes[i] ?? []));
  return {
    arrivals: {
      count: found.classes.reduce((sum, { length }) => sum + length, 0),
      hasMore: found.classes.some(({ length }) => length === MOST_SORTED),
    },
    heads: await Promise.all(classes.map((of) => readRounds(ctx, of, most))),
  };
}

/** How many jobs that are in no round have come after one moment and up to another, of each class at most so many. */
export async function countArrivals(
  ctx: WorkerCtx,
  queue: Queue,
  { from, to }: { from: number; to: number },
  most: number,
  functions: Worker,
): Promise<number> {
  return (await find(ctx, queue, { to, most: 1, since: from, mostCounted: most }, functions)).count;
}

async function find(
  { runQuery }: WorkerCtx,
  queue: Queue,
  asked: Omit<FindArrivalsArgs, "name" | "key" | "priorities">,
  { findArrivals }: Worker,
): Promise<ArrivalBatch> {
  const args: FindArrivalsArgs = { ...idOf(queue), priorities: queue.terms.priorities, ...asked };
  return (await runQuery(findArrivals, args, { useStaleSnapshot: true })) as ArrivalBatch;
}

/** The rows of jobs that were found on a snapshot, without those that have been cancelled since. */
export async function readPresent(ctx: QueueReader, jobs: readonly (WaitingJob | JobRow)[]): Promise<JobRow[]> {
  const rows = await Promise.all(jobs.map(async (job) => ("fn" in job ? job : await readJob(ctx, job._id))));
  return rows.filter((row) => row !== null);
}

/** What {@link look} asks of a snapshot. */
export async function findArrivals(ctx: QueueReader, asked: FindArrivalsArgs): Promise<ArrivalBatch> {
  const { priorities, to, most, since, mostCounted, ...bucket } = asked;
  const classes = Array.from({ length: priorities }, (_, priority) => ({ key: undefined, ...bucket, priority }));
  const [heads, fresh] = await Promise.all([
    Promise.all(classes.map((of) => readArrivals(ctx, of, { from: -1, to }, most))),
    Promise.all(mostCounted > 0 ? classes.map((of) => readArrivals(ctx, of, { from: since, to }, mostCounted)) : []),
  ]);
  return {
    count: fresh.reduce((sum, { length }) => sum + length, 0),
    classes: heads.map((jobs) => jobs.map(({ _id, at, priority, count }) => ({ _id, at, priority, count }))),
  };
}

/** Whether this job, or none, is the first that waits: read as it is now, so that a caller who comes meanwhile makes the run conflict. */
export async function isFirst(
  ctx: QueueReader,
  queue: Queue,
  id: GenericId<"rateLimitQueue"> | undefined,
): Promise<boolean> {
  const classes = classesOf(queue);
  const all = { from: -1, to: Infinity };
  const [arrivals, rounds] = await Promise.all([
    Promise.all(classes.map((of) => readArrivals(ctx, of, all, 1))),
    Promise.all(queue.terms.fair ? classes.map((of) => readRounds(ctx, of, 1)) : []),
  ]);
  // Who has not been sorted in may still go first.
  if (queue.terms.fair && arrivals.some(({ length }) => length > 0)) return false;
  const [first] = inOrder(queue.terms.fair ? rounds : arrivals, queue.terms.aging);
  return first?._id === id;
}
