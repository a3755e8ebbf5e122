/** Runs of paid jobs: scheduling one, running it in the worker's wrapper if it settles, and what it has returned. */
import * as convex from "convex/server";
import { fieldError } from "../engine/misuse.js";
import { FURTHEST_MS } from "../engine/time.js";
import { MAX_TOKENS } from "../engine/units.js";
import { present } from "../wire/present.js";
import type { QueuedRunArgs, SettleArgs } from "../wire/queue.js";
import { AHEAD_MS, type PaidPayment } from "./pay.js";
import { deleteJob, keepStarting } from "./rows.js";
import { drop, settle } from "./settle.js";
import type { Queue } from "./terms.js";
import { planWork, workIn } from "./worker.js";
import type { JobRow, QueueCtx, WorkerCtx } from "./tables.js";

type PaidJob = JobRow & Omit<PaidPayment, "left">;

/** Takes a job out of the queue: schedules it, or drops it if its function is gone; whether it could be scheduled. */
export async function scheduleJob(ctx: QueueCtx, queue: Queue, job: PaidJob): Promise<boolean> {
  const { fn, args, settles, runAt } = job;
  try {
    if (settles === "mutation") await planWork(ctx, runAt, { job: runOf(queue, job) });
    else if (settles === undefined) {
      await ctx.scheduler.runAt(runAt, fn as unknown as convex.FunctionHandle<"mutation">, args);
    } else {
      const run = convex.makeFunctionReference<"action">(`${ctx.module}:runQueuedAction`);
      await ctx.scheduler.runAt(runAt, run, runOf(queue, job));
    }
  } catch {
    // A deploy has taken the function away. It will not come back for being asked again, and others wait behind it.
    await drop(ctx, queue.name, job, "function missing");
    await deleteJob(ctx, job);
    return false;
  }
  // A page may show the start of a job that has to wait for more than a full bucket.
  if (runAt > ctx.now + AHEAD_MS) {
    await keepStarting(ctx, job, runAt);
    await planWork(ctx, runAt, { started: job._id });
  } else await deleteJob(ctx, job);
  return true;
}

/** A job that is settled takes along its bucket, its place in the queue, and how often it will have run. */
function runOf({ name, key, plan }: Queue, job: PaidJob): QueuedRunArgs {
  const { at, priority, fairBy, first = job._id, count, fn, notAfter, onDropped, runAt, takenAt } = job;
  const runs = (job.runs ?? 0) + 1;
  const args = "attempt" in job.args ? { ...job.args, attempt: runs } : job.args;
  const turn = present({ at, priority, fairBy, runs, first, notAfter, onDropped });
  return present({ name, key, plan, count, fn, args, at: runAt, takenAt, turn });
}

/** How to settle a job that has returned `result`; undefined when it says nothing, and the job has used its count. */
function settlementOf(result: unknown, run: QueuedRunArgs, settles: "mutation" | "action"): SettleArgs | undefined {
  const said = (result ?? {}) as { used?: unknown; again?: unknown };
  const { fn, args, turn, ...paid } = run;
  const wait = waitOf(paid.name, said.again);
  const isUsed = typeof said.used === "number" && said.used >= 0 && said.used <= MAX_TOKENS;
  if (!isUsed && wait === undefined) return undefined;
  // A job that must run again has done nothing yet, unless it says so.
  const used = isUsed ? Number(said.used) : said.used === undefined ? 0 : run.count;
  if (wait === undefined) return { ...paid, used };
  const notBefore = wait > 0 && { notBefore: Math.ceil(Date.now() + wait) };
  return { ...paid, used, again: { turn, settles, fn, args, ...notBefore } };
}

/** After how many ms a job must run again; undefined if it need not. An invalid value is logged: the job has run. */
function waitOf(name: string, again: unknown): number | undefined {
  if (again === undefined || again === false) return undefined;
  if (again === true) return 0;
  const { after } = (again ?? {}) as { after?: unknown };
  if (typeof after === "number" && after >= 0 && after <= FURTHEST_MS) return after;
  console.error(fieldError(name, "again", `true, or { after } with 0 to ${FURTHEST_MS} milliseconds`, again));
  return undefined;
}

/** Runs a job that is a mutation: what it writes and what it settles are one transaction. */
export async function runMutation(ctx: WorkerCtx, run: QueuedRunArgs): Promise<void> {
  let result: unknown;
  try {
    result = await ctx.runMutation(run.fn as convex.FunctionHandle<"mutation">, run.args);
  } catch (error) {
    if (await dropMissing(ctx, run)) return;
    throw error;
  }
  const settlement = settlementOf(result, run, "mutation");
  if (settlement) await settle(ctx, settlement);
}

/**
 * Runs a job that is an action. If it dies on the way its count stays charged: nobody knows what it has used. Its
 * settlement is scheduled: a mutation that an action calls fails after a few conflicts, a scheduled one runs again.
 */
export async function runAction(
  ctx: Pick<convex.GenericActionCtx<convex.GenericDataModel>, "scheduler" | "runAction">,
  run: QueuedRunArgs,
  module: string,
): Promise<null> {
  let result: unknown;
  try {
    result = await ctx.runAction(run.fn as convex.FunctionHandle<"action">, run.args);
  } catch (error) {
    if (run.turn.onDropped !== undefined) await ctx.scheduler.runAfter(0, workIn(module), { failed: run });
    throw error;
  }
  const settlement = settlementOf(result, run, "action");
  if (settlement) await ctx.scheduler.runAfter(0, workIn(module), { settlement });
  return null;
}

/**
 * Drops a job that has failed if its function is gone, which its scheduler knows, and gives its tokens back; whether it
 * is gone. Only for a job that names `onDropped`: the platform logs the failure.
 */
export async function dropMissing(ctx: WorkerCtx, run: QueuedRunArgs): Promise<boolean> {
  const { fn, args, turn, ...paid } = run;
  const { onDropped } = turn;
  if (onDropped === undefined) return false;
  try {
    const call = fn as unknown as convex.FunctionHandle<"mutation">;
    await ctx.scheduler.cancel(await ctx.scheduler.runAt(ctx.now + FURTHEST_MS, call, args));
    return false;
  } catch {
    await drop(ctx, paid.name, { args, onDropped }, "function missing");
    await settle(ctx, { ...paid, used: 0 });
    return true;
  }
}
