/** How many jobs wait, where their number is bounded. Callers must not count, or they would conflict: the worker tells them. */
import type { RunArgs } from "../wire/queue.js";
import { findOnSnapshot, type WorkerCtx } from "./batch.js";
import { FULL_MS } from "./job.js";
import type { Pace } from "./pace.js";
import type { WorkerRow } from "./rows.js";
import type { Queue } from "./terms.js";

/** The worker's count includes cancelled jobs. So all are counted again before a queue is reported full, and this often while it is. */
const RECOUNT_MS = 10_000;
/** Twice the largest bound: a count that ended at the bound would forget the jobs that were accepted beyond it. */
const MOST_WAITING = 20_000;
/** Jobs may be cancelled while the worker sleeps: a queue is said to be full for no longer than this. */
const MOST_FULL_MS = 60_000;
/** While a worker that has slept runs, the queue is still full: what it says next must not come too late. */
const WAKING_MS = 400;

/** The findings of a run, and what it has done. */
interface Look {
  readonly queue: Queue;
  readonly row: WorkerRow;
  readonly run: RunArgs;
  readonly pace: Pace;
  readonly arrived: number;
  readonly taken: number;
  /** Whether all jobs that the run could see were taken. */
  readonly isDrained: boolean;
}

/** The state for the next run (`run`), and the state for callers (`row`). */
export async function backlogOf(
  ctx: WorkerCtx,
  { queue, row, run, pace, arrived, taken, isDrained }: Look,
): Promise<{ run: Pick<RunArgs, "queued" | "countedAt">; row: Partial<WorkerRow> }> {
  const { now } = ctx;
  const { maxQueued, exact } = queue.terms;
  const wakesAt = pace.kind === "wait" ? Math.min(pace.at, now + MOST_FULL_MS) : undefined;
  // What callers counted while the queue was exact is no longer true when it is not.
  const known = exact ? row.queued : undefined;
  const rest = known && (pace.kind === "stop" ? 0 : Math.max(0, known - taken));
  const counted = rest === row.queued ? {} : { queued: rest };
  if (exact) return { run: {}, row: { ...counted, ...(wakesAt !== undefined && { fullUntil: wakesAt }) } };
  if (maxQueued === Infinity) return { run: {}, row: counted };
  let queued = isDrained ? 0 : Math.max(0, (run.queued ?? 0) + arrived - taken);
  // When it was last found full. The first count finds all as new.
  let { countedAt = queued < maxQueued ? 0 : now } = run;
  // The clock may have stepped back.
  if (queued >= maxQueued && Math.abs(now - countedAt) >= RECOUNT_MS) {
    const asked = { most: 1, mostCounted: 0, mostWaiting: MOST_WAITING };
    const { waiting, isBefore } = await findOnSnapshot(ctx, queue, asked);
    const { count = 0, isCut = true } = waiting ?? {};
    // The run itself no longer finds the jobs that it has taken.
    queued = Math.max(isBefore ? count - taken : count, isCut ? queued : 0);
    if (queued >= maxQueued) countedAt = now;
  }
  const left = (row.fullUntil ?? 0) - now;
  if (queued >= maxQueued) {
    const fullUntil = wakesAt === undefined ? now + FULL_MS : wakesAt + WAKING_MS;
    const isSaid = left >= 0.7 * FULL_MS && pace.kind === "run";
    return { run: { queued, countedAt }, row: { ...counted, ...(!isSaid && { fullUntil }) } };
  }
  // A report for a second ends by itself.
  const isStale = left > (row.state === "waiting" ? 0 : FULL_MS);
  return { run: { queued, countedAt }, row: { ...counted, ...(isStale && { fullUntil: now }) } };
}
