/**
 * The jobs that a run of the worker finds. It looks up to its snapshot, so that a caller who commits meanwhile does not make the run
 * conflict. Where Convex does not say which snapshot that is (before 1.47), a query finds them on a stale one, which is no dependency.
 */
import { type GenericDataModel, type GenericMutationCtx, makeFunctionReference } from "convex/server";
import { type BucketId, idOf } from "../storage/rows.js";
import type { ArrivalBatch, FindArrivalsArgs, RunArgs, StoredQueue } from "../wire/queue.js";
import { merged, roundsOf } from "./order.js";
import * as storage from "./rows.js";
import { MAX_PRIORITIES, type Queue } from "./terms.js";
import type { QueueCtx } from "./wake.js";

/** Jobs that are read of all classes together: with 8 KiB each, an eighth of what a run may read. */
const MOST_READ = 256;
/** The most settlements that a run looks at. */
export const MOST_SETTLED = 64;
/** The most arrivals that a run counts. The next run counts the others. */
const MOST_COUNTED = 5000;

/** The fields that order a job and pay for it. */
export type WaitingJob = Pick<storage.JobRow, "_id" | "at" | "priority" | "count">;

/** The ctx of the worker's own mutations. */
export interface WorkerCtx extends QueueCtx, Pick<GenericMutationCtx<GenericDataModel>, "runQuery" | "runMutation"> {
  meta?: { getSnapshotTs?: () => bigint };
  /** The queue as it is defined now; as it was stored where nobody knows more, as always in the component. */
  readonly lookUp: (stored: StoredQueue) => Queue;
}

/** The first jobs of each class. */
const readClasses = (ctx: storage.QueueReader, bucket: BucketId, classes: number, range: storage.JobRange) =>
  Promise.all(Array.from({ length: classes }, (_, priority) => storage.jobsOf(ctx, bucket, priority, range)));

/** The jobs to read of each class: of all together, `ofAll` at most. */
const shareOfClass = (most: number, classes: number, ofAll = MOST_READ) => Math.min(most, Math.floor(ofAll / classes));

/**
 * The first jobs of all classes: those in no round, up to a commit, and those in rounds. A list of `share` jobs may go on.
 * @param most - of each class; without `upTo` the jobs as they are now.
 */
export async function readHeads(
  ctx: storage.QueueReader,
  bucket: BucketId,
  priorities: number,
  range: { most: number; ofAll?: number; upTo?: bigint | undefined; withRounds?: boolean },
) {
  const { most, ofAll, upTo, withRounds = true } = range;
  // While jobs wait that came when there were more priorities, all that there can be.
  const isCut = await storage.hasAbove(ctx, bucket, priorities - 1);
  const classes = isCut ? MAX_PRIORITIES : priorities;
  const share = shareOfClass(most, classes, ofAll);
  const [arrivals, rounds] = await Promise.all([
    readClasses(ctx, bucket, classes, { upTo, most: share }),
    withRounds ? readClasses(ctx, bucket, classes, { isSorted: true, most: share }) : [],
  ]);
  return { share, arrivals, rounds };
}

/** The batch of a run: the first jobs of each class, and how many have come. */
async function findArrivals(ctx: storage.QueueReader, asked: FindArrivalsArgs, upTo?: bigint) {
  const { priorities, fair, most, since, mostCounted, mostWaiting } = asked;
  const [heads, settlements, { count, last = since }, waiting] = await Promise.all([
    // A queue that is not fair has jobs in rounds only when it was, before a deploy.
    readHeads(ctx, asked, priorities, { most, upTo, withRounds: !fair }),
    storage.settlementsOf(ctx, asked, { upTo, most: MOST_SETTLED }),
    mostCounted > 0
      ? storage.countJobs(ctx, asked, { since, upTo, most: mostCounted })
      : storage.countNewest(ctx, asked, { since, upTo }),
    mostWaiting === undefined ? undefined : storage.countJobs(ctx, asked, { upTo, most: mostWaiting }),
  ]);
  const all = waiting && { count: waiting.count, isCut: waiting.isCut };
  return { ...heads, settlements, arrived: count, seenTo: last, waiting: all };
}

/** The same for the wire: what orders and pays for the jobs. The settlements are the first list of arrivals. */
export async function findBatch(ctx: storage.QueueReader, asked: FindArrivalsArgs): Promise<ArrivalBatch> {
  const { settlements, ...found } = await findArrivals(ctx, asked);
  const shorten = (lists: readonly (readonly storage.JobRow[])[]) =>
    lists.map((jobs) => jobs.map(({ _id, at, priority, count }) => ({ _id, at, priority, count })));
  return { ...found, arrivals: shorten([settlements, ...found.arrivals]), rounds: shorten(found.rounds) };
}

/** The batch on the snapshot of the run. */
export async function findOnSnapshot(
  ctx: WorkerCtx,
  queue: Queue,
  asked: Pick<FindArrivalsArgs, "most" | "mostCounted" | "since" | "mostWaiting">,
): Promise<ArrivalBatch & { settlements: readonly WaitingJob[]; isBefore?: boolean }> {
  const { priorities, fair } = queue.terms;
  const args = { ...idOf(queue), priorities, fair, ...asked };
  const upTo = snapshotOf(ctx);
  if (upTo !== undefined) return await findArrivals(ctx, args, upTo);
  const query = makeFunctionReference<"query", FindArrivalsArgs, ArrivalBatch>(`${ctx.module}:findArrivals`);
  const found = await ctx.runQuery(query, args, { useStaleSnapshot: true });
  const [settlements = [], ...arrivals] = found.arrivals;
  return { ...found, settlements, arrivals, isBefore: true };
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

/**
 * The settlements and the first jobs that wait, in order, and how many jobs have come since the last run; where nobody counts, whether any has.
 * @param run - what the last run knew; `most`: this many jobs of each priority, or fewer if there are many priorities.
 */
export async function look(ctx: WorkerCtx, queue: Queue, run: Pick<RunArgs, "seenTo" | "queued"> & { most: number }) {
  const { most } = run;
  const { fair, maxQueued, exact, aging } = queue.terms;
  const mostCounted = exact || maxQueued === Infinity ? 0 : MOST_COUNTED;
  // If nobody has counted yet, all jobs that wait are new.
  const since = mostCounted > 0 && run.queued === undefined ? undefined : run.seenTo;
  // All arrivals that it may read: a round that is assigned late is a later round.
  const asked = { most: fair ? MOST_READ : most, mostCounted, since };
  const { arrivals, rounds, share, settlements, arrived, seenTo } = await findOnSnapshot(ctx, queue, asked);
  const found = { arrived, seenTo, settlements: await storage.readPresent(ctx, settlements) };
  if (!fair) return { ...found, isUnsorted: false, ...merged([...arrivals, ...rounds], aging, share) };
  for (const jobs of arrivals) await sortIn(ctx, queue, await storage.readPresent(ctx, jobs));
  const own = shareOfClass(most, arrivals.length);
  const sorted = await readClasses(ctx, queue, arrivals.length, { isSorted: true, most: own });
  const isUnsorted = arrivals.some(({ length }) => length === share);
  return { ...found, isUnsorted, ...merged(sorted, aging, own) };
}

/** Gives each job of a class that has arrived its round. @param arrivals - in order of arrival. */
async function sortIn(ctx: storage.QueueWriter, bucket: BucketId, arrivals: readonly storage.JobRow[]) {
  const [head] = arrivals;
  if (!head) return;
  const { priority } = head;
  const users = [...new Set(arrivals.map(({ fairBy }) => fairBy))];
  const [[lowest], ...lasts] = await Promise.all([
    storage.jobsOf(ctx, bucket, priority, { isSorted: true, most: 1 }),
    ...users.map((fairBy) => storage.lastRoundOf(ctx, bucket, priority, fairBy)),
  ]);
  const own = new Map(users.map((user, i) => [user, lasts[i]]));
  for (const { job, round } of roundsOf(arrivals, lowest?.round, own)) await storage.patchJob(ctx, job, { round });
}

/**
 * Whether this job, or none, is the first that waits, and no settlement does: read as it is now, so that a caller who comes meanwhile
 * makes the run conflict.
 */
export async function isFirst(ctx: storage.QueueReader, queue: Queue, id: storage.JobRow["_id"] | undefined) {
  const { priorities, fair, aging } = queue.terms;
  const [settlement] = await storage.settlementsOf(ctx, queue, { most: 1 });
  if (settlement) return false;
  const { share, arrivals, rounds } = await readHeads(ctx, queue, priorities, { most: 1 });
  // A job that has not been sorted in may still go first.
  if (fair && arrivals.some(({ length }) => length > 0)) return false;
  const { first } = merged([...arrivals, ...rounds], aging, share);
  return first[0]?._id === id;
}
