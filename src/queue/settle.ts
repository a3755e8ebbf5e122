/**
 * Settling jobs that have ended: the difference between what they used and their count is charged or given back, once.
 * A job that will not run is dropped: the app hears of it, with the job's arguments and why.
 */
import type { FunctionHandle } from "convex/server";
import { type Adjustment, adjustmentOf, parseAdjustment } from "../engine/adjustment.js";
import type { Bucket } from "../engine/bucket.js";
import { misuseError } from "../engine/misuse.js";
import { isFast } from "../engine/sharding/policy.js";
import { adjustOnSome, distribute } from "../engine/sharding/pool.js";
import type { Shard } from "../engine/sharding/shard.js";
import { adjust } from "../operations/adjust.js";
import { idOf } from "../storage/rows.js";
import { present } from "../wire/present.js";
import type { DropReason, SettleArgs } from "../wire/queue.js";
import { mostPaidFrom } from "./pay.js";
import * as storage from "./rows.js";
import { parseQueue, type Queue, termsInForce } from "./terms.js";
import { ensureRunning, isBusy, readWorker, wake } from "./worker.js";
import type { JobRow, QueueCtx, WorkerCtx } from "./tables.js";

/**
 * How long a refund waits for room on the rows that runs happen to read, some hundred runs. Tokens that found no room
 * by then lapse. Other settlements wait behind them, and a run that reads all rows of a hot bucket mostly conflicts.
 */
const LAPSE_MS = 10_000;

/**
 * Charges or gives back the difference, by the limit as it is now: the job may have begun before a deploy. Or leaves
 * that to a busy worker. A queue that gets tokens back moves up.
 */
export async function settle(ctx: WorkerCtx, settling: SettleArgs): Promise<void> {
  const { count, used, at, takenAt, again, ...bucket } = settling;
  if (used === count && !again) return;
  const row = await readWorker(ctx, bucket);
  const { terms, text } = await termsInForce(ctx, bucket.name);
  const queue = parseQueue(terms, { plan: bucket.plan, ...row, key: bucket.key });
  if (used !== count) {
    const settlement = { count, used, at, takenAt };
    try {
      // A busy worker writes the bucket's rows all the time: jobs that end must not conflict with it, or with each
      // other.
      if (row && isBusy(row, ctx.now)) await storage.insertSettlement(ctx, queue, settlement);
      else await adjust(ctx, differenceOf(queue, settlement));
    } catch (error) {
      // A damaged bucket: the job keeps its count, what it wrote, and its request to run again.
      console.error(error);
    }
  }
  if (again && (await waitAgain(ctx, queue, { ...settling, again }))) await ensureRunning(ctx, queue, row, text);
  if (used < count) await wake(ctx, bucket);
}

/**
 * Makes the settlements that wait for the worker, as many as one run may, on the rows that it has read. A settlement
 * that fails is dropped, and its job keeps its count: the chain of runs must not break.
 * @returns `held`: the rows with the settlements made; `hasUnsettled`: whether more may wait.
 * @param shards - undefined if the bucket is damaged.
 */
export async function settleEnded(ctx: QueueCtx, own: Bucket, waiting: readonly JobRow[], shards?: readonly Shard[]) {
  let held = shards;
  let settled = 0;
  for (const row of waiting.slice(0, shards && mostPaidFrom(shards))) {
    try {
      if (!held) throw misuseError(own.name, "its bucket is damaged: a queued job that has ended keeps its count.");
      const difference = differenceOf(own, row.args as storage.SettledJob);
      const isLapsing = difference.units < 0 && row._creationTime < ctx.now - LAPSE_MS;
      const left = isLapsing
        ? distribute(held, ctx.now, difference)
        : adjustOnSome(held, ctx.now, difference, isFast(own.limit, -difference.units));
      if (!left) continue;
      held = left;
    } catch (error) {
      console.error(error);
    }
    await storage.deleteJob(ctx, row);
    settled++;
  }
  return { held, hasUnsettled: settled < waiting.length };
}

/** The difference between what a job has used and its count, to charge or to give back. */
function differenceOf(own: Bucket, { count, used, at, takenAt }: storage.SettledJob): Adjustment {
  // The difference of two tokens as numbers is a little beside the number that it stands for: that of their units is
  // exact.
  const units = parseAdjustment(own.limit, used) - parseAdjustment(own.limit, count);
  return { ...adjustmentOf(own, { count: used - count, at, takenAt }), units };
}

/**
 * Puts a job that must run again back into the place it had, now or later, unless it has run as often as it may;
 * whether its worker must run.
 */
async function waitAgain(ctx: QueueCtx, queue: Queue, settling: SettleArgs & { again: object }): Promise<boolean> {
  const { count, again } = settling;
  const { turn, notBefore = 0, ...call } = again;
  const { runs, ...place } = turn;
  const { notAfter = Infinity, onDropped } = turn;
  const isLast = runs >= queue.terms.attempts;
  if (isLast || notBefore > notAfter) {
    await drop(ctx, queue.name, { ...call, onDropped }, isLast ? "attempts" : "expired");
    return false;
  }
  // Before those that came in the same commit, behind it: of two jobs with one time the database takes the older row
  // first.
  const job = present({ ...idOf(queue), ...place, at: place.at - 1n, runs, count, ...call });
  if (notBefore > 0) await storage.insertDelayed(ctx, job, notBefore);
  else await storage.insertJob(ctx, present({ ...job, round: await roundAgain(ctx, queue, turn.priority) }));
  return true;
}

/**
 * The round that is being served, if any is. Rounds that are over do not come back. When none waits they begin anew,
 * with the job that runs again: it is the oldest without a round.
 */
const roundAgain = async (ctx: QueueCtx, queue: Queue, priority: number) =>
  (await storage.jobsOf(ctx, queue, priority, { isSorted: true, most: 1 }))[0]?.round;

/** Puts a job back into its place whose time to run again has come. */
export async function returnJob(ctx: QueueCtx, queue: Queue, job: JobRow): Promise<void> {
  const { runs = 0, priorityThen = 0 } = job;
  if (runs < queue.terms.attempts) {
    await storage.bringBack(ctx, job, await roundAgain(ctx, queue, priorityThen));
    return;
  }
  await storage.deleteJob(ctx, job);
  await drop(ctx, queue.name, job, "attempts");
}

/** Reports a job that is dropped: to the app's mutation, if the job names one, else to the log. */
export async function drop(
  ctx: Pick<QueueCtx, "scheduler">,
  name: string,
  { args, onDropped }: Pick<JobRow, "args" | "onDropped">,
  reason: DropReason,
): Promise<void> {
  const problem = `a queued job is dropped (${reason})`;
  if (onDropped === undefined) {
    console.error(misuseError(name, `${problem}: give onDropped, a mutation, to hear of it.`));
    return;
  }
  try {
    await ctx.scheduler.runAfter(0, onDropped as unknown as FunctionHandle<"mutation">, { args, reason });
  } catch (error) {
    console.error(misuseError(name, `${problem}, and its onDropped cannot be scheduled: ${String(error)}`));
  }
}
