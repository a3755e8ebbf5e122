/** Rows of the two tables of queues: the only file that touches them. */
import type {
  DocumentByName,
  IndexRange,
  IndexRangeBuilder,
  NamedIndex,
  NamedTableInfo,
  Query,
  Scheduler,
  WithoutSystemFields,
} from "convex/server";
import type { RateLimitsDataModel } from "../storage/tables.js";
import type { BucketId, Reader, Writer } from "../storage/rows.js";

type JobTable = NamedTableInfo<RateLimitsDataModel, "rateLimitQueue">;
type WorkerTable = NamedTableInfo<RateLimitsDataModel, "rateLimitWorkers">;
export type JobRow = DocumentByName<RateLimitsDataModel, "rateLimitQueue">;
export type WorkerRow = DocumentByName<RateLimitsDataModel, "rateLimitWorkers">;

/** What is asked of a `ctx.db`, and no more. */
export interface QueueReader {
  db: Reader["db"] & {
    get(table: "rateLimitQueue", id: JobRow["_id"]): Promise<JobRow | null>;
    query(table: "rateLimitQueue"): {
      withIndex(
        index: "by_order",
        range: (q: IndexRangeBuilder<JobRow, NamedIndex<JobTable, "by_order">>) => IndexRange,
      ): Query<JobTable>;
      withIndex(
        index: "by_user",
        range: (q: IndexRangeBuilder<JobRow, NamedIndex<JobTable, "by_user">>) => IndexRange,
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
      insert(table: "rateLimitQueue", row: WithoutSystemFields<JobRow>): Promise<JobRow["_id"]>;
      insert(table: "rateLimitWorkers", row: WithoutSystemFields<WorkerRow>): Promise<WorkerRow["_id"]>;
      patch(table: "rateLimitQueue", id: JobRow["_id"], fields: Partial<WithoutSystemFields<JobRow>>): Promise<void>;
      patch(
        table: "rateLimitWorkers",
        id: WorkerRow["_id"],
        fields: Partial<WithoutSystemFields<WorkerRow>>,
      ): Promise<void>;
      delete(table: "rateLimitQueue", id: JobRow["_id"]): Promise<void>;
    };
  scheduler: Scheduler;
}

/** The jobs of one bucket that have one priority. */
export interface Class extends BucketId {
  readonly priority: number;
}

export async function readWorker({ db }: QueueReader, { name, key }: BucketId): Promise<WorkerRow | null> {
  return await db
    .query("rateLimitWorkers")
    .withIndex("by_name_key", (q) => q.eq("name", name).eq("key", key))
    .first();
}

export async function readJob({ db }: QueueReader, id: JobRow["_id"]): Promise<JobRow | null> {
  return await db.get("rateLimitQueue", id);
}

/** Jobs that are in no round, in order of arrival: those that came after `from`, up to and including `to`. */
export async function readArrivals(
  { db }: QueueReader,
  { name, key, priority }: Class,
  { from, to }: { from: number; to: number },
  most: number,
): Promise<JobRow[]> {
  return await db
    .query("rateLimitQueue")
    .withIndex("by_order", (q) => {
      const arrivals = q.eq("name", name).eq("key", key).eq("priority", priority).eq("round", undefined);
      return arrivals.gt("at", from).lte("at", to);
    })
    .take(most);
}

/** Jobs that have been sorted in, those of the lowest rounds first. Only workers write in this range. */
export async function readRounds({ db }: QueueReader, { name, key, priority }: Class, most: number): Promise<JobRow[]> {
  return await db
    .query("rateLimitQueue")
    .withIndex("by_order", (q) => q.eq("name", name).eq("key", key).eq("priority", priority).gt("round", undefined))
    .take(most);
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

export async function insertJob({ db }: QueueWriter, job: WithoutSystemFields<JobRow>): Promise<JobRow["_id"]> {
  return await db.insert("rateLimitQueue", job);
}

export async function patchJob(
  { db }: QueueWriter,
  { _id }: Pick<JobRow, "_id">,
  fields: Partial<Pick<JobRow, "round" | "isAwaited">>,
): Promise<void> {
  await db.patch("rateLimitQueue", _id, fields);
}

export async function deleteJob({ db }: QueueWriter, { _id }: Pick<JobRow, "_id">): Promise<void> {
  await db.delete("rateLimitQueue", _id);
}

export async function insertWorker({ db }: QueueWriter, row: WithoutSystemFields<WorkerRow>): Promise<void> {
  await db.insert("rateLimitWorkers", row);
}

export async function patchWorker(
  { db }: QueueWriter,
  { _id }: WorkerRow,
  fields: Partial<WithoutSystemFields<WorkerRow>>,
): Promise<void> {
  await db.patch("rateLimitWorkers", _id, fields);
}
