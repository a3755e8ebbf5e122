/** How many jobs wait, where their number is bounded. Callers must not count, or they would conflict: the worker tells them. */
import { FULL_MS } from "./enqueue.js";
import { classesOf, countArrivals, type WorkerCtx } from "./look.js";
import type { Pace } from "./pace.js";
import { readRounds, type WorkerRow } from "./rows.js";
import type { WorkArgs, Worker } from "./start.js";
import type { Queue } from "./terms.js";

/**
 * Cancelled jobs are still in the worker's count: before a queue is said to be full, and so often while it is, all are counted. Jobs that
 * are seen late, or dated by a clock that is behind, are not in it: so all are counted, too, when as many have come and gone as may wait.
 */
const RECOUNT_MS = 10_000;
/** Jobs may be cancelled while the worker sleeps: a queue is said to be full for no longer than this. */
const MOST_FULL_MS = 60_000;

interface Backlog {
  /** What the next run has to know. */
  readonly run: Pick<WorkArgs, "queued" | "countedAt" | "uncounted">;
  /** What callers have to know. */
  readonly row: Pick<WorkerRow, "queued" | "fullUntil">;
}

interface Look {
  readonly queue: Queue;
  readonly row: WorkerRow;
  readonly run: WorkArgs;
  readonly now: number;
  readonly settledAt: number;
  readonly pace: Pace;
  /** Whether all jobs that the run could see were taken. */
  readonly isDrained: boolean;
}

export async function backlogOf(
  ctx: WorkerCtx,
  { queue, row, run, now, settledAt, pace, isDrained }: Look,
  { arrived, taken }: { arrived: number; taken: number },
  functions: Worker,
): Promise<Backlog> {
  const { maxQueued, exact } = queue.terms;
  if (exact) return { run: {}, row: taken > 0 ? { queued: Math.max(0, (row.queued ?? 0) - taken) } : {} };
  if (maxQueued === Infinity) return { run: {}, row: {} };
  let queued = isDrained ? 0 : Math.max(0, (run.queued ?? 0) + arrived - taken);
  let uncounted = isDrained ? 0 : (run.uncounted ?? 0) + arrived + taken;
  let { countedAt = 0 } = run;
  if (uncounted >= maxQueued || (queued >= maxQueued && now - countedAt >= RECOUNT_MS)) {
    queued = await countWaiting(ctx, queue, settledAt, functions);
    uncounted = 0;
    countedAt = now;
  }
  if (queued < maxQueued) return { run: { queued, countedAt, uncounted }, row: {} };
  const isSaid = (row.fullUntil ?? 0) - now >= FULL_MS / 2;
  const fullUntil = pace.kind === "wait" ? Math.min(pace.at, now + MOST_FULL_MS) : now + FULL_MS;
  return { run: { queued, countedAt, uncounted }, row: isSaid && pace.kind === "run" ? {} : { fullUntil } };
}

async function countWaiting(ctx: WorkerCtx, queue: Queue, settledAt: number, functions: Worker): Promise<number> {
  const most = queue.terms.maxQueued + 1;
  const arrived = await countArrivals(ctx, queue, { from: -1, to: settledAt }, most, functions);
  if (!queue.terms.fair) return arrived;
  const sorted = await Promise.all(classesOf(queue).map((of) => readRounds(ctx, of, most)));
  return sorted.reduce((sum, { length }) => sum + length, arrived);
}
