/**
 * The worker of a bucket: a chain of scheduled runs. Its row says whether the chain goes on, so a caller reads that one
 * row, which is hardly ever written, and writes nothing as long as the worker runs.
 */
import { makeFunctionReference, type WithoutSystemFields } from "convex/server";
import { misuseError } from "../engine/misuse.js";
import { cancelPending, readJob } from "../storage/jobs.js";
import { type BucketId, idOf } from "../storage/rows.js";
import { present } from "../wire/present.js";
import type { RunArgs, WorkArgs } from "../wire/queue.js";
import { LINGER_MS } from "./pace.js";
import { hasJobs } from "./rows.js";
import { learnTerms } from "./terms.js";
import type { QueueCtx, QueueReader, QueueWriter, WorkerRow } from "./tables.js";

/** The module of the component that has the worker's functions: convex/worker.ts. */
export const WORKER_MODULE = "worker";

/**
 * The ctx of a call of a queue: clock and randomness are read here. An app's own ctx may have inherited its parts,
 * which a spread leaves out.
 */
export function inQueue<Ctx>(ctx: Ctx, module: string): Ctx & Pick<QueueCtx, "module" | "now" | "random"> {
  const { db, scheduler, meta } = ctx as Ctx & Partial<QueueCtx> & { meta?: unknown };
  return { ...ctx, db, scheduler, meta, module, now: Date.now(), random: Math.random };
}

export const workIn = (module: string) => makeFunctionReference<"mutation">(`${module}:workQueue`);

export const planWork = (ctx: QueueCtx, at: number, work: WorkArgs) =>
  ctx.scheduler.runAt(at, workIn(ctx.module), work);

/**
 * A worker counts as running this long after a report; it reports twice as often. If its chain broke, the next caller
 * restarts it.
 */
export const LEASE_MS = 60_000;

/** Whether the chain of runs was broken: the next one should have come long ago. */
export const isLost = ({ state, runsUntil }: WorkerRow, now: number) => state !== "idle" && now >= runsUntil;

/** Whether runs follow each other, so that the next one sees what is written now. */
const isRunning = (row: WorkerRow, now: number) => row.state === "running" && !isLost(row, now);

/** Whether it has run for longer since its last report than it would for one job: then jobs keep coming. */
export const isBusy = (row: WorkerRow, now: number) =>
  isRunning(row, now) && now > row.runsUntil - LEASE_MS + LINGER_MS;

export const readWorker = ({ db }: QueueReader, { name, key }: BucketId): Promise<WorkerRow | null> =>
  db
    .query("rateLimitWorkers")
    .withIndex("by_name_key", (q) => q.eq("name", name).eq("key", key))
    .first();

/** Writes the fields that change, if any do: callers read the row, so each write may make them conflict. */
export async function patchWorker(
  { db }: QueueWriter,
  row: WorkerRow,
  fields: Partial<WithoutSystemFields<WorkerRow>>,
) {
  const changed = Object.entries(fields).filter(([name, value]) => value !== row[name as keyof WorkerRow]);
  if (changed.length > 0) await db.patch("rateLimitWorkers", row._id, Object.fromEntries(changed));
}

/**
 * Tokens may have come back, or the terms have changed: a worker that sleeps looks again, and one that was lost starts.
 * @param terms - the text of the queue's terms, if the caller knows them.
 */
export async function wake(ctx: QueueCtx, bucket: BucketId, terms?: string): Promise<null> {
  if (terms !== undefined) await learnTerms(ctx, bucket.name, terms);
  const row = await readWorker(ctx, bucket);
  if (row && row.state !== "idle" && !isRunning(row, ctx.now)) await patchWorker(ctx, row, await start(ctx, row, row));
  return null;
}

/**
 * Makes sure that the worker runs, under the plan of the job that has come. @param terms - the text of those that its
 * next run will know.
 */
export async function ensureRunning(
  ctx: QueueCtx,
  bucket: BucketId & Pick<WorkerRow, "plan">,
  row: WorkerRow | null,
  terms: string,
): Promise<void> {
  const isGoingOn = row !== null && isRunning(row, ctx.now);
  // What a worker that rests knew may be older than what is stored.
  await learnTerms(ctx, bucket.name, terms, isGoingOn ? row.terms : undefined);
  const fields = { plan: bucket.plan, terms };
  if (row) {
    const started = isGoingOn ? {} : await start(ctx, bucket, row);
    // Under other terms it may not be full.
    const fullUntil = terms === row.terms ? row.fullUntil : undefined;
    await patchWorker(ctx, row, { fullUntil, ...fields, ...started });
  } else {
    const started = await start(ctx, bucket, null);
    await ctx.db.insert("rateLimitWorkers", present({ ...idOf(bucket), ...fields, ...started }));
  }
}

/** Plans the first run of a chain; the fields of the worker's row that say so. */
export async function start(
  ctx: QueueCtx,
  { name, key, plan }: BucketId & Pick<WorkerRow, "plan">,
  row: WorkerRow | null,
) {
  // It would do nothing. Thousands of callers would leave as many runs, all due at once when the first job can be paid.
  const slept = row?.state === "waiting" && row.start ? await cancelPending(ctx, row.start) : undefined;
  // Its count of the jobs is still true. To count them again at each start would cost thousands of reads.
  const { run } = slept?.state === "pending" ? (slept.args as [WorkArgs])[0] : {};
  const { seenTo, createdTo, queued } = run ?? {};
  // Drawn, not counted: a row that was deleted and inserted again has no start of the same number.
  const generation = ctx.random();
  const first = present({ name, key, plan, generation, seenTo, createdTo, queued });
  const start = await planWork(ctx, ctx.now, { run: first });
  return { generation, state: "running" as const, runsUntil: ctx.now + LEASE_MS, start };
}

/**
 * Jobs wait, and the run that was to serve them has failed: an app that does not export its worker must learn it. For a
 * minute; then somebody's call starts the worker again, in case it can run by now.
 */
export async function checkExported(ctx: QueueCtx, row: WorkerRow | null): Promise<void> {
  if (!row?.start || !isLost(row, ctx.now) || ctx.now >= row.runsUntil + LEASE_MS) return;
  if ((await readJob(ctx, row.start)).state !== "failed") return;
  throw misuseError(
    row.name,
    `jobs wait, and their worker cannot run: ${ctx.module}.ts must export { workQueue, runQueuedAction } = ` +
      "exposeQueueWorker() (queueModule), and the backend must be of convex 1.47 or later.",
  );
}

/**
 * The worker's row that a run finds; null when another start has taken over, so that two chains of runs never go on
 * side by side. If the row was deleted by hand while jobs wait, this run puts it back: of several chains the first one
 * does.
 */
export async function readOwnWorker(ctx: QueueCtx, run: RunArgs): Promise<WorkerRow | null> {
  const row = await readWorker(ctx, run);
  const { plan, generation } = run;
  if (row) return row.generation === generation ? row : null;
  if (!(await hasJobs(ctx, run))) return null;
  const runsUntil = ctx.now + LEASE_MS;
  await ctx.db.insert("rateLimitWorkers", present({ ...idOf(run), plan, generation, state: "running", runsUntil }));
  return await readWorker(ctx, run);
}
