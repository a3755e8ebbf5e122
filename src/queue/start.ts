/**
 * Starting a bucket's worker. Its row says whether it runs, so a caller reads that one row, which is hardly ever written, and writes
 * nothing as long as the worker runs.
 */
import { type FunctionReference, makeFunctionReference } from "convex/server";
import { misuseError } from "../engine/misuse.js";
import { readJobState } from "../storage/jobs.js";
import { type BucketId, idOf } from "../storage/rows.js";
import { hasJobs } from "./arrivals.js";
import type { QueueWriter, WorkerRow } from "./rows.js";
import { insertWorker, patchWorker, readWorker, type StoredQueue, storedPart } from "./workerRows.js";
import { parseQueue, type Queue, toQueueConfig } from "./terms.js";
import { drawGeneration, isLost, LEASE_MS, workIn } from "./wake.js";

/** The state that one run of a worker passes to the next. */
export interface WorkArgs extends StoredQueue {
  /** Which start this run belongs to. */
  generation: number;
  /** The arrivals up to this commit have been seen. */
  seenTo?: bigint;
  /** When the worker last saw an arrival. */
  busyAt?: number;
  /** How many jobs to look at. */
  most?: number;
  /** With `maxQueued`, the jobs that wait, about. */
  queued?: number;
  /** When all that wait were last counted. */
  countedAt?: number;
}

/** The functions of a worker: its runs, what they find, and the one around actions which say what they have used. */
export interface Worker {
  readonly work: FunctionReference<"mutation">;
  readonly findArrivals: FunctionReference<"query">;
  readonly runAction: FunctionReference<"action">;
  /** The module that must export them. */
  readonly module: string;
}

/** Finds a bucket's queue as it is defined now; undefined where only the worker's row knows it. */
export type CurrentQueue = (bucket: BucketId & { plan?: string }) => Queue | undefined;

/** The ctx of a mutation that may start the worker. */
export interface QueueCtx extends QueueWriter {
  readonly worker: Worker;
}

/** The ctx of the worker's own mutations. */
export interface OwnCtx extends QueueCtx {
  readonly lookUp: CurrentQueue;
}

/** As the module is called that exports them: see registered.ts. */
export function workerFunctionsIn(module: string): Worker {
  return {
    module,
    work: workIn(module),
    findArrivals: makeFunctionReference(`${module}:findArrivals`),
    runAction: makeFunctionReference(`${module}:runQueuedAction`),
  };
}

/**
 * Jobs wait, and the run that was to serve them has failed: an app that does not export its worker must learn it. For a minute; then
 * somebody's call starts the worker again, in case it can run by now.
 */
export async function checkExported(ctx: QueueCtx, row: WorkerRow | null, now: number): Promise<void> {
  if (!row?.start || !isLost(row, now) || now >= row.runsUntil + LEASE_MS) return;
  if ((await readJobState(ctx, row.start)) !== "failed") return;
  throw misuseError(
    row.name,
    `jobs wait, and their worker cannot run: ${ctx.worker.module}.ts must export ` +
      "{ workQueue, runQueuedAction } = exposeQueueWorker() (queueModule), and findArrivals before convex 1.47.",
  );
}

/**
 * Makes sure that the worker runs, under the queue's own config.
 * @param queued - with `exact`, the jobs that wait now.
 */
export async function ensureRunning(
  ctx: QueueCtx,
  queue: Queue,
  row: WorkerRow | null,
  now: number,
  queued?: number,
): Promise<void> {
  const isRunning = row?.state === "running" && !isLost(row, now);
  const isSame = row !== null && isSameConfig(row, queue);
  // A number that was counted under other terms is no longer true.
  const counted = queued === undefined && (isSame || row?.queued === undefined) ? {} : { queued };
  if (isRunning && isSame && queued === undefined) return;
  const generation = isRunning ? row.generation : drawGeneration();
  const started = { generation, state: "running" as const, runsUntil: now + LEASE_MS };
  const stored = toStoredQueue(queue);
  const { config, plan, queue: terms } = stored;
  const run = { ...stored, generation } satisfies WorkArgs;
  const start = isRunning ? undefined : await ctx.scheduler.runAt(now, ctx.worker.work, { run });
  const changes = { ...(start !== undefined && { ...started, start }), ...counted };
  if (row) await patchWorker(ctx, row, { ...(!isSame && { config, plan, queue: terms }), ...changes });
  else await insertWorker(ctx, { ...stored, ...started, ...changes });
}

/**
 * The worker's row that a run finds; null when another start has taken over, so that two chains of runs never go on side by side. If the
 * row was deleted by hand while jobs wait, this run puts it back: of several chains the first one does.
 */
export async function readOwnWorker(ctx: QueueWriter, run: WorkArgs, now: number): Promise<WorkerRow | null> {
  const row = await readWorker(ctx, run);
  if (row) return row.generation === run.generation ? row : null;
  if (!(await hasJobs(ctx, run))) return null;
  const { generation } = run;
  await insertWorker(ctx, { ...storedPart(run), generation, state: "running", runsUntil: now + LEASE_MS });
  return await readWorker(ctx, run);
}

/** The queue as the last caller has defined it. */
export function storedQueue(row: WorkerRow): Queue {
  return parseQueue(row);
}

export function toStoredQueue({ name, key, limit, terms, plan }: Queue): StoredQueue {
  const queue = toQueueConfig(terms);
  return { ...idOf({ name, key }), config: limit.config, ...(plan !== undefined && { plan }), queue };
}

function isSameConfig(row: WorkerRow, { limit, terms, plan }: Queue): boolean {
  return row.plan === plan && isEqual(row.config, limit.config) && isEqual(row.queue, toQueueConfig(terms));
}

/** Whether two objects have the same fields, in any order. */
function isEqual(stored: object, own: object): boolean {
  return textOf(stored) === textOf(own);
}

function textOf(config: object): string {
  return JSON.stringify(Object.entries(config).sort(([a], [b]) => (a < b ? -1 : 1)));
}
