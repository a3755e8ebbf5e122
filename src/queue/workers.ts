/**
 * Starting a bucket's worker, and sweeping the rows of those that nobody needs any more. The row says whether the worker runs, so a caller
 * reads that one row, which is hardly ever written, and writes nothing as long as the worker runs.
 */
import { compareValues } from "convex/values";
import { misuseError } from "../engine/misuse.js";
import { readCursor } from "../storage/batches.js";
import { readJob } from "../storage/jobs.js";
import { type BucketId, type Cursor, idOf } from "../storage/rows.js";
import type { RunArgs, WorkArgs } from "../wire/queue.js";
import { hasJobs, type QueueReader, type QueueWriter, type WorkerRow } from "./rows.js";
import { type Queue, storedPart, toStoredQueue } from "./terms.js";
import { isLost, isRunning, LEASE_MS, patchWorker, type QueueCtx, readWorker, start } from "./wake.js";

/** Whether `fullUntil` of a row is about the bound of these terms. */
export const hasBound = ({ queue: { maxQueued = Infinity } }: WorkerRow, terms: Queue["terms"]) =>
  maxQueued === terms.maxQueued;

/**
 * Whether a full queue's worker sleeps under a config that a deploy or another plan has replaced. The limit may have been raised, so the
 * caller's job is let in and starts the worker. Callers under different plans may take turns: they let in as many jobs again as the bound
 * permits, and then one job a minute after the last one.
 */
export async function isOutdated(ctx: QueueCtx, row: WorkerRow, queue: Queue): Promise<boolean> {
  const { state, queued = Infinity, config, plan, start } = row;
  const { maxQueued } = queue.terms;
  // If nobody knows how many wait, more do than may.
  const beyond = queued - maxQueued;
  if (state !== "waiting" || beyond < 0 || compareValues(config, toStoredQueue(queue).config) === 0) return false;
  if (plan === queue.plan || beyond < maxQueued) return true;
  if (!start) return false;
  const [{ run } = {}] = (await readJob(ctx, start)).args as [WorkArgs?];
  return ctx.now >= (run?.busyAt ?? 0) + LEASE_MS;
}

/** Makes sure that the worker runs, under the queue's own config. */
export async function ensureRunning(ctx: QueueCtx, queue: Queue, row: WorkerRow | null) {
  const stored = toStoredQueue(queue);
  const runs = row !== null && isRunning(row, ctx.now);
  const isSame = row !== null && compareValues(storedPart(row), stored) === 0;
  if (runs && isSame) return;
  const started = runs ? row : await start(ctx, stored, row);
  // A number that was counted under other terms is no longer true.
  const counted = isSame ? {} : { queued: undefined };
  if (!row) await ctx.db.insert("rateLimitWorkers", { ...stored, ...started });
  else
    await patchWorker(ctx, row, {
      ...(!isSame && { plan: undefined, ...stored }),
      ...(!hasBound(row, queue.terms) && { fullUntil: undefined }),
      ...(!runs && started),
      ...counted,
    });
}

/**
 * Jobs wait, and the run that was to serve them has failed: an app that does not export its worker must learn it. For a minute; then
 * somebody's call starts the worker again, in case it can run by now.
 */
export async function checkExported(ctx: QueueCtx, row: WorkerRow | null): Promise<void> {
  if (!row?.start || !isLost(row, ctx.now) || ctx.now >= row.runsUntil + LEASE_MS) return;
  if ((await readJob(ctx, row.start)).state !== "failed") return;
  throw misuseError(
    row.name,
    `jobs wait, and their worker cannot run: ${ctx.module}.ts must export ` +
      "{ workQueue, runQueuedAction } = exposeQueueWorker() (queueModule), and the backend must be of convex 1.47 or later.",
  );
}

/**
 * The worker's row that a run finds; null when another start has taken over, so that two chains of runs never go on side by side. If the
 * row was deleted by hand while jobs wait, this run puts it back: of several chains the first one does.
 */
export async function readOwnWorker(ctx: QueueCtx, run: RunArgs): Promise<WorkerRow | null> {
  const row = await readWorker(ctx, run);
  const { generation } = run;
  if (row) return row.generation === generation ? row : null;
  if (!(await hasJobs(ctx, run))) return null;
  const runsUntil = ctx.now + LEASE_MS;
  await ctx.db.insert("rateLimitWorkers", { ...storedPart(run), generation, state: "running", runsUntil });
  return await readWorker(ctx, run);
}

/** Kept this long after it was due: running jobs settle by its config, actions take ten minutes at most, clocks differ by less. */
const KEPT_MS = 15 * 60_000;

/** With a few hundred bytes each, and one read of the jobs of each, far below what a transaction may read. */
const BATCH_ROWS = 256;

/** Cursors of this walk begin so; those of buckets begin with "[". */
const WALK = "workers ";

/** The result of one batch, found or done, and the start of the next batch; null after the last. */
type IdleBatch = { buckets: BucketId[]; cursor: string | null };
type SweptBatch = { deleted: number; cursor: string | null };

/** One batch of a sweep: of buckets, and after the last of these of workers that `find` has found idle. */
export async function sweepInTurn(
  ctx: QueueWriter,
  cursor: string | undefined,
  sweepBuckets: () => Promise<SweptBatch>,
  find: (cursor: string) => Promise<IdleBatch>,
): Promise<SweptBatch> {
  const isAfterBuckets = cursor?.startsWith(WALK) === true;
  const swept = isAfterBuckets ? { deleted: 0, cursor: null } : await sweepBuckets();
  if (swept.cursor !== null) return swept;
  const idle = await find(isAfterBuckets ? cursor : WALK);
  return { deleted: swept.deleted + (await deleteIdle(ctx, idle.buckets)), cursor: idle.cursor };
}

/** The buckets of one batch whose workers' rows may go, and the cursor of the next batch; null after the last. */
export async function findIdle(
  ctx: QueueReader,
  { names, cursor }: { names: readonly string[]; cursor: string },
): Promise<IdleBatch> {
  const now = Date.now();
  const [first, place]: Cursor = cursor === WALK ? [""] : readCursor(cursor.slice(WALK.length));
  const buckets: BucketId[] = [];
  let room = BATCH_ROWS;
  for (const name of names.filter((each) => each >= first).sort()) {
    const after = name === first ? place : undefined;
    const rows = await ctx.db
      .query("rateLimitWorkers")
      .withIndex("by_name_key", (q) =>
        after === undefined ? q.eq("name", name) : q.eq("name", name).gt("key", after ?? undefined),
      )
      .take(room);
    buckets.push(...rows.filter((row) => isOver(row, now)).map(idOf));
    room -= rows.length;
    const last = room === 0 ? rows.at(-1) : undefined;
    if (last) return { buckets, cursor: WALK + JSON.stringify([name, last.key ?? null]) };
  }
  return { buckets, cursor: null };
}

/** Deletes the rows of these buckets' workers, unless one has been started or jobs wait; says how many. */
async function deleteIdle(ctx: QueueWriter, buckets: readonly BucketId[]): Promise<number> {
  const now = Date.now();
  let deleted = 0;
  for (const bucket of buckets) {
    const row = await readWorker(ctx, bucket);
    // Reading the jobs lets it conflict with a caller who adds one.
    if (!row || !isOver(row, now) || (await hasJobs(ctx, bucket))) continue;
    await ctx.db.delete("rateLimitWorkers", row._id);
    deleted++;
  }
  return deleted;
}

const isOver = ({ runsUntil }: WorkerRow, now: number) => now >= runsUntil + KEPT_MS;
