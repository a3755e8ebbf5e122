/** The jobs that a run of the worker finds, up to a commit: itself, or through a query on a stale snapshot (look.ts). */
import type { BucketId } from "../storage/rows.js";
import type { ArrivalBatch, FindArrivalsArgs } from "../wire/queue.js";
import { countWaiting, readNewest, readSince } from "./arrivals.js";
import { MAX_PRIORITIES } from "./config.js";
import { type Class, type JobRow, type QueueReader, readAbove, readArrivals, readRounds } from "./rows.js";

/** Jobs that are read of all classes together: with 8 KiB each, an eighth of what a run may read. */
export const MOST_READ = 256;

export function classesOf(bucket: BucketId, priorities: number): Class[] {
  return Array.from({ length: priorities }, (_, priority) => ({ name: bucket.name, key: bucket.key, priority }));
}

/** The classes of a bucket: while jobs wait that came when there were more priorities, all that there can be. */
export async function readClasses(ctx: QueueReader, bucket: BucketId, priorities: number): Promise<Class[]> {
  const isCut = priorities < MAX_PRIORITIES && (await readAbove(ctx, bucket, priorities - 1)) !== null;
  return classesOf(bucket, isCut ? MAX_PRIORITIES : priorities);
}

export function shareOfClass(most: number, classes: readonly Class[], ofAll = MOST_READ): number {
  return Math.min(most, Math.floor(ofAll / classes.length));
}

/**
 * The batch of a run: the first jobs of each class, and how many have come.
 * @param upTo - without it, all that there is.
 */
export async function findArrivals(
  ctx: QueueReader,
  { name, key, priorities, fair, most, since, mostCounted, mostWaiting }: FindArrivalsArgs,
  upTo?: bigint,
) {
  const bucket = { name, key };
  const classes = await readClasses(ctx, bucket, priorities);
  const share = shareOfClass(most, classes);
  const [arrivals, rounds, newest, fresh, waiting] = await Promise.all([
    Promise.all(classes.map((of) => readArrivals(ctx, of, share, upTo))),
    // A queue that is not fair has jobs in rounds only when it was, before a deploy.
    fair ? [] : Promise.all(classes.map((of) => readRounds(ctx, of, share))),
    readNewest(ctx, bucket, upTo),
    mostCounted > 0 ? readSince(ctx, bucket, since, mostCounted, upTo) : [],
    mostWaiting === undefined ? undefined : countWaiting(ctx, bucket, mostWaiting, upTo),
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

/** The same for the wire: what orders and pays for the jobs. */
export async function findBatch(ctx: QueueReader, asked: FindArrivalsArgs): Promise<ArrivalBatch> {
  const found = await findArrivals(ctx, asked);
  const shorten = (lists: readonly (readonly JobRow[])[]) =>
    lists.map((jobs) => jobs.map(({ _id, at, priority, count }) => ({ _id, at, priority, count })));
  return { ...found, arrivals: shorten(found.arrivals), rounds: shorten(found.rounds) };
}
