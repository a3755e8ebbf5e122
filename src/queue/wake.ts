/** Waking a bucket's worker: what a refund or a reset needs, without the rest of the queue. */
import { makeFunctionReference, type WithoutSystemFields } from "convex/server";
import { cancelPending } from "../storage/jobs.js";
import type { BucketId } from "../storage/rows.js";
import type { StoredQueue, WorkArgs } from "../wire/queue.js";
import { LINGER_MS } from "./pace.js";
import type { QueueReader, QueueWriter, WorkerRow } from "./rows.js";
import { storedPart } from "./terms.js";

/** The ctx of a queue's functions in a mutation. */
export interface QueueCtx extends QueueWriter {
  /** The module that exports the worker's functions: convex/queue.ts, or one of the app. */
  readonly module: string;
  /** When the call began, in ms since the epoch. */
  readonly now: number;
  readonly random: () => number;
}

/**
 * The ctx of a call of a queue: clock and randomness are read here. An app's own ctx may have inherited its parts, which a spread leaves
 * out.
 */
export function inQueue<Ctx>(ctx: Ctx, module: string): Ctx & Pick<QueueCtx, "module" | "now" | "random"> {
  const { db, scheduler } = ctx as Ctx & Partial<QueueCtx>;
  return { ...ctx, db, scheduler, module, now: Date.now(), random: Math.random };
}

export const workIn = (module: string) => makeFunctionReference<"mutation">(`${module}:workQueue`);

export const planWork = (ctx: QueueCtx, at: number, work: WorkArgs) =>
  ctx.scheduler.runAt(at, workIn(ctx.module), work);

/** A worker counts as running this long after a report; it reports twice as often. If its chain broke, the next caller restarts it. */
export const LEASE_MS = 60_000;

/** Whether the chain of runs was broken: the next one should have come long ago. */
export const isLost = ({ state, runsUntil }: WorkerRow, now: number) => state !== "idle" && now >= runsUntil;

/** Whether runs follow each other, so that the next one sees what is written now. */
export const isRunning = (row: WorkerRow, now: number) => row.state === "running" && !isLost(row, now);

/** Whether it has run for longer since its last report than it would for one job: then jobs keep coming. */
export const isBusy = (row: WorkerRow, now: number) =>
  isRunning(row, now) && now > row.runsUntil - LEASE_MS + LINGER_MS;

export const readWorker = ({ db }: QueueReader, { name, key }: BucketId): Promise<WorkerRow | null> =>
  db
    .query("rateLimitWorkers")
    .withIndex("by_name_key", (q) => q.eq("name", name).eq("key", key))
    .first();

export const patchWorker = ({ db }: QueueWriter, { _id }: WorkerRow, fields: Partial<WithoutSystemFields<WorkerRow>>) =>
  db.patch("rateLimitWorkers", _id, fields);

/** Tokens may have come back: if the worker sleeps until a job can be paid, it looks again. */
export async function wake(ctx: QueueCtx, bucket: BucketId): Promise<null> {
  const row = await readWorker(ctx, bucket);
  if (row && row.state !== "idle" && !isRunning(row, ctx.now)) await patchWorker(ctx, row, await start(ctx, row, row));
  return null;
}

/** Plans the first run of a chain; the fields of the worker's row that say so. */
export async function start(ctx: QueueCtx, queue: StoredQueue, row: WorkerRow | null) {
  // It would do nothing. Thousands of callers would leave as many runs, all due at once when the first job can be paid.
  const slept = row?.state === "waiting" && row.start ? await cancelPending(ctx, row.start) : undefined;
  // Its count of the jobs is still true. To count them again at each start would cost thousands of reads.
  const { run } = slept?.state === "pending" ? (slept.args as [WorkArgs])[0] : {};
  const { seenTo, queued, countedAt } = run ?? {};
  // Drawn, not counted: a row that was deleted and inserted again has no start of the same number.
  const generation = ctx.random();
  const start = await planWork(ctx, ctx.now, { run: { ...storedPart(queue), generation, seenTo, queued, countedAt } });
  return { generation, state: "running" as const, runsUntil: ctx.now + LEASE_MS, start };
}
