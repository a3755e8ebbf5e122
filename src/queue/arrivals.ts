/** The jobs of a bucket in their order of arrival, across all priorities. */
import { getConvexSize } from "convex/values";
import type { BucketId } from "../storage/rows.js";
import { type JobRow, type QueueReader, toJob, until } from "./rows.js";

/** All commits come after this. */
const BEFORE_ALL = -1n;

/**
 * The part of the 16 MiB that a transaction may read which is for arguments of jobs that are only counted. The rest of a job may be
 * as large.
 */
const MOST_BYTES = 4 * 2 ** 20;

/** Jobs of all priorities that have come after a commit, in order of arrival. */
export async function readSince(
  { db }: QueueReader,
  { name, key }: BucketId,
  since: bigint = BEFORE_ALL,
  most: number,
  upTo?: bigint,
): Promise<JobRow[]> {
  const jobs = await db
    .query("rateLimitQueue")
    .withIndex("by_arrival", (q) => until(q.eq("name", name).eq("key", key).gt("at", since), upTo))
    .take(most);
  return jobs.map(toJob);
}

/** Whether any job waits, in a round or not. */
export async function hasJobs(ctx: QueueReader, bucket: BucketId): Promise<boolean> {
  return (await readSince(ctx, bucket, BEFORE_ALL, 1)).length > 0;
}

/** The job that has come last. */
export async function readNewest({ db }: QueueReader, { name, key }: BucketId, upTo?: bigint): Promise<JobRow | null> {
  const job = await db
    .query("rateLimitQueue")
    .withIndex("by_arrival", (q) => until(q.eq("name", name).eq("key", key), upTo))
    .order("desc")
    .first();
  return job && toJob(job);
}

/** Counts the waiting jobs, at most `most`; `isCut` if they are more than one transaction should read. */
export async function countWaiting(
  { db }: QueueReader,
  { name, key }: BucketId,
  most: number,
  upTo?: bigint,
): Promise<{ count: number; isCut: boolean }> {
  let count = 0;
  let bytes = 0;
  const jobs = db
    .query("rateLimitQueue")
    .withIndex("by_arrival", (q) => until(q.eq("name", name).eq("key", key), upTo));
  for await (const job of jobs) {
    count++;
    bytes += getConvexSize(job.args);
    if (count >= most) break;
    if (bytes >= MOST_BYTES) return { count, isCut: true };
  }
  return { count, isCut: false };
}
