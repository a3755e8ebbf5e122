/** The ctx of a queue's functions, with the tables of queues. */
import type * as convex from "convex/server";
import type { CommitTsPlaceholder } from "convex/values";
import type { JobReader } from "../storage/jobs.js";
import type { RateLimitQueuesDataModel } from "../storage/queueSchema.js";
import type { Reader, TableWriter, Writer } from "../storage/rows.js";
import type { QueueTerms } from "../wire/configs.js";

type Table = "rateLimitQueue" | "rateLimitWorkers" | "rateLimitQueueTerms";
type RowOf<Name extends Table> = convex.DocumentByName<RateLimitQueuesDataModel, Name>;
export type StoredJob = RowOf<"rateLimitQueue">;
/** A job that waits. One that the transaction itself has inserted comes after all others: its commit is yet to come. */
export interface JobRow extends Omit<StoredJob, "at"> {
  /** In ns of the database's clock: no two that do not come together have the same. */
  readonly at: bigint;
}
export type WorkerRow = RowOf<"rateLimitWorkers">;

/** Queries of one table, through its indexes. */
interface TableReader<
  Name extends Table,
  Info extends convex.GenericTableInfo = convex.NamedTableInfo<RateLimitQueuesDataModel, Name>,
> {
  query(table: Name): Pick<convex.QueryInitializer<Info>, "withIndex">;
}

/** The required part of a `ctx.db`. */
export interface QueueReader {
  db: Reader["db"] & {
    /** Never called, as in `Reader`. */
    normalizeId?: (spreadRateLimitQueueTablesIntoTheSchema: "rateLimitQueue", id: string) => unknown;
    get(table: "rateLimitQueue", id: JobRow["_id"]): Promise<StoredJob | null>;
  } & TableReader<"rateLimitQueue"> &
    TableReader<"rateLimitWorkers"> &
    TableReader<"rateLimitQueueTerms">;
}

export interface QueueWriter {
  db: Writer["db"] &
    QueueReader["db"] &
    JobReader["db"] &
    TableWriter<"rateLimitQueue", StoredJob> &
    TableWriter<"rateLimitWorkers", WorkerRow> &
    TableWriter<"rateLimitQueueTerms", RowOf<"rateLimitQueueTerms">> & { vars: { commitTs: CommitTsPlaceholder } };
  scheduler: convex.Scheduler;
}

/** The ctx of a queue's functions in a mutation. */
export interface QueueCtx extends QueueWriter {
  /** The module that exports the worker's functions: convex/queue.ts, or one of the app. */
  readonly module: string;
  /** When the call began, in ms since the epoch. */
  readonly now: number;
  readonly random: () => number;
}

/** The ctx of the worker's own mutations. */
export interface WorkerCtx extends QueueCtx, Pick<convex.GenericMutationCtx<convex.GenericDataModel>, "runMutation"> {
  /** In your tables: the terms as the app defines them now. */
  readonly definedTerms?: (name: string) => QueueTerms | undefined;
  /** The commit up to which the transaction sees all others: no job that comes later has it, or one before it. */
  meta: { getSnapshotTs: () => bigint };
}
