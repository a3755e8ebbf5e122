/** Rows of the table of jobs, and what is asked of a database: only this file, arrivals.ts and workerRows.ts touch the tables of queues. */
import type {
  DocumentByName,
  GenericDatabaseReader,
  GenericDataModel,
  IndexRange,
  IndexRangeBuilder,
  NamedIndex,
  NamedTableInfo,
  Query,
  Scheduler,
  WithoutSystemFields,
} from "convex/server";
import type { CommitTsPlaceholder } from "convex/values";
import type { RateLimitQueuesDataModel } from "../storage/queueTables.js";
import type { BucketId, Reader, Writer } from "../storage/rows.js";

type JobTable = NamedTableInfo<RateLimitQueuesDataModel, "rateLimitQueue">;
type WorkerTable = NamedTableInfo<RateLimitQueuesDataModel, "rateLimitWorkers">;
type StoredJob = DocumentByName<RateLimitQueuesDataModel, "rateLimitQueue">;
/** A job that waits. One that the transaction itself has inserted comes after all others: its commit is yet to come. */
export type JobRow = Omit<StoredJob, "at"> & { readonly at: bigint };
export type WorkerRow = DocumentByName<RateLimitQueuesDataModel, "rateLimitWorkers">;

/** The required part of a `ctx.db`. */
export interface QueueReader {
  db: Reader["db"] & {
    /** Never called, as in `Reader`. */
    normalizeId?: (spreadRateLimitQueueTablesIntoTheSchema: "rateLimitQueue", id: string) => unknown;
    get(table: "rateLimitQueue", id: JobRow["_id"]): Promise<StoredJob | null>;
    query(table: "rateLimitQueue"): {
      withIndex<Index extends "by_order" | "by_arrival" | "by_user" | "by_first">(
        index: Index,
        range: (q: IndexRangeBuilder<StoredJob, NamedIndex<JobTable, Index>>) => IndexRange,
      ): Query<JobTable>;
    };
    query(table: "rateLimitWorkers"): {
      withIndex(
        index: "by_name_key",
        range: (q: IndexRangeBuilder<WorkerRow, NamedIndex<WorkerTable, "by_name_key">>) => IndexRange,
      ): Query<WorkerTable>;
    };
  };
}

export interface QueueWriter {
  db: Writer["db"] &
    QueueReader["db"] & {
      vars: { commitTs: CommitTsPlaceholder };
      system: GenericDatabaseReader<GenericDataModel>["system"];
      insert(table: "rateLimitQueue", row: WithoutSystemFields<StoredJob>): Promise<JobRow["_id"]>;
      insert(table: "rateLimitWorkers", row: WithoutSystemFields<WorkerRow>): Promise<WorkerRow["_id"]>;
      patch(table: "rateLimitQueue", id: JobRow["_id"], fields: Partial<WithoutSystemFields<StoredJob>>): Promise<void>;
      patch(
        table: "rateLimitWorkers",
        id: WorkerRow["_id"],
        fields: Partial<WithoutSystemFields<WorkerRow>>,
      ): Promise<void>;
      delete(table: "rateLimitQueue", id: JobRow["_id"]): Promise<void>;
      delete(table: "rateLimitWorkers", id: WorkerRow["_id"]): Promise<void>;
    };
  scheduler: Scheduler;
}

/** As the database compares a commit that is yet to come. */
const YET_TO_COME = 2n ** 63n - 1n;

export function toJob(stored: StoredJob): JobRow {
  return { ...stored, at: typeof stored.at === "bigint" ? stored.at : YET_TO_COME };
}

/** The jobs of one bucket that have one priority. */
export interface Class extends BucketId {
  readonly priority: number;
}

export async function readJob({ db }: QueueReader, id: JobRow["_id"]): Promise<JobRow | null> {
  const job = await db.get("rateLimitQueue", id);
  return job && toJob(job);
}

/** The job that was enqueued under an id: one that waits to run again has another. */
export async function findJob(ctx: QueueReader, { name, key }: BucketId, id: string): Promise<JobRow | null> {
  const own = await readJob(ctx, id as JobRow["_id"]);
  const again =
    own ??
    (await ctx.db
      .query("rateLimitQueue")
      .withIndex("by_first", (q) => q.eq("first", id))
      .first());
  return again?.name === name && again.key === key ? toJob(again) : null;
}

/** A range that may be cut off at a commit. Only a range without a bound surely includes future commits. */
export function until<Range extends { lte: (field: "at", upTo: bigint) => unknown }>(
  range: Range,
  upTo: bigint | undefined,
): Range | ReturnType<Range["lte"]> {
  return upTo === undefined ? range : (range.lte("at", upTo) as ReturnType<Range["lte"]>);
}

/** Jobs that are in no round, in order of arrival, up to a commit. */
export async function readArrivals(
  { db }: QueueReader,
  { name, key, priority }: Class,
  most: number,
  upTo?: bigint,
): Promise<JobRow[]> {
  const arrivals = await db
    .query("rateLimitQueue")
    .withIndex("by_order", (q) =>
      until(q.eq("name", name).eq("key", key).eq("priority", priority).eq("round", undefined), upTo),
    )
    .take(most);
  return arrivals.map(toJob);
}

/** A job of a higher priority than this. */
export async function readAbove(
  { db }: QueueReader,
  { name, key }: BucketId,
  priority: number,
): Promise<JobRow | null> {
  const job = await db
    .query("rateLimitQueue")
    .withIndex("by_order", (q) => q.eq("name", name).eq("key", key).gt("priority", priority))
    .first();
  return job && toJob(job);
}

/** Jobs that have been sorted in, those of the lowest rounds first. Only workers write in this range. */
export async function readRounds({ db }: QueueReader, { name, key, priority }: Class, most: number): Promise<JobRow[]> {
  const sorted = await db
    .query("rateLimitQueue")
    .withIndex("by_order", (q) => q.eq("name", name).eq("key", key).eq("priority", priority).gt("round", undefined))
    .take(most);
  return sorted.map(toJob);
}

/** A user's last round that waits. */
export async function readLastRound(
  { db }: QueueReader,
  { name, key, priority }: Class,
  fairBy: string | undefined,
): Promise<number | undefined> {
  const last = await db
    .query("rateLimitQueue")
    .withIndex("by_user", (q) =>
      q.eq("name", name).eq("key", key).eq("priority", priority).eq("fairBy", fairBy).gt("round", undefined),
    )
    .order("desc")
    .first();
  return last?.round;
}

export async function insertJob(
  { db }: QueueWriter,
  job: Omit<WithoutSystemFields<StoredJob>, "at">,
): Promise<JobRow["_id"]> {
  return await db.insert("rateLimitQueue", { ...job, at: db.vars.commitTs });
}

/** A job that waits again: it came when it first did. */
export async function insertJobAgain({ db }: QueueWriter, job: WithoutSystemFields<StoredJob>): Promise<void> {
  await db.insert("rateLimitQueue", job);
}

export async function patchJob(
  { db }: QueueWriter,
  { _id }: Pick<JobRow, "_id">,
  fields: Partial<Pick<StoredJob, "round" | "isAwaited">>,
): Promise<void> {
  await db.patch("rateLimitQueue", _id, fields);
}

export async function deleteJob({ db }: QueueWriter, { _id }: Pick<JobRow, "_id">): Promise<void> {
  await db.delete("rateLimitQueue", _id);
}
