/** Sweeping the rows of workers that nobody needs any more: the next caller inserts another. */
import { readCursor, writeCursor } from "../storage/batches.js";
import { type BucketId, idOf } from "../storage/rows.js";
import { hasJobs } from "./arrivals.js";
import type { QueueReader, QueueWriter, WorkerRow } from "./rows.js";
import { deleteWorker, readWorker, readWorkers } from "./workerRows.js";

/**
 * A row stays for this long after its worker was last due. By its config jobs are settled that still run, and an action runs for
 * ten minutes at most. Clocks of servers differ by less.
 */
const KEPT_MS = 15 * 60_000;

/** With a few hundred bytes each, and one read of the jobs of each, far below what a transaction may read. */
const BATCH_ROWS = 256;

/** Cursors of this walk begin so; those of buckets begin with "[". */
const WALK = "workers ";

interface Batch {
  readonly deleted: number;
  /** The start of the next batch; null after the last. */
  readonly cursor: string | null;
}

/** One batch of a sweep: of buckets, and after the last of these of workers. */
export async function sweepInTurn(
  cursor: string | undefined,
  sweepBuckets: () => Promise<Batch>,
  sweepWorkers: (cursor: string) => Promise<Batch>,
): Promise<Batch> {
  if (cursor?.startsWith(WALK)) return await sweepWorkers(cursor);
  const buckets = await sweepBuckets();
  if (buckets.cursor !== null) return buckets;
  const workers = await sweepWorkers(WALK);
  return { deleted: buckets.deleted + workers.deleted, cursor: workers.cursor };
}

/** The buckets of one batch whose workers' rows may go, and the cursor of the next batch; null after the last. */
export async function findIdle(
  ctx: QueueReader,
  { names, cursor }: { names: readonly string[]; cursor: string },
): Promise<{ buckets: BucketId[]; cursor: string | null }> {
  const now = Date.now();
  const from = cursor === WALK ? undefined : readCursor("sweep", cursor.slice(WALK.length));
  const sorted = [...new Set(names)].sort();
  const buckets: BucketId[] = [];
  for (const name of from ? sorted.filter((each) => each >= from.name) : sorted) {
    const rows = await readWorkers(ctx, name === from?.name ? from : { name }, BATCH_ROWS);
    buckets.push(...rows.filter((row) => isOver(row, now)).map(idOf));
    const last = rows.length === BATCH_ROWS ? rows.at(-1) : undefined;
    if (last) return { buckets, cursor: WALK + writeCursor({ name, after: { key: last.key } }) };
  }
  return { buckets, cursor: null };
}

/** Deletes the rows of these buckets' workers, unless one has been started or jobs wait; says how many. */
export async function deleteIdle(ctx: QueueWriter, buckets: readonly BucketId[]): Promise<number> {
  const now = Date.now();
  let deleted = 0;
  for (const bucket of buckets) {
    const row = await readWorker(ctx, bucket);
    // Reading the jobs lets it conflict with a caller who adds one.
    if (!row || !isOver(row, now) || (await hasJobs(ctx, bucket))) continue;
    await deleteWorker(ctx, row);
    deleted++;
  }
  return deleted;
}

function isOver({ runsUntil }: WorkerRow, now: number): boolean {
  return now >= runsUntil + KEPT_MS;
}

/** One batch where the rows are at hand, in the same transaction. */
export async function sweepWorkers(ctx: QueueWriter, names: readonly string[], cursor: string): Promise<Batch> {
  const found = await findIdle(ctx, { names, cursor });
  return { deleted: await deleteIdle(ctx, found.buckets), cursor: found.cursor };
}
