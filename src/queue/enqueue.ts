/** Joining the queue, and leaving it. */
import { FURTHEST_MS } from "../engine/time.js";
import { idOf } from "../storage/rows.js";
import { misuseError } from "../engine/misuse.js";
import { unitsOf } from "../engine/units.js";
import type { QueuedArgs } from "./job.js";
import { waitWhenFull } from "./pay.js";
import { countWaiting } from "./arrivals.js";
import { deleteJob, findJob, insertJob, type QueueWriter } from "./rows.js";
import { patchWorker, readWorker } from "./workerRows.js";
import { checkExported, ensureRunning, type QueueCtx } from "./start.js";
import { isLost, wake } from "./wake.js";
import { type Queue, toQueueConfig } from "./terms.js";
import type { CancelQueuedResult, EnqueueResult } from "../wire/queue.js";

/** When the queue is full, a caller may ask again after this time, unless the worker knows better. */
export const FULL_MS = 1000;

/** @throws when a job would start years after its bucket was full: none could be scheduled for then. */
function checkWait({ limit }: Queue, { count }: QueuedArgs, now: number): void {
  if (waitWhenFull(limit, unitsOf(limit, count), now) <= FURTHEST_MS) return;
  throw misuseError(
    limit.name,
    `count ${count} can never be served: a full bucket has that many only after more than five years.`,
  );
}

/**
 * Inserts the job: that, and reading the worker's row, is all that a caller does while the worker runs.
 * @throws when jobs wait and their worker cannot run.
 */
export async function enqueue(ctx: QueueCtx, queue: Queue, job: QueuedArgs): Promise<EnqueueResult> {
  const now = Date.now();
  const { terms } = queue;
  checkWait(queue, job, now);
  const row = await readWorker(ctx, queue);
  await checkExported(ctx, row, now);
  // Until a deploy's terms are stored, what was said is about another bound.
  const { fullUntil = 0 } = row && row.queue.maxQueued === toQueueConfig(terms).maxQueued ? row : {};
  const queued = terms.exact ? (row?.queued ?? (await countAll(ctx, queue))) : undefined;
  const isFull = queued === undefined ? terms.maxQueued < Infinity && now < fullUntil : queued >= terms.maxQueued;
  if (isFull) {
    // Nobody else comes in to start it again.
    if (row && isLost(row, now)) await ensureRunning(ctx, queue, row, now);
    return { ok: false, retryAt: Math.max(fullUntil, queued === undefined ? 0 : now + FULL_MS) };
  }
  const id = idOf(queue);
  const inserted = await insertJob(ctx, { ...id, ...job });
  await ensureRunning(ctx, queue, row, now, queued === undefined ? undefined : queued + 1);
  return { ok: true, job: { ...id, id: inserted } };
}

/** The jobs that wait; as many as may wait when they are too large for one transaction to count. */
async function countAll(ctx: QueueWriter, queue: Queue): Promise<number> {
  const { maxQueued } = queue.terms;
  const { count, isCut } = await countWaiting(ctx, queue, maxQueued);
  return isCut ? maxQueued : count;
}

/** Removes a job whose start time is not set: one read and one delete, unless the worker waits for just this job. */
export async function cancel(ctx: QueueCtx, queue: Queue, id: string): Promise<CancelQueuedResult> {
  const job = await findJob(ctx, queue, id);
  if (!job) return { canceled: false };
  await deleteJob(ctx, job);
  if (queue.terms.exact) {
    const row = await readWorker(ctx, queue);
    if (row?.queued !== undefined) await patchWorker(ctx, row, { queued: Math.max(0, row.queued - 1) });
  }
  if (job.isAwaited === true) await wake(ctx, queue, ctx.worker.work);
  return { canceled: true };
}
