/**
 * Rows of the table of jobs, and what is asked of a database: only this file, worker.ts, sweep.ts and terms.ts touch
 * the tables of queues.
 */
import type * as convex from "convex/server";
import { getConvexSize } from "convex/values";
import { type BucketId, idOf } from "../storage/rows.js";
import type { RunArgs, SettleArgs } from "../wire/queue.js";
import type { JobRow, QueueReader, QueueWriter, StoredJob } from "./tables.js";

/** The tokens that an ended job was charged and has used, and when they were promised and taken. */
export type SettledJob = Pick<SettleArgs, "count" | "used" | "at" | "takenAt">;

/**
 * The `priority` of a row that is no job but waits for the worker's next run. It is a settlement to make, or a job that
 * was dismissed, which the worker must not count any more.
 */
const SETTLEMENT = -1;
/** That of a row whose job must run again, but does not wait yet: its `round` is the time from which it does. */
const DELAYED = -2;
/** That of a row whose job does not wait any more: its `round` is the time at which it starts. */
const PAID = -3;

/** As the database compares a commit that is yet to come. */
export const YET_TO_COME = 2n ** 63n - 1n;

/**
 * Counting jobs may read this much of their arguments, and as much of the rest: half of the 16 MiB of a transaction.
 */
const MOST_BYTES = 4 * 2 ** 20;

const toCommit = (ts: StoredJob["arrivedAt"]) => (typeof ts === "bigint" ? ts : YET_TO_COME);

const toJob = (stored: StoredJob): JobRow => ({ ...stored, at: toCommit(stored.at) });

export interface JobRange {
  /** Only a range without it surely includes future commits. */
  readonly upTo?: bigint | undefined;
  /** Those in rounds, the lowest first, instead of those in no round. Only workers put jobs into rounds. */
  readonly isSorted?: boolean;
  readonly most: number;
}

/** The first `most` jobs of one priority. */
export async function jobsOf({ db }: QueueReader, { name, key }: BucketId, priority: number, range: JobRange) {
  const { isSorted = false, upTo, most } = range;
  const found = db.query("rateLimitQueue").withIndex("by_order", (q) => {
    const jobs = q.eq("name", name).eq("key", key).eq("priority", priority);
    if (isSorted) return jobs.gt("round", undefined);
    const arrivals = jobs.eq("round", undefined);
    return upTo === undefined ? arrivals : arrivals.lte("at", upTo);
  });
  return (await found.take(most)).map(toJob);
}

/** The last round of the jobs that wait of a job's user. */
export async function lastRoundOf({ db }: QueueReader, { name, key, priority, fairBy }: JobRow) {
  const sorted = db.query("rateLimitQueue").withIndex("by_user", (q) => {
    const jobs = q.eq("name", name).eq("key", key).eq("priority", priority);
    return jobs.eq("fairBy", fairBy).gt("round", undefined);
  });
  return (await sorted.order("desc").first())?.round;
}

export const settlementsOf = (ctx: QueueReader, bucket: BucketId, range: JobRange) =>
  jobsOf(ctx, bucket, SETTLEMENT, range);

export async function hasAbove({ db }: QueueReader, { name, key }: BucketId, priority: number): Promise<boolean> {
  const above = db
    .query("rateLimitQueue")
    .withIndex("by_order", (q) => q.eq("name", name).eq("key", key).gt("priority", priority));
  return (await above.first()) !== null;
}

/** Whether any job or settlement waits, or will. */
export const hasJobs = (ctx: QueueReader, bucket: BucketId): Promise<boolean> => hasAbove(ctx, bucket, PAID);

/** The last job that was counted, in order of arrival: its commit, and its row if others came with it. */
type Counted = Pick<RunArgs, "seenTo" | "createdTo">;

/**
 * Counts the jobs that arrived after those that were counted, with those that were dismissed meanwhile: at most `most`,
 * and no more than one transaction should read. The next count begins where it ends.
 */
export async function countJobs(
  { db }: QueueReader,
  { name, key }: BucketId,
  { seenTo, createdTo, upTo, most }: Counted & { upTo: bigint; most: number },
) {
  // Settlements and paid jobs have arrived at no time.
  const arrivals = (isBesideLast: boolean) =>
    db.query("rateLimitQueue").withIndex("by_arrival", (q) => {
      const jobs = q.eq("name", name).eq("key", key);
      if (isBesideLast) return jobs.eq("arrivedAt", seenTo).gt("_creationTime", createdTo ?? 0);
      return jobs.gt("arrivedAt", seenTo).lte("arrivedAt", upTo);
    });
  let count = 0;
  let bytes = 0;
  for (const isBesideLast of createdTo === undefined ? [false] : [true, false]) {
    for await (const { arrivedAt, _creationTime, args } of arrivals(isBesideLast)) {
      count++;
      bytes += getConvexSize(args);
      if (count >= most || bytes >= MOST_BYTES) return { count, seenTo: toCommit(arrivedAt), createdTo: _creationTime };
    }
  }
  return { count, seenTo: upTo };
}

/** Whether a job is among those that were counted. */
export const isCounted = ({ arrivedAt, _creationTime }: JobRow, { seenTo = 0n, createdTo = Infinity }: Counted) =>
  toCommit(arrivedAt) < seenTo || (arrivedAt === seenTo && _creationTime <= createdTo);

/**
 * The first jobs that may wait until `upTo` at most. A job that comes meanwhile conflicts only if it expires before
 * `upTo` and is among them.
 */
export async function expiringJobs({ db }: QueueReader, { name, key }: BucketId, upTo: number, most: number) {
  const jobs = db.query("rateLimitQueue").withIndex("by_expiry", (q) => {
    return q.eq("name", name).eq("key", key).gt("notAfter", undefined).lte("notAfter", upTo);
  });
  return (await jobs.take(most)).map(toJob);
}

/** The first jobs that wait again by `upTo`: one that comes meanwhile conflicts only if it is among them. */
export async function delayedJobs({ db }: QueueReader, { name, key }: BucketId, upTo: number, most: number) {
  const jobs = db.query("rateLimitQueue").withIndex("by_order", (q) => {
    return q.eq("name", name).eq("key", key).eq("priority", DELAYED).lte("round", upTo);
  });
  return (await jobs.take(most)).map(toJob);
}

/** The job that was enqueued under an id: one that waits to run again has another. */
export async function findJob(ctx: QueueReader, { name, key }: BucketId, id: string): Promise<JobRow | null> {
  const again = ctx.db.query("rateLimitQueue").withIndex("by_first", (q) => q.eq("first", id));
  const job = (await ctx.db.get("rateLimitQueue", id as JobRow["_id"])) ?? (await again.first());
  return job?.name === name && job.key === key && job.priority !== SETTLEMENT ? toJob(job) : null;
}

type NewJob = Omit<convex.WithoutSystemFields<StoredJob>, "at" | "arrivedAt"> & { at?: bigint };

/** @param job - one that waits again has the place that it had. */
export const insertJob = ({ db }: QueueWriter, job: NewJob) =>
  db.insert("rateLimitQueue", { at: db.vars.commitTs, arrivedAt: db.vars.commitTs, ...job });

/** It has not arrived at any time: it is no job that a worker counts. */
export const insertSettlement = ({ db }: QueueWriter, bucket: BucketId, settlement: SettledJob) =>
  db.insert("rateLimitQueue", {
    ...idOf(bucket),
    at: db.vars.commitTs,
    priority: SETTLEMENT,
    count: Math.abs(settlement.used - settlement.count),
    fn: "",
    args: settlement,
  });

export const patchJob = ({ db }: QueueWriter, { _id }: Pick<JobRow, "_id">, fields: Pick<StoredJob, "round">) =>
  db.patch("rateLimitQueue", _id, fields);

/**
 * Takes out a job that will not run. If jobs are counted, its row keeps the time at which it arrived, so that it is
 * counted once.
 */
export const dismissJob = (ctx: QueueWriter, job: JobRow, { maxQueued = Infinity }: { maxQueued?: number }) => {
  const { db } = ctx;
  const none = { round: undefined, notAfter: undefined, count: 0, args: {} };
  if (maxQueued === Infinity || job.priority === DELAYED) return deleteJob(ctx, job);
  return db.patch("rateLimitQueue", job._id, { ...none, at: db.vars.commitTs, priority: SETTLEMENT });
};

export const isDismissed = ({ args }: JobRow) => !("used" in args);

export const deleteJob = ({ db }: QueueWriter, { _id }: Pick<JobRow, "_id">) => db.delete("rateLimitQueue", _id);

/** Takes a paid job out of the queue, and lets it be found until it starts. */
export const keepStarting = ({ db }: QueueWriter, { _id }: JobRow, startsAt: number) => {
  const none = { arrivedAt: undefined, notAfter: undefined };
  return db.patch("rateLimitQueue", _id, { ...none, priority: PAID, round: startsAt });
};

export const hasStartTime = ({ priority }: JobRow) => priority === PAID;

/** When a job that does not wait starts, or waits again. */
export const awayUntil = ({ priority, round }: JobRow) => (priority < SETTLEMENT ? round : undefined);

/** Keeps a job that must run again from a time on: in the order of these times. It has not arrived yet. */
export const insertDelayed = ({ db }: QueueWriter, job: NewJob & { at: bigint }, startsAt: number) =>
  db.insert("rateLimitQueue", { ...job, priority: DELAYED, priorityThen: job.priority, round: startsAt });

/** Lets it wait in its place, as one that has come now. */
export const bringBack = ({ db }: QueueWriter, { _id, priorityThen = 0 }: JobRow, round: number | undefined) => {
  const now = { priority: priorityThen, priorityThen: undefined, round, arrivedAt: db.vars.commitTs };
  return db.patch("rateLimitQueue", _id, now);
};
