/**
 * The jobs that a run of the worker finds. It looks up to its snapshot, so that a caller who commits meanwhile does not
 * make the run conflict.
 */
import type { RunArgs } from "../wire/queue.js";
import { inTurns, mergeClasses, NS_PER_MS, roundsOf } from "./order.js";
import * as storage from "./rows.js";
import { MAX_PRIORITIES, type Queue } from "./terms.js";
import type { JobRow, QueueReader, WorkerCtx } from "./tables.js";

/** Jobs that are read of all classes together: with 8 KiB each, an eighth of what a run may read. */
const MOST_READ = 256;
/** The most settlements that a run looks at. */
export const MOST_SETTLED = 64;
/** The most arrivals that a run counts. The next run counts the others. */
const MOST_COUNTED = 5000;

/**
 * The first jobs that wait, in order: `most` of each class, and `ofAll` of all together; without `upTo` as they are
 * now. `joining`: those of a fair queue that are in no round, with the one that they get; `isCut`: there may be more.
 * @param lastsOf - finds the last rounds of the users of jobs; else those count that are read.
 */
export async function readOrder(
  ctx: QueueReader & Pick<WorkerCtx, "now">,
  queue: Queue,
  {
    most,
    ofAll = MOST_READ,
    mostArrivals = most,
    upTo,
  }: { most: number; ofAll?: number; mostArrivals?: number; upTo?: bigint },
  lastsOf?: (jobs: readonly JobRow[]) => Promise<Parameters<typeof roundsOf>[2]>,
) {
  const { fair, priorities, aging } = queue.terms;
  // While jobs wait that came when there were more priorities, all that there can be.
  const classes = (await storage.hasAbove(ctx, queue, priorities - 1)) ? MAX_PRIORITIES : priorities;
  const share = Math.min(most, Math.floor(ofAll / classes));
  const arrivalShare = Math.min(mostArrivals, Math.floor(ofAll / classes));
  const read = (range: storage.JobRange) =>
    Promise.all(Array.from({ length: classes }, (_, priority) => storage.jobsOf(ctx, queue, priority, range)));
  const [found, rounds] = await Promise.all([
    read({ upTo, most: arrivalShare }),
    read({ isSorted: true, most: share }),
  ]);
  // A job of this transaction is as old as it is now, not younger than all that will ever come.
  const at = BigInt(ctx.now * NS_PER_MS);
  const arrivals = found.map((jobs) => jobs.map((job) => (job.at === storage.YET_TO_COME ? { ...job, at } : job)));
  // A queue that is not fair has jobs in rounds only when it was, before a deploy.
  if (!fair) return { ...mergeClasses([...arrivals, ...rounds], aging, share), joining: [], isCut: false };
  const joining = await Promise.all(
    arrivals.map(async (jobs, priority) => roundsOf(jobs, rounds[priority] ?? [], await lastsOf?.(jobs))),
  );
  const lists = joining.map((jobs, priority) => inTurns(rounds[priority] ?? [], jobs));
  const isCut = arrivals.some(({ length }) => length === arrivalShare);
  return { ...mergeClasses(lists, aging, share), joining: joining.flat(), isCut };
}

/**
 * The settlements and the first jobs that wait, in order, and how many jobs have come since the last run; where nobody
 * counts, whether any has. Each job of a fair queue that has arrived gets its round.
 * @param run - what the last run knew; `most`: this many jobs of each priority, or fewer if there are many priorities.
 */
export async function look(
  ctx: WorkerCtx,
  queue: Queue,
  { most, queued, seenTo, createdTo }: Pick<RunArgs, "seenTo" | "createdTo" | "queued"> & { most: number },
) {
  const { fair, maxQueued } = queue.terms;
  const isCounted = maxQueued < Infinity;
  // If nobody has counted yet, all jobs that wait are new.
  const since = isCounted && queued === undefined ? {} : { seenTo, createdTo };
  const upTo = ctx.meta.getSnapshotTs();
  const lastsOf = (jobs: readonly JobRow[]) => {
    const firsts = new Map(jobs.map((job) => [job.fairBy, job]));
    return Promise.all(Array.from(firsts, async ([user, job]) => [user, await storage.lastRoundOf(ctx, job)] as const));
  };
  const [{ joining, isCut, ...order }, settlements, { count, ...seen }] = await Promise.all([
    // All arrivals that it may read: a round that is assigned late is a later round.
    readOrder(ctx, queue, { most, ...(fair && { mostArrivals: MOST_READ }), upTo }, lastsOf),
    storage.settlementsOf(ctx, queue, { upTo, most: MOST_SETTLED }),
    storage.countJobs(ctx, queue, { ...since, upTo, most: isCounted ? MOST_COUNTED : 1 }),
  ]);
  for (const job of joining) await storage.patchJob(ctx, job, { round: job.round });
  // More may have expired than one run drops.
  const first = order.first.filter(({ notAfter = Infinity }) => notAfter > ctx.now);
  return { arrived: count, seen: isCounted ? seen : { seenTo: upTo }, settlements, isUnsorted: isCut, ...order, first };
}

/**
 * Whether this job, or none, is the first that waits, and no settlement does: read as it is now, so that a caller who
 * comes meanwhile makes the run conflict.
 */
export async function isFirst(ctx: QueueReader & Pick<WorkerCtx, "now">, queue: Queue, id: JobRow["_id"] | undefined) {
  const [settlement] = await storage.settlementsOf(ctx, queue, { most: 1 });
  if (settlement) return false;
  const { first, joining } = await readOrder(ctx, queue, { most: 1 });
  // A job that has not been sorted in may still go first.
  return joining.length === 0 && first[0]?._id === id;
}
