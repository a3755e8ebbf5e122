/** A job as its caller sees it: joining the queue, the place in it, and leaving it. */
import type { Limit } from "../engine/kinds/kind.js";
import { END_OF_TIME, FURTHEST_MS } from "../engine/time.js";
import { unitsOf } from "../engine/units.js";
import { idOf, readControl } from "../storage/rows.js";
import { termsOf } from "../operations/terms.js";
import { controlAmong } from "../storage/found.js";
import { present } from "../wire/present.js";
import type { CancelQueuedResult, EnqueueResult, JoinArgs, QueuedArgs, RateLimitQueuePosition } from "../wire/queue.js";
import { readOrder } from "./batch.js";
import { waitWhenFull } from "./pay.js";
import { loadAllPayers, whenBroughtByAll } from "./payers.js";
import { parseJob } from "./asked.js";
import { awayUntil, dismissJob, findJob, hasStartTime, insertJob } from "./rows.js";
import { parseQueue, type Queue, termsKnownTo, textOf } from "./terms.js";
import { checkExported, ensureRunning, isLost, readWorker, wake } from "./worker.js";
import type { QueueCtx, QueueReader, WorkerRow } from "./tables.js";

/** A live query reads these rows again whenever the worker takes one of them. */
const MOST_AHEAD = 200;
/** Jobs that it reads of all priorities together: more than a run, which also writes. */
const MOST_READ = 512;

/**
 * Inserts the job: that, and reading the worker's row, is all that a caller does while the worker runs.
 * @throws when jobs wait and their worker cannot run.
 */
export async function enqueue(ctx: QueueCtx, { terms, key, plan, ...asked }: JoinArgs): Promise<EnqueueResult> {
  const { now } = ctx;
  const queue = parseQueue(terms, { key, plan });
  const { fn, onDropped } = asked;
  const job = { ...parseJob(queue, asked), ...present({ fn, onDropped }) };
  if (!(await mayEverStart(ctx, queue, job.count))) return { ok: false, retryAt: END_OF_TIME, reason: "too large" };
  const row = await readWorker(ctx, queue);
  await checkExported(ctx, row);
  // Under changed terms, and if the worker is lost, a job is let in and starts it: a caller that throws a denial would
  // undo the start.
  const text = textOf(terms);
  const isKnown = row?.terms === text && !isLost(row, now);
  const { fullUntil = 0 } = row ?? {};
  if (isKnown && now < fullUntil && !mayStartEarlier(row, queue)) return { ok: false, retryAt: fullUntil };
  const bucket = idOf(queue);
  const id = await insertJob(ctx, { ...bucket, ...job });
  await ensureRunning(ctx, queue, row, text);
  return { ok: true, job: { ...bucket, id } };
}

/**
 * Whether a full bucket starts such a job, at a time that the scheduler accepts: under its limit, or what an operator
 * has put in its place. With `with` it starts when the bucket holds it.
 */
async function mayEverStart(ctx: QueueCtx, queue: Queue, count: number): Promise<boolean> {
  const { now } = ctx;
  const furthestMs = queue.with.length > 0 ? 0 : FURTHEST_MS;
  const serves = (limit: Limit) => waitWhenFull(limit, unitsOf(limit, count), now) <= furthestMs;
  if (serves(queue.limit)) return true;
  // Only then: a plain job costs no read of it.
  const control = controlAmong(queue, await readControl(ctx, queue));
  const { override, counted } = termsOf(queue, { control, row: null, point: "" }, ctx);
  return override?.unlimited === true || serves(counted.limit);
}

/**
 * Whether a full queue's worker sleeps under another plan. The caller's may be larger, so its job is let in and starts
 * the worker. Callers under different plans may take turns: they let in as many jobs again as the bound permits.
 */
const mayStartEarlier = ({ plan, queued = Infinity }: WorkerRow, queue: Queue) =>
  plan !== queue.plan && queued < 2 * queue.terms.maxQueued;

/** Removes a job that has no start time, and starts a worker that was lost. */
export async function cancel(ctx: QueueCtx, asked: QueuedArgs): Promise<CancelQueuedResult> {
  const bucket = idOf(asked);
  const terms = await termsKnownTo(ctx, asked);
  if (!terms) return { canceled: false };
  const found = await findJob(ctx, bucket, asked.id);
  const job = found && !hasStartTime(found) ? found : null;
  const row = await readWorker(ctx, bucket);
  if (job) await dismissJob(ctx, job, terms.queue);
  // The worker of a full queue sleeps on its count.
  const isMissed = job && (row?.awaits === job._id || (row?.fullUntil ?? 0) > ctx.now);
  const text = textOf(terms);
  if (isMissed || row?.terms !== text || isLost(row, ctx.now)) await wake(ctx, bucket, text);
  return { canceled: job !== null };
}

/**
 * A job's place, and about when it starts if nothing else happens. Null if it was cancelled or dropped, or starts
 * within a second.
 */
export async function getPosition(
  ctx: QueueReader & Pick<QueueCtx, "now">,
  asked: QueuedArgs,
): Promise<RateLimitQueuePosition | null> {
  const bucket = idOf(asked);
  const terms = await termsKnownTo(ctx, asked);
  const job = terms && (await findJob(ctx, bucket, asked.id));
  if (!job) return null;
  const startsAt = awayUntil(job);
  if (startsAt !== undefined) return { startsAt };
  // Which plan the jobs wait by is known to their worker alone.
  const row = await readWorker(ctx, bucket);
  const queue = parseQueue(terms, { key: asked.key, plan: row?.plan });
  const { first } = await readOrder(ctx, queue, { most: MOST_AHEAD, ofAll: MOST_READ });
  const counted = first.slice(0, MOST_AHEAD);
  const place = counted.findIndex(({ _id }) => _id === job._id);
  const before = place < 0 ? counted : counted.slice(0, place);
  const ahead = before.length;
  // No worker, no promise.
  if (place < 0 || !row || isLost(row, ctx.now)) return { ahead };
  const payers = await loadAllPayers(ctx, queue, ctx.now);
  if (payers.some((payer) => payer.terms.override?.reason)) return { ahead };
  return { ahead, startsAt: whenBroughtByAll(payers, [...before, job]) };
}
