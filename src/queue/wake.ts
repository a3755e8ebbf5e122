/** Waking a bucket's worker: what a refund or a reset needs, without the rest of the queue. */
import { type FunctionReference, makeFunctionReference } from "convex/server";
import type { BucketId } from "../storage/rows.js";
import type { QueueWriter, WorkerRow } from "./rows.js";
import { patchWorker, readWorker, storedPart } from "./workerRows.js";

/**
 * A worker counts as running for this long without a report, and reports twice as often. If its chain of runs was broken, by hand
 * or by an error, the next caller starts it again.
 */
export const LEASE_MS = 60_000;

/** The function of the module that is one run of a worker. */
export function workIn(module: string): FunctionReference<"mutation"> {
  return makeFunctionReference(`${module}:workQueue`);
}

/** The number of a start. It is drawn, not counted: a row that was deleted and inserted again has no start of the same number. */
export function drawGeneration(): number {
  return Math.random();
}

/** Tokens may have come back: if the worker sleeps until a job can be paid, it looks again. */
export async function wake(ctx: QueueWriter, bucket: BucketId, work: FunctionReference<"mutation">): Promise<null> {
  const row = await readWorker(ctx, bucket);
  const now = Date.now();
  if (!row || !(isLost(row, now) || row.state === "waiting")) return null;
  const generation = drawGeneration();
  const start = await ctx.scheduler.runAt(now, work, { run: { ...storedPart(row), generation } });
  await patchWorker(ctx, row, { generation, state: "running", runsUntil: now + LEASE_MS, start });
  return null;
}

/** Whether the chain of runs was broken: the next one should have come long ago. */
export function isLost({ state, runsUntil }: WorkerRow, now: number): boolean {
  return state !== "idle" && now >= runsUntil;
}
