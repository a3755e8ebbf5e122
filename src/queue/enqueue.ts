/** Joining the queue, and leaving it. */
import type { GenericId } from "convex/values";
import { idOf } from "../storage/rows.js";
import type { QueuedArgs } from "./job.js";
import { deleteJob, insertJob, patchWorker, type QueueWriter, readJob, readWorker } from "./rows.js";
import { ensureRunning, wake, type Worker } from "./start.js";
import type { Queue } from "./terms.js";
import type { CancelQueuedResult, EnqueueResult } from "./wire.js";

/** When the queue is full, a caller may ask again after this time, unless the worker knows better. */
export const FULL_MS = 1000;

/** Inserts the job: that, and reading the worker's row, is all that a caller does while the worker runs. */
export async function enqueue(
  ctx: QueueWriter,
  queue: Queue,
  job: QueuedArgs,
  functions: Worker,
): Promise<EnqueueResult> {
  const now = Date.now();
  const { terms } = queue;
  const row = await readWorker(ctx, queue);
  const { fullUntil = 0, queued = 0 } = row ?? {};
  const isFull = terms.exact ? queued >= terms.maxQueued : terms.maxQueued < Infinity && now < fullUntil;
  if (isFull) return { ok: false, retryAt: Math.max(fullUntil, terms.exact ? now + FULL_MS : 0) };
  const id = idOf(queue);
  const inserted = await insertJob(ctx, { ...id, at: now, ...job });
  await ensureRunning(ctx, queue, row, functions, now, 1);
  return { ok: true, job: { ...id, id: inserted } };
}

/** Takes a job out that has no moment yet: one read and one delete, unless the worker waits for just this job. */
export async function cancel(
  ctx: QueueWriter,
  queue: Queue,
  id: string,
  functions: Worker,
): Promise<CancelQueuedResult> {
  const job = await readJob(ctx, id as GenericId<"rateLimitQueue">);
  if (job?.name !== queue.name || job.key !== queue.key) return { canceled: false };
  await deleteJob(ctx, job);
  if (queue.terms.exact) {
    const row = await readWorker(ctx, queue);
    if (row) await patchWorker(ctx, row, { queued: Math.max(0, (row.queued ?? 0) - 1) });
  }
  if (job.isAwaited === true) await wake(ctx, queue, functions);
  return { canceled: true };
}
