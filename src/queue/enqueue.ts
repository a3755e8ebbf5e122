/** Joining the queue, and leaving it. */
import type { GenericId } from "convex/values";
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
  const { key, terms } = queue;
  const { name } = queue.limit;
  const row = await readWorker(ctx, { name, key });
  const { fullUntil = 0, queued = 0 } = row ?? {};
  const isFull = terms.exact ? queued >= terms.maxQueued : terms.maxQueued < Infinity && now < fullUntil;
  if (isFull) return { ok: false, retryAt: Math.max(fullUntil, terms.exact ? now + FULL_MS : 0) };
  const id = key === undefined ? { name } : { name, key };
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
  const bucket = { name: queue.limit.name, key: queue.key };
  const job = await readJob(ctx, id as GenericId<"rateLimitQueue">);
  if (job?.name !== bucket.name || job.key !== bucket.key) return { canceled: false };
  await deleteJob(ctx, job);
  if (queue.terms.exact) {
    const row = await readWorker(ctx, bucket);
    if (row) await patchWorker(ctx, row, { queued: Math.max(0, (row.queued ?? 0) - 1) });
  }
  if (job.isAwaited === true) await wake(ctx, bucket, functions);
  return { canceled: true };
}
