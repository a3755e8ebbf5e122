/**
 * A sweep deletes the rows of workers that nobody needs any more, and starts those that were lost or sleep by old
 * terms.
 */
import { readCursor } from "../storage/batches.js";
import { type BucketId, type Cursor, idOf } from "../storage/rows.js";
import type { QueueTerms } from "../wire/configs.js";
import { hasJobs } from "./rows.js";
import { learnTerms, textOf } from "./terms.js";
import { isLost, readWorker, wake } from "./worker.js";
import type { QueueCtx, QueueReader, WorkerRow } from "./tables.js";

/**
 * Kept this long after it was due: running jobs settle by its plan, actions take ten minutes at most, clocks differ by
 * less.
 */
const KEPT_MS = 15 * 60_000;

/** With a few hundred bytes each, and one read of the jobs of each, far below what a transaction may read. */
const BATCH_ROWS = 256;

/** Cursors of this walk begin so; those of buckets begin with "[". */
const WALK = "workers ";

/** The result of one batch, found or done, and the start of the next batch; null after the last. */
type FoundBatch = { buckets: BucketId[]; cursor: string | null };
type SweptBatch = { deleted: number; cursor: string | null };

/** One batch of a sweep: of buckets, and after the last of these of workers that `find` has found. */
export async function sweepInTurn(
  ctx: QueueCtx,
  { cursor, queues }: { cursor: string | undefined; queues: readonly QueueTerms[] },
  sweepBuckets: () => Promise<SweptBatch>,
  find: (cursor: string) => Promise<FoundBatch>,
): Promise<SweptBatch> {
  for (const queue of queues) await learnTerms(ctx, queue.name, textOf(queue));
  const isAfterBuckets = cursor?.startsWith(WALK) === true;
  const swept = isAfterBuckets ? { deleted: 0, cursor: null } : await sweepBuckets();
  if (swept.cursor !== null) return swept;
  const found = await find(isAfterBuckets ? cursor : WALK);
  let { deleted } = swept;
  for (const bucket of found.buckets) if (await tend(ctx, bucket)) deleted++;
  return { deleted, cursor: found.cursor };
}

/**
 * The buckets of one batch whose workers need a look, also of queues that a deploy has removed, and the cursor of the
 * next batch; null after the last.
 */
export async function findWorkers(
  ctx: QueueReader,
  { queues, cursor }: { queues: readonly QueueTerms[]; cursor: string },
): Promise<FoundBatch> {
  // Then an app may have no such table.
  if (queues.length === 0) return { buckets: [], cursor: null };
  const now = Date.now();
  const texts = queues.map(textOf);
  const [name, key]: Cursor = cursor === WALK ? [""] : readCursor(cursor.slice(WALK.length));
  const workers = () => ctx.db.query("rateLimitWorkers");
  const ofName = workers().withIndex("by_name_key", (q) => q.eq("name", name).gt("key", key ?? undefined));
  const further = workers().withIndex("by_name_key", (q) => q.gt("name", name));
  const rows = await ofName.take(BATCH_ROWS);
  rows.push(...(await further.take(BATCH_ROWS - rows.length)));
  const buckets = rows.filter((row) => isOver(row, now) || mustStart(row, texts, now)).map(idOf);
  const last = rows.length === BATCH_ROWS ? rows.at(-1) : undefined;
  return { buckets, cursor: last ? WALK + JSON.stringify([last.name, last.key ?? null]) : null };
}

/**
 * Starts the worker of a bucket, or deletes its row if nothing waits; whether it has deleted it. Reading the jobs lets
 * it conflict with a caller who adds one.
 */
async function tend(ctx: QueueCtx, bucket: BucketId): Promise<boolean> {
  const row = await readWorker(ctx, bucket);
  const isUnused = row !== null && !(await hasJobs(ctx, bucket));
  if (isUnused) await ctx.db.delete("rateLimitWorkers", row._id);
  else await wake(ctx, bucket);
  return isUnused;
}

const isOver = ({ runsUntil }: WorkerRow, now: number) => now >= runsUntil + KEPT_MS;

/** Whether it was lost, or sleeps by terms that have changed: its job may start earlier now. */
const mustStart = (row: WorkerRow, texts: readonly string[], now: number) =>
  isLost(row, now) || (row.state === "waiting" && !texts.some((text) => text === row.terms));
