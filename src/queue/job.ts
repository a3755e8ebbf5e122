/** A job as its caller sees it: the request, joining the queue, the place in it, and leaving it. */
import { getConvexSize } from "convex/values";
import { checkField } from "../engine/fields.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { checkKey } from "../engine/names.js";
import { requestTo } from "../engine/request.js";
import { fold, type Shard } from "../engine/sharding/shard.js";
import { FURTHEST_MS } from "../engine/time.js";
import { unitsOf } from "../engine/units.js";
import { asWritten } from "../engine/bucket.js";
import { idOf } from "../storage/rows.js";
import { loadAll } from "../storage/shards.js";
import type { CancelQueuedResult, JoinArgs, EnqueueResult, RateLimitQueuePosition } from "../wire/queue.js";
import { readHeads } from "./batch.js";
import { inTurns, merged, NS_PER_MS } from "./order.js";
import { mostPaidFrom, payFor, waitWhenFull } from "./pay.js";
import { deleteJob, findJob, insertJob, type JobRow, type QueueReader, YET_TO_COME } from "./rows.js";
import { parseQueue, type Queue } from "./terms.js";
import { isLost, type QueueCtx, readWorker, wake } from "./wake.js";
import { checkExported, ensureRunning, hasBound, isOutdated } from "./workers.js";

/** A worker reads a hundred jobs at once. Larger arguments belong in a document: pass its id to the job. */
const MAX_ARGS_BYTES = 8192;

/** A report that a queue is full holds this long, unless the worker knows better. */
export const FULL_MS = 1000;

/** A live query reads these rows again whenever the worker takes one of them. */
const MOST_AHEAD = 200;
/** Jobs that it reads of all priorities together: more than a run, which also writes. */
const MOST_READ = 512;

/** @throws when a count can never be served, and when priority, user or arguments are not permitted. */
export function parseJob(queue: Queue, asked: Pick<JoinArgs, "count" | "priority" | "fairBy" | "settles" | "args">) {
  const { name, terms } = queue;
  const { count = 1, priority = 0, fairBy, settles, args } = asked;
  requestTo(queue, { count, reserve: true });
  if (!(Number.isInteger(priority) && priority >= 0 && priority < terms.priorities)) {
    throw fieldError(name, "priority", `a whole number from 0 to ${terms.priorities - 1} (queue.priorities)`, priority);
  }
  if (terms.fair && fairBy === undefined) {
    throw fieldError(name, "fairBy", "whose job it is (queue.fair is true): a non-empty string", fairBy);
  }
  if (!terms.fair && fairBy !== undefined) {
    throw misuseError(name, "fairBy must be left out unless the limit has queue: { fair: true }.");
  }
  checkKey(name, fairBy, "fairBy");
  // The types forbid anything else, JavaScript does not.
  checkField(name, "settles", { oneOf: ["mutation", "action"] }, settles);
  const bytes = getConvexSize(args);
  if (bytes > MAX_ARGS_BYTES) {
    throw misuseError(
      name,
      `a queued job's arguments may have ${MAX_ARGS_BYTES} bytes, got ${bytes}: store them and pass the id.`,
    );
  }
  return { count, priority, fairBy, args, settles };
}

/**
 * Inserts the job: that, and reading the worker's row, is all that a caller does while the worker runs.
 * @throws when the job would start years after its bucket was full, since none could be scheduled for then; and when jobs wait and their
 * worker cannot run.
 */
export async function enqueue(
  ctx: QueueCtx,
  queue: Queue,
  job: ReturnType<typeof parseJob> & Pick<JoinArgs, "fn">,
): Promise<EnqueueResult> {
  const { now } = ctx;
  const { name, limit, terms } = queue;
  if (waitWhenFull(limit, unitsOf(limit, job.count), now) > FURTHEST_MS) {
    const why = "a full bucket has that many only after more than five years";
    throw misuseError(name, `count ${job.count} can never be served: ${why}.`);
  }
  const row = await readWorker(ctx, queue);
  await checkExported(ctx, row);
  // Until a deploy's terms are stored, the row speaks of another bound.
  const known = row && hasBound(row, terms) ? row : undefined;
  const { fullUntil = 0 } = known ?? {};
  const isFull = terms.maxQueued < Infinity && now < fullUntil;
  // A lost worker, or one under an old config, is started by a job that is let in: a caller that throws a denial would undo the start.
  if (isFull && row && !isLost(row, now) && !(await isOutdated(ctx, row, queue))) {
    return { ok: false, retryAt: fullUntil };
  }
  const bucket = idOf(queue);
  const id = await insertJob(ctx, { ...bucket, ...job });
  await ensureRunning(ctx, queue, row);
  return { ok: true, job: { ...bucket, id } };
}

/** Removes a job whose start time is not set: one read and one delete, and a read of the worker's row if the queue has a bound. */
export async function cancel(ctx: QueueCtx, queue: Queue, id: string): Promise<CancelQueuedResult> {
  const job = await findJob(ctx, queue, id);
  if (!job) return { canceled: false };
  await deleteJob(ctx, job);
  const row = queue.terms.maxQueued < Infinity ? await readWorker(ctx, queue) : null;
  // The worker of a full queue sleeps on its count.
  const isMissed = (row?.fullUntil ?? 0) > ctx.now;
  if (job.isAwaited === true || isMissed) await wake(ctx, queue);
  return { canceled: true };
}

/** A job's place, and when its tokens are there if nothing else happens. Null if it was cancelled or its start time is set. */
export async function getPosition(
  ctx: QueueReader & Pick<QueueCtx, "now">,
  asked: Queue,
  id: string,
): Promise<RateLimitQueuePosition | null> {
  const job = await findJob(ctx, asked, id);
  if (!job) return null;
  // Which plan the jobs wait by is known to their worker alone.
  const { plans = [] } = asked;
  const row = plans.length > 0 ? await readWorker(ctx, asked) : null;
  // A deploy that removes a plan leaves its jobs what the plan was.
  const isGone = row?.plan !== undefined && plans.every(({ plan }) => plan !== row.plan);
  const queue = isGone ? parseQueue(row) : asWritten(asked, row?.plan);
  const { priorities, fair, aging } = queue.terms;
  const [{ share, arrivals, rounds }, shards] = await Promise.all([
    readHeads(ctx, queue, priorities, { most: MOST_AHEAD + 1, ofAll: MOST_READ }),
    loadAll(ctx, queue),
  ]);
  const ofClass = (jobs: JobRow[], priority: number) => inTurns(rounds[priority] ?? [], jobs).slice(0, share);
  // A job of this transaction is as old as it is now, not younger than all that will ever come.
  const dated = (job: JobRow) => (job.at === YET_TO_COME ? { ...job, at: BigInt(ctx.now * NS_PER_MS) } : job);
  const lists = (fair ? arrivals.map(ofClass) : [...arrivals, ...rounds]).map((jobs) => jobs.map(dated));
  const { first } = merged(lists, aging, share);
  const jobs = first.slice(0, MOST_AHEAD + 1);
  const found = jobs.findIndex(({ _id }) => _id === job._id);
  const before = jobs.slice(0, found < 0 ? MOST_AHEAD : found);
  let { now } = ctx;
  // For more jobs than that as one row, which may be early: a decision on thousands of rows for each takes seconds.
  const isMany = before.length >= mostPaidFrom(shards);
  let held: readonly Shard[] = isMany ? [fold(queue.limit, shards, now)] : shards;
  let runAt = now;
  for (const { count } of [...before, job]) {
    const pay = () => payFor(queue.limit, held, now, { count });
    let payment = pay();
    if (!payment.isPaid) {
      // As the worker does: what comes meanwhile may be more than a bucket without debts can keep.
      now = Math.max(now, payment.dueAt);
      payment = pay();
    }
    if (!payment.isPaid) break;
    ({ runAt, left: held } = payment);
  }
  return { ahead: before.length, isExact: found >= 0, runAt };
}
