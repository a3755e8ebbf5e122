/** How many jobs wait, where their number is bounded. Callers must not count, or they would conflict: the worker tells them. */
import { FULL_MS } from "./enqueue.js";
import { classesOf } from "./look.js";
import type { Pace } from "./pace.js";
import { type QueueReader, readArrivals, readRounds, type WorkerRow } from "./rows.js";
import type { WorkArgs } from "./start.js";
import type { Queue } from "./terms.js";

/** Cancelled jobs are still in the worker's count: before a queue is said to be full, and so often while it is, all are counted. */
const RECOUNT_MS = 10_000;
/** Jobs may be cancelled while the worker sleeps: a queue is said to be full for no longer than this. */
const MOST_FULL_MS = 60_000;

interface Backlog {
  /** What the next run has to know. */
  readonly run: Pick<WorkArgs, "queued" | "countedAt">;
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
}

export async function backlogOf(
  ctx: QueueReader,
  { queue, row, run, now, settledAt, pace }: Look,
  { arrived, taken }: { arrived: number; taken: number },
): Promise<Backlog> {
  const { maxQueued, exact } = queue.terms;
  if (exact) return { run: {}, row: taken > 0 ? { queued: Math.max(0, (row.queued ?? 0) - taken) } : {} };
  if (maxQueued === Infinity) return { run: {}, row: {} };
  let queued = Math.max(0, (run.queued ?? 0) + arrived - taken);
  let { countedAt = 0 } = run;
  if (queued >= maxQueued && now - countedAt >= RECOUNT_MS) {
    queued = await countWaiting(ctx, queue, settledAt);
    countedAt = now;
  }
  if (queued < maxQueued) return { run: { queued, countedAt }, row: {} };
  const isSaid = (row.fullUntil ?? 0) - now >= FULL_MS / 2;
  const fullUntil = pace.kind === "wait" ? Math.min(pace.at, now + MOST_FULL_MS) : now + FULL_MS;
  return { run: { queued, countedAt }, row: isSaid && pace.kind === "run" ? {} : { fullUntil } };
}

async function countWaiting(ctx: QueueReader, queue: Queue, settledAt: number): Promise<number> {
  const most = queue.terms.maxQueued + 1;
  const counts = await Promise.all(
    classesOf(queue).flatMap((of) => [
      readArrivals(ctx, of, { from: -1, to: settledAt }, most),
      ...(queue.terms.fair ? [readRounds(ctx, of, most)] : []),
    ]),
  );
  return counts.reduce((sum, { length }) => sum + length, 0);
}
