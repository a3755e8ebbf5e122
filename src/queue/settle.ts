/** Runs of paid jobs. If one says what it used, the mutation that ends it charges or gives back the difference, once. */
import * as convex from "convex/server";
import { type Adjustment, adjustmentOf, parseAdjustment } from "../engine/adjustment.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { adjustOnSome, distribute } from "../engine/sharding/pool.js";
import type { Shard } from "../engine/sharding/shard.js";
import { FURTHEST_MS } from "../engine/time.js";
import { MAX_TOKENS } from "../engine/units.js";
import { adjust } from "../operations/adjust.js";
import { idOf } from "../storage/rows.js";
import type { QueuedRunArgs, SettleArgs } from "../wire/queue.js";
import { MOST_SETTLED, type WorkerCtx } from "./batch.js";
import {
  deleteJob,
  insertJob,
  insertSettlement,
  type JobRow,
  jobsOf,
  type SettledJob,
  type WorkerRow,
} from "./rows.js";
import { mostPaidFrom } from "./pay.js";
import { type Queue, toStoredQueue } from "./terms.js";
import { isBusy, planWork, type QueueCtx, readWorker, wake, workIn } from "./wake.js";
import { ensureRunning } from "./workers.js";

/**
 * How long a refund waits for room on the rows that runs happen to read, some hundred runs. Tokens that found no room by then lapse. Other
 * settlements wait behind them, and a run that reads all rows of a hot bucket mostly conflicts.
 */
const LAPSE_MS = 10_000;

interface PaidJob extends JobRow {
  readonly runAt: number;
  readonly takenAt: number;
}

/** Schedules a job; whether it could. */
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
    return true;
  } catch (error) {
    // A deploy has taken the function away. It will not come back for being asked again, and others wait behind it.
    const why = `a queued job's function cannot be scheduled, so the job is dropped: ${String(error)}`;
    console.error(misuseError(queue.name, why));
    return false;
  }
}

/** A job that is settled takes its bucket along; one that may run again its place in the queue, and how often it will have run. */
function runOf(of: Queue, job: PaidJob): QueuedRunArgs {
  const { queue, ...bucket } = toStoredQueue(of);
  const { _id, at, priority, fairBy, runs = 0, first = _id, count, fn, args, runAt, takenAt } = job;
  const run = { ...bucket, count, fn, args, at: runAt, takenAt };
  if (of.terms.attempts === 1) return run;
  const attempt = runs + 1;
  const numbered = "attempt" in args ? { ...args, attempt } : args;
  return { ...run, args: numbered, turn: { at, priority, fairBy, runs: attempt, first, queue } };
}

/** How to settle a job that has returned `result`; undefined when it says nothing, and the job has used its count. */
function settlementOf(result: unknown, run: QueuedRunArgs, settles: "mutation" | "action"): SettleArgs | undefined {
  const said = (result ?? {}) as { used?: unknown; again?: unknown };
  const { fn, args, turn, ...bucket } = run;
  const wait = waitOf(bucket.name, said.again);
  const isUsed = typeof said.used === "number" && said.used >= 0 && said.used <= MAX_TOKENS;
  if (!isUsed && wait === undefined) return undefined;
  // A job that must run again has done nothing yet, unless it says so.
  const used = isUsed ? Number(said.used) : said.used === undefined ? 0 : run.count;
  if (wait === undefined) return { ...bucket, used };
  if (!turn) {
    const why = "a queued job asked to run again, which needs queue.attempts: it is dropped.";
    console.error(misuseError(bucket.name, why));
    return { ...bucket, used };
  }
  const notBefore = wait > 0 && { notBefore: Date.now() + wait };
  return { ...bucket, used, again: { turn, settles, fn, args, ...notBefore } };
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
  const result: unknown = await ctx.runMutation(run.fn as convex.FunctionHandle<"mutation">, run.args);
  const settlement = settlementOf(result, run, "mutation");
  if (settlement) await settle(ctx, settlement);
}

/**
 * Runs a job that is an action. If it dies on the way its count stays charged: nobody knows what it has used. Its settlement is scheduled:
 * a mutation that an action calls fails after a few conflicts, a scheduled one runs again.
 */
export async function runAction(
  ctx: Pick<convex.GenericActionCtx<convex.GenericDataModel>, "scheduler" | "runAction">,
  run: QueuedRunArgs,
  module: string,
): Promise<null> {
  const result: unknown = await ctx.runAction(run.fn as convex.FunctionHandle<"action">, run.args);
  const settlement = settlementOf(result, run, "action");
  if (settlement) await ctx.scheduler.runAfter(0, workIn(module), { settlement });
  return null;
}

/**
 * Charges or gives back the difference, by the limit as it is now: the job may have begun before a deploy. Or leaves that to a busy worker.
 * A queue that gets tokens back moves up.
 */
export async function settle(ctx: WorkerCtx, settling: SettleArgs): Promise<void> {
  const { count, used, at, takenAt, again, ...bucket } = settling;
  if (used === count && !again) return;
  const row = await readWorker(ctx, bucket);
  // The row may be gone by now. A job that does not run again only needs the bucket.
  const queue = ctx.lookUp(row ?? { ...bucket, queue: again?.turn.queue ?? {} });
  if (used !== count) {
    const settlement = { count, used, at, takenAt };
    try {
      // A busy worker writes the bucket's rows all the time: jobs that end must not conflict with it, or with each other.
      if (row && isBusy(row, ctx.now)) await insertSettlement(ctx, queue, settlement);
      else await adjust(ctx, differenceOf(queue, settlement));
    } catch (error) {
      // A damaged bucket: the job keeps its count, what it wrote, and its wish to run again.
      console.error(error);
    }
  }
  await waitAgain(ctx, queue, row, settling);
  if (used < count) await wake(ctx, bucket);
}

/**
 * Makes the settlements that wait for the worker, as many as one run may, on the rows that it has read. A settlement that fails is dropped,
 * and its job keeps its count: the chain of runs must not break.
 * @returns `held`: the rows with the settlements made; `hasUnsettled`: whether more may wait.
 * @param shards - undefined if the bucket is damaged.
 */
export async function settleEnded(ctx: QueueCtx, queue: Queue, waiting: readonly JobRow[], shards?: readonly Shard[]) {
  let held = shards;
  let settled = 0;
  for (const row of waiting.slice(0, shards && mostPaidFrom(shards))) {
    try {
      if (!held) throw misuseError(queue.name, "its bucket is damaged: a queued job that has ended keeps its count.");
      const difference = differenceOf(queue, row.args as SettledJob);
      const isLapsing = difference.units < 0 && row._creationTime < ctx.now - LAPSE_MS;
      const left = isLapsing
        ? distribute(held, ctx.now, difference)
        : adjustOnSome(queue.limit, held, ctx.now, difference);
      if (!left) continue;
      held = left;
    } catch (error) {
      console.error(error);
    }
    await deleteJob(ctx, row);
    settled++;
  }
  return { held, hasUnsettled: settled < waiting.length || settled === MOST_SETTLED };
}

/** The difference between what a job has used and its count, to charge or to give back. */
function differenceOf(queue: Queue, { count, used, at, takenAt }: SettledJob): Adjustment {
  // The difference of two tokens as numbers is a little beside the number that it stands for: that of their units is exact.
  const units = parseAdjustment(queue.limit, used) - parseAdjustment(queue.limit, count);
  return { ...adjustmentOf(queue, { count: used - count, at, takenAt }), units };
}

/** Puts a job that must run again back into the place it had, now or later, unless it has run as often as it may. */
async function waitAgain(ctx: QueueCtx, queue: Queue, row: WorkerRow | null, settling: SettleArgs): Promise<void> {
  const { count, again } = settling;
  if (!again) return;
  const { turn, notBefore, ...call } = again;
  const { name, terms } = queue;
  if (turn.runs >= terms.attempts) {
    console.error(misuseError(name, `a queued job has run ${turn.runs} times (queue.attempts): it is dropped.`));
    return;
  }
  if (notBefore !== undefined) {
    // Its use is settled by then.
    await planWork(ctx, notBefore, { settlement: { ...settling, used: count, again: { turn, ...call } } });
    return;
  }
  const { at, priority, fairBy, runs, first } = turn;
  // Rounds that are over do not come back. When none waits they begin anew, with this job: it is the oldest without a round.
  const round = (await jobsOf(ctx, queue, priority, { isSorted: true, most: 1 }))[0]?.round;
  // Before those that came in the same commit, behind it: of two jobs with one time the database takes the older row first.
  await insertJob(ctx, { ...idOf(queue), at: at - 1n, priority, fairBy, round, runs, first, count, ...call });
  await ensureRunning(ctx, queue, row);
}
