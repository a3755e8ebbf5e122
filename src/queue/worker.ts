/**
 * One run of a bucket's worker. It settles jobs that have ended, looks at those that have come, pays for as many as it can, schedules
 * those, and plans the next run. All of it is one transaction, so a run that fails or conflicts has done nothing.
 */
import { write } from "../storage/rows.js";
import { COLD_MS } from "../engine/sharding/policy.js";
import { unitsOf } from "../engine/units.js";
import { changeOf, loadAll, loadAt } from "../storage/shards.js";
import type { RunArgs, WorkArgs } from "../wire/queue.js";
import { backlogOf } from "./backlog.js";
import { isFirst, look, type WorkerCtx } from "./batch.js";
import { LINGER_MS, paceOf } from "./pace.js";
import { type LaterPayment, mostPaidFrom, payFor } from "./pay.js";
import { deleteJob, type JobRow, patchJob } from "./rows.js";
import { runMutation, scheduleJob, settle, settleEnded } from "./settle.js";
import { type Queue, toStoredQueue } from "./terms.js";
import { LEASE_MS, patchWorker, planWork } from "./wake.js";
import { readOwnWorker } from "./workers.js";

/** The number of jobs that a run looks at: the first of a start, and each that may pay for all, as many as keep the transaction short. */
const FIRST_JOBS = 16;
const MOST_JOBS = 256;
/** While the bucket is short, reading jobs that cannot be paid is wasted: a few more than the last run paid. */
const mostWhileShort = (taken: number) => 4 + Math.ceil(1.25 * taken);
/** A waiting worker looks once a day, so that it notices a raised limit and other changes without a report. */
const MOST_SLEEP_MS = 86_400_000;
/** A bucket with damaged rows lets nothing through until it is reset: the worker looks again after this time. */
const DAMAGED_MS = 60_000;

export async function work(ctx: WorkerCtx, { run, job, settlement }: WorkArgs): Promise<null> {
  if (run) await workOnce(ctx, run);
  if (job) await runMutation(ctx, job);
  if (settlement) await settle(ctx, settlement);
  return null;
}

async function workOnce(ctx: WorkerCtx, run: RunArgs): Promise<void> {
  const { now } = ctx;
  const row = await readOwnWorker(ctx, run);
  if (!row) return;
  const queue = ctx.lookUp(row);
  const { most = FIRST_JOBS } = run;
  const { settlements, seenTo, arrived, first, hasMore: goesOn, isUnsorted } = await look(ctx, queue, { ...run, most });
  const { taken, awaited, hasUnsettled } = await takeJobs(ctx, queue, first, settlements);
  // A clock that steps back would make it linger until it has come as far again.
  const busyAt = arrived > 0 ? now : Math.min(now, run.busyAt ?? now);
  // A user whose job has no round yet has no turn.
  const hasMore = hasUnsettled || isUnsorted || (!awaited && (goesOn || taken < first.length));
  const found = paceOf({ now, hasMore, awaited, busyAt });
  // Before it stops or sleeps, and only then, it reads the range into which callers insert: one that saw it run must not insert unseen.
  const mayRest = found.kind === "run" || (await isFirst(ctx, queue, awaited?.job._id));
  const pace = mayRest ? found : paceOf({ now, hasMore: true, awaited, busyAt });
  const backlog = await backlogOf(ctx, { queue, row, run, pace, arrived, taken, isDrained: !awaited && !hasMore });
  const state = pace.kind === "run" ? row.state : pace.kind === "wait" ? "waiting" : "idle";
  const { recountAt = Infinity } = backlog;
  const nextAt = pace.kind === "stop" ? now : Math.min(pace.at, now + MOST_SLEEP_MS, recountAt);
  const mustRenew = pace.kind === "wait" || row.runsUntil - now < LEASE_MS / 2;
  // A number that was counted under other terms is not passed on: without a bound nobody counts.
  const { generation } = run;
  const nextMost = awaited ? mostWhileShort(taken) : MOST_JOBS;
  const next = { ...toStoredQueue(queue), generation, seenTo, busyAt, most: nextMost, ...backlog.run };
  const planned = pace.kind === "stop" ? undefined : await planWork(ctx, nextAt, { run: next });
  const fields = {
    ...backlog.row,
    ...(pace.kind === "wait" && { start: planned }),
    ...(state !== row.state && { state }),
    // While it runs on, it stays busy (isBusy).
    ...(mustRenew && { runsUntil: LEASE_MS + (pace.kind === "run" ? now - LINGER_MS : nextAt) }),
  };
  if (Object.keys(fields).length > 0) await patchWorker(ctx, row, fields);
  if (pace.kind === "wait" && awaited) await patchJob(ctx, awaited.job, { isAwaited: true });
}

/** Settles, then pays for jobs in order and schedules them, as many as one run may. Says how many, and for what the next one waits. */
async function takeJobs(ctx: WorkerCtx, queue: Queue, first: readonly JobRow[], settlements: readonly JobRow[]) {
  const all = [...first, ...settlements];
  if (all.length === 0) return { taken: 0, hasUnsettled: false };
  const shards = await loadUndamaged(ctx, queue, all);
  const { held: settled, hasUnsettled } = await settleEnded(ctx, queue, settlements, shards);
  const [head] = first;
  // The chain of runs must not break, or nobody would serve the queue after a reset.
  if (!shards || !settled) {
    return { taken: 0, awaited: head && { job: head, dueAt: ctx.now + DAMAGED_MS, isAhead: true }, hasUnsettled };
  }
  let held = settled;
  let taken = 0;
  let awaited: (LaterPayment & { readonly job: JobRow }) | undefined;
  for (const job of first.slice(0, mostPaidFrom(shards))) {
    const payment = payFor(queue.limit, held, ctx.now, job);
    if (!payment.isPaid) {
      awaited = { job, ...payment };
      break;
    }
    // A job that cannot be scheduled is dropped, and its tokens stay.
    const { runAt, takenAt, left } = payment;
    if (await scheduleJob(ctx, queue, { ...job, runAt, takenAt })) held = left;
    await deleteJob(ctx, job);
    taken++;
  }
  await write(ctx, changeOf(queue, shards, held));
  return { taken, awaited, hasUnsettled };
}

/**
 * The rows that a run pays from; undefined if the bucket is damaged. A run that reads all rows of a hot bucket conflicts with each plain
 * call, and the scheduler waits longer each time. Most runs therefore read a random span of rows that can hold the jobs.
 */
async function loadUndamaged(ctx: WorkerCtx, queue: Queue, jobs: readonly JobRow[]) {
  // Some rows do not say when a job can be paid, so some runs read all.
  const ALL_ROWS_CHANCE = 1 / 8;
  // A span has one row for each 100 ms since the drawn row was written: about one run in five conflicts.
  const MS_PER_ROW = 100;
  const { limit } = queue;
  try {
    if (limit.levels.most > 0 && ctx.random() >= ALL_ROWS_CHANCE) {
      const row = await loadAt(ctx, queue, ctx.random());
      const { interval } = row;
      const gapMs = ctx.now - row.state.ts;
      if (gapMs < COLD_MS) {
        const needed = jobs.map(({ count }) => unitsOf(limit, count) / row.limit.capacity);
        const all = needed.reduce((sum, rows) => sum + rows, 0);
        const levels = Math.ceil(Math.log2(Math.max(1, needed[0] ?? 0, Math.min(all, gapMs / MS_PER_ROW))));
        if (levels === 0) return [row];
        return await loadAll(ctx, queue, interval.slice(0, Math.max(0, interval.length - levels)));
      }
    }
    return await loadAll(ctx, queue);
  } catch (error) {
    console.error(error);
    return undefined;
  }
}
