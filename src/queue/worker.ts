/**
 * One run of a bucket's worker: it looks at the jobs that have come, pays for as many as it can, schedules those for their moments, and
 * plans the next run. All of it is one transaction, so a run that fails or conflicts has done nothing.
 */
import type { BucketId } from "../storage/rows.js";
import { loadAll, type StoredShard } from "../storage/shards.js";
import { hasYounger, look } from "./look.js";
import { backlogOf } from "./backlog.js";
import { inOrder } from "./order.js";
import { type Pace, paceOf } from "./pace.js";
import { pay } from "./pay.js";
import { patchJob, patchWorker, type JobRow, type QueueWriter, readWorker, type WorkerRow } from "./rows.js";
import { scheduleJobs } from "./scheduling.js";
import { LEASE_MS, type WorkArgs, SETTLED_MS, storedQueue, type Worker } from "./start.js";
import type { Queue } from "./terms.js";

/** A job is given its moment when that is at most so far away: later jobs can still move up. */
const AHEAD_MS = 1000;
/** The jobs that a run looks at: twice as many as the one before has paid, within these bounds. A transaction has to be short. */
const LEAST_JOBS = 16;
const MOST_JOBS = 64;
/** A bucket whose rows are damaged lets nothing through until it is reset: it is looked at so often. */
const DAMAGED_MS = 60_000;

/** @param lookUp - finds the bucket's queue as it is defined now; undefined where only the worker's row knows it. */
export async function work(
  ctx: QueueWriter,
  run: WorkArgs,
  functions: Worker,
  lookUp: (bucket: BucketId) => Queue | undefined,
): Promise<null> {
  const now = Date.now();
  const row = await readWorker(ctx, run);
  // Another start has taken over: two chains of runs never go on side by side.
  if (row?.generation !== run.generation) return null;
  const queue = lookUp(run) ?? storedQueue(row);
  const { most = LEAST_JOBS } = run;
  const settledAt = now - SETTLED_MS;
  const { arrivals, heads } = await look(ctx, queue, { from: run.seenTo ?? 0, to: settledAt }, most);
  const { taken, awaited } = await payFor(ctx, queue, { now, heads, most }, functions);
  const busyAt = arrivals.count > 0 ? now : (run.busyAt ?? now);
  const hasMore = !awaited && (arrivals.hasMore || taken === most);
  const pace = paceOf({ now, hasMore, awaited, busyAt });
  const backlog = await backlogOf(ctx, { queue, row, run, now, settledAt, pace }, { arrived: arrivals.count, taken });
  const next: WorkArgs = {
    ...run,
    seenTo: Math.max(run.seenTo ?? 0, settledAt),
    busyAt,
    most: Math.min(MOST_JOBS, Math.max(LEAST_JOBS, 2 * taken)),
    ...backlog.run,
  };
  await goOn(ctx, { queue, row, next, now, pace, awaited: awaited?.job }, backlog.row, functions);
  return null;
}

interface Awaited {
  readonly job?: JobRow;
  readonly dueAt: number;
  readonly isAhead: boolean;
}

/** Pays for jobs in order and schedules them; says how many, and for what the next one waits. */
async function payFor(
  ctx: QueueWriter,
  queue: Queue,
  { now, heads, most }: { now: number; heads: readonly (readonly JobRow[])[]; most: number },
  functions: Worker,
): Promise<{ taken: number; awaited?: Awaited }> {
  const jobs = [...inOrder(heads, queue.terms.aging)].slice(0, most);
  if (jobs.length === 0) return { taken: 0 };
  let shards: StoredShard[];
  try {
    shards = await loadAll(ctx, queue);
  } catch (error) {
    // Damaged rows: the chain of runs must not break, or nobody would serve the queue after a reset.
    console.error(error);
    return { taken: 0, awaited: { dueAt: now + DAMAGED_MS, isAhead: true } };
  }
  const { paid, left, awaited } = pay(queue.limit, shards, now, jobs, AHEAD_MS);
  await scheduleJobs(ctx, queue, { shards, left, paid }, functions);
  return { taken: paid.length, ...(awaited && { awaited }) };
}

interface Step {
  readonly queue: Queue;
  readonly row: WorkerRow;
  readonly next: WorkArgs;
  readonly now: number;
  readonly pace: Pace;
  readonly awaited: JobRow | undefined;
}

/** Plans the next run, and writes the worker's row if its state changes. */
async function goOn(
  ctx: QueueWriter,
  { queue, row, next, now, pace: found, awaited }: Step,
  more: Pick<Partial<WorkerRow>, "fullUntil" | "queued">,
  { work }: Worker,
): Promise<void> {
  // Before it stops, and only then, it reads the range into which callers insert: one that saw it run must not insert unseen.
  const mustStay = row.state === "running" && found.kind !== "run" && (await hasYounger(ctx, queue, now - SETTLED_MS));
  const pace: Pace = mustStay ? { kind: "run", at: now + SETTLED_MS } : found;
  const state = pace.kind === "run" ? row.state : pace.kind === "wait" ? "waiting" : "idle";
  const mustRenew = state === "running" && row.runsUntil - now < LEASE_MS / 2;
  const fields = {
    ...more,
    ...(state !== row.state && { state }),
    ...(mustRenew && { runsUntil: now + LEASE_MS }),
  };
  if (Object.keys(fields).length > 0) await patchWorker(ctx, row, fields);
  if (pace.kind === "stop") return;
  if (pace.kind === "wait" && awaited && awaited.isAwaited !== true) await patchJob(ctx, awaited, { isAwaited: true });
  await ctx.scheduler.runAt(Math.max(now + 1, pace.at), work, next);
}
