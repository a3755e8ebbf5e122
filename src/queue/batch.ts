/**
 * The jobs that a run of the worker finds. It looks up to its snapshot, so that a caller who commits meanwhile does not
 * make the run conflict.
 */
import type { BucketId } from "../storage/rows.js";
import type { RunArgs } from "../wire/queue.js";
import { mergeClasses, roundsOf } from "./order.js";
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

/** The jobs to read of each class: of all together, `ofAll` at most. */
const shareOfClass = (most: number, classes: number, ofAll = MOST_READ) => Math.min(most, Math.floor(ofAll / classes));

/**
 * The first jobs of all classes: those in no round, up to a commit, and those in rounds. A list of `share` jobs may go
 * on.
 * @param most - of each class; without `upTo` the jobs as they are now.
 */
export async function readHeads(
  ctx: QueueReader,
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
  // All arrivals that it may read: a round that is assigned late is a later round. A queue that is not fair has jobs in
  // rounds only when it was, before a deploy.
  const range = { most: fair ? MOST_READ : most, upTo, withRounds: !fair };
  const [{ share, arrivals, rounds }, settlements, { count, last = since }] = await Promise.all([
    readHeads(ctx, queue, priorities, range),
    storage.settlementsOf(ctx, queue, { upTo, most: MOST_SETTLED }),
    isCounted
      ? storage.countJobs(ctx, queue, { since, upTo, most: MOST_COUNTED })
      : storage.countNewest(ctx, queue, { since, upTo }),
  ]);
  const found = { arrived: count, seenTo: last, settlements };
  if (!fair) return { ...found, isUnsorted: false, ...mergeClasses([...arrivals, ...rounds], aging, share) };
  for (const jobs of arrivals) await sortIn(ctx, queue, jobs);
  const own = shareOfClass(most, arrivals.length);
  const sorted = await readClasses(ctx, queue, arrivals.length, { isSorted: true, most: own });
  const isUnsorted = arrivals.some(({ length }) => length === share);
  return { ...found, isUnsorted, ...mergeClasses(sorted, aging, own) };
}

/** Gives each job of a class that has arrived its round. @param arrivals - in order of arrival. */
async function sortIn(ctx: QueueWriter, bucket: BucketId, arrivals: readonly JobRow[]) {
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
