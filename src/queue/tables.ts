/** The tables of queues, as the functions of a queue need them from a ctx. */
import type * as convex from "convex/server";
import type { CommitTsPlaceholder } from "convex/values";
import type { JobReader } from "../storage/jobs.js";
import type { RateLimitQueuesDataModel } from "../storage/queueSchema.js";
import type { Reader, TableWriter, Writer } from "../storage/rows.js";

type JobTable = convex.NamedTableInfo<RateLimitQueuesDataModel, "rateLimitQueue">;
type WorkerTable = convex.NamedTableInfo<RateLimitQueuesDataModel, "rateLimitWorkers">;
type TermsTable = convex.NamedTableInfo<RateLimitQueuesDataModel, "rateLimitQueueTerms">;
export type StoredJob = convex.DocumentByName<RateLimitQueuesDataModel, "rateLimitQueue">;
/** A job that waits. One that the transaction itself has inserted comes after all others: its commit is yet to come. */
export interface JobRow extends Omit<StoredJob, "at" | "arrivedAt"> {
  /** In ns of the database's clock: no two that do not come together have the same. */
  readonly at: bigint;
  readonly arrivedAt: bigint;
}
export type WorkerRow = convex.DocumentByName<RateLimitQueuesDataModel, "rateLimitWorkers">;
export type TermsRow = convex.DocumentByName<RateLimitQueuesDataModel, "rateLimitQueueTerms">;

/**
 * The required part of a `ctx.db`, a type for each table: the compiler compares overloads of one type without type
 * parameters.
 */
export interface QueueReader {
  db: Reader["db"] & {
    /** Never called, as in `Reader`. */
    normalizeId?: (spreadRateLimitQueueTablesIntoTheSchema: "rateLimitQueue", id: string) => unknown;
    get(table: "rateLimitQueue", id: JobRow["_id"]): Promise<StoredJob | null>;
    query(table: "rateLimitQueue"): {
      withIndex<Index extends "by_order" | "by_arrival" | "by_user" | "by_expiry" | "by_first">(
        index: Index,
        range: (q: convex.IndexRangeBuilder<StoredJob, convex.NamedIndex<JobTable, Index>>) => convex.IndexRange,
      ): convex.Query<JobTable>;
    };
  } & {
    query(table: "rateLimitWorkers"): {
      withIndex(
        index: "by_name_key",
        range: (
          q: convex.IndexRangeBuilder<WorkerRow, convex.NamedIndex<WorkerTable, "by_name_key">>,
        ) => convex.IndexRange,
      ): convex.Query<WorkerTable>;
    };
  } & {
    query(table: "rateLimitQueueTerms"): {
      withIndex(
        index: "by_name",
        range: (q: convex.IndexRangeBuilder<TermsRow, convex.NamedIndex<TermsTable, "by_name">>) => convex.IndexRange,
      ): convex.Query<TermsTable>;
    };
  };
}

export interface QueueWriter {
  db: Writer["db"] &
    QueueReader["db"] &
    JobReader["db"] &
    TableWriter<"rateLimitQueue", StoredJob> &
    TableWriter<"rateLimitWorkers", WorkerRow> &
    TableWriter<"rateLimitQueueTerms", TermsRow> & { vars: { commitTs: CommitTsPlaceholder } };
  scheduler: convex.Scheduler;
}
