/**
 * The jobs that a run of the worker finds. It looks up to its snapshot, so that a caller who commits meanwhile does not
 * make the run conflict.
 */
import type { BucketId } from "../storage/rows.js";
import type { RunArgs } from "../wire/queue.js";
import { inTurns, mergeClasses, roundsOf } from "./order.js";
import * as storage from "./rows.js";
import { MAX_PRIORITIES, type Queue } from "./terms.js";
import type { JobRow, QueueReader, QueueWriter, WorkerCtx } from "./tables.js";

/** Jobs that are read of all classes together: with 8 KiB each, an eighth of what a run may read. */
const MOST_READ = 256;
/** The most settlements that a run looks at. */
export const MOST_SETTLED = 64;
/** The most arrivals that a run counts. The next run counts the others. */
const MOST_COUNTED = 5000;

/** The first jobs of each class. */
const readClasses = (ctx: QueueReader, bucket: BucketId, classes: number, range: storage.JobRange) =>
  Promise.all(Array.from({ length: classes }, (_, priority) => storage.jobsOf(ctx, bucket, priority, range)));

/**
 * The first jobs of all classes: those in no round, up to a commit, and those in rounds. A list of `share` jobs may go
 * on.
 * @param most - of each class, and `ofAll` of all together; without `upTo` the jobs as they are now.
 * @param mostArrivals - of those in no round, if they are others.
 */
export async function readHeads(
  ctx: QueueReader,
  bucket: BucketId,
  priorities: number,
  range: { most: number; mostArrivals?: number; ofAll?: number; upTo?: bigint | undefined },
) {
  const { most, mostArrivals = most, ofAll = MOST_READ, upTo } = range;
  // While jobs wait that came when there were more priorities, all that there can be.
  const isCut = await storage.hasAbove(ctx, bucket, priorities - 1);
  const classes = isCut ? MAX_PRIORITIES : priorities;
  const share = Math.min(most, Math.floor(ofAll / classes));
  const arrivalShare = Math.min(mostArrivals, Math.floor(ofAll / classes));
  const [arrivals, rounds] = await Promise.all([
    readClasses(ctx, bucket, classes, { upTo, most: arrivalShare }),
    readClasses(ctx, bucket, classes, { isSorted: true, most: share }),
  ]);
  return { share, arrivals, rounds, isCut: arrivals.some(({ length }) => length === arrivalShare) };
}

/**
 * The settlements and the first jobs that wait, in order, and how many jobs have come since the last run; where nobody
 * counts, whether any has.
 * @param run - what the last run knew; `most`: this many jobs of each priority, or fewer if there are many priorities.
 */
export async function look(ctx: WorkerCtx, queue: Queue, run: Pick<RunArgs, "seenTo" | "queued"> & { most: number }) {
  const { most } = run;
  const { fair, maxQueued, priorities, aging } = queue.terms;
  const isCounted = maxQueued < Infinity;
  // If nobody has counted yet, all jobs that wait are new.
  const since = isCounted && run.queued === undefined ? undefined : run.seenTo;
  const upTo = ctx.meta.getSnapshotTs();
  // All arrivals that it may read: a round that is assigned late is a later round.
  const range = { most, ...(fair && { mostArrivals: MOST_READ }), upTo };
  const [{ share, arrivals, rounds, isCut }, settlements, { count, last = since }] = await Promise.all([
    readHeads(ctx, queue, priorities, range),
    storage.settlementsOf(ctx, queue, { upTo, most: MOST_SETTLED }),
    isCounted
      ? storage.countJobs(ctx, queue, { since, upTo, most: MOST_COUNTED })
      : storage.countNewest(ctx, queue, { since, upTo }),
  ]);
  // A queue that is not fair has jobs in rounds only when it was, before a deploy.
  const lists = fair
    ? await Promise.all(arrivals.map((jobs, priority) => sortIn(ctx, jobs, rounds[priority] ?? [])))
    : [...arrivals, ...rounds];
  return { arrived: count, seenTo: last, settlements, isUnsorted: fair && isCut, ...mergeClasses(lists, aging, share) };
}

/** Gives each job of a class that has arrived its round. @returns the class in its order, as far as it was read. */
async function sortIn(ctx: QueueWriter, arrivals: readonly JobRow[], sorted: readonly JobRow[]) {
  const firsts = new Map(arrivals.map((job) => [job.fairBy, job]));
  const lasts = await Promise.all(
    Array.from(firsts, async ([user, job]) => [user, await storage.lastRoundOf(ctx, job)] as const),
  );
  const joining = roundsOf(arrivals, sorted, lasts);
  for (const job of joining) await storage.patchJob(ctx, job, { round: job.round });
  return inTurns(sorted, joining);
}

/**
 * Whether this job, or none, is the first that waits, and no settlement does: read as it is now, so that a caller who
 * comes meanwhile makes the run conflict.
 */
export async function isFirst(ctx: QueueReader, queue: Queue, id: JobRow["_id"] | undefined) {
  const { priorities, fair, aging } = queue.terms;
  const [settlement] = await storage.settlementsOf(ctx, queue, { most: 1 });
  if (settlement) return false;
  const { share, arrivals, rounds } = await readHeads(ctx, queue, priorities, { most: 1 });
  // A job that has not been sorted in may still go first.
  if (fair && arrivals.some(({ length }) => length > 0)) return false;
  const { first } = mergeClasses([...arrivals, ...rounds], aging, share);
  return first[0]?._id === id;
}
