/** How many jobs wait, where their number is bounded. Callers must not count, or they would conflict: the worker tells them. */
import type { RunArgs } from "../wire/queue.js";
import type { WorkerCtx } from "./batch.js";
import { FULL_MS } from "./job.js";
import type { Pace } from "./pace.js";
import { countJobs, type WorkerRow } from "./rows.js";
import type { Queue } from "./terms.js";

/**
 * The worker's count includes jobs that were cancelled while it ran. So it counts all of them again before it reports a full queue, and
 * then this often, until it sleeps on a fresh count. A later cancel wakes it.
 */
const RECOUNT_MS = 10_000;
/** Twice the largest bound: a count that ended at the bound would forget the jobs that were accepted beyond it. */
const MOST_WAITING = 20_000;
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

/** The state for the next run (`run`), which comes no later than `recountAt`, and the state for callers (`row`). */
export async function backlogOf(
  ctx: WorkerCtx,
  { queue, row, run, pace, arrived, taken, isDrained }: Look,
): Promise<{ run: Pick<RunArgs, "queued" | "countedAt">; recountAt?: number; row: Partial<WorkerRow> }> {
  const { now } = ctx;
  const { maxQueued } = queue.terms;
  // A number that was true for other terms, or while the worker slept, is taken back.
  const saying = (known: number | undefined) => (known === row.queued ? {} : { queued: known });
  if (maxQueued === Infinity) return { run: {}, row: saying(undefined) };
  let queued = isDrained ? 0 : Math.max(0, (run.queued ?? 0) + arrived - taken);
  // When it was last found full. The first count finds all as new.
  let { countedAt = queued < maxQueued ? 0 : now } = run;
  // The clock may have stepped back.
  if (queued >= maxQueued && Math.abs(now - countedAt) >= RECOUNT_MS) {
    const { count, isCut } = await countJobs(ctx, queue, { upTo: ctx.meta.getSnapshotTs(), most: MOST_WAITING });
    queued = Math.max(count, isCut ? queued : 0);
    if (queued >= maxQueued) countedAt = now;
  }
  const next = { queued, countedAt };
  const left = (row.fullUntil ?? 0) - now;
  if (queued < maxQueued) {
    // A report for a second ends by itself.
    const isStale = left > (row.state === "waiting" ? 0 : FULL_MS);
    return { run: next, row: { ...saying(undefined), ...(isStale && { fullUntil: now }) } };
  }
  if (pace.kind !== "wait") {
    const isSaid = left >= 0.7 * FULL_MS;
    return { run: next, row: { ...saying(undefined), ...(!isSaid && { fullUntil: now + FULL_MS }) } };
  }
  const recountAt = countedAt === now ? Infinity : countedAt + RECOUNT_MS;
  return { run: next, recountAt, row: { ...saying(queued), fullUntil: pace.at + WAKING_MS } };
}
