/**
 * One run of a bucket's worker. It settles jobs that have ended, looks at those that have come, pays for as many as it
 * can, schedules those, and plans the next run. All of it is one transaction, so a run that fails or conflicts has done
 * nothing.
 */
import { present } from "../wire/present.js";
import type { RunArgs, WorkArgs } from "../wire/queue.js";
import { reportOf } from "./backlog.js";
import { isFirst, look, MOST_SETTLED } from "./batch.js";
import { FIRST_JOBS, LINGER_MS, mostJobs, paceOf, paceWithMore } from "./pace.js";
import { type LaterPayment, mostPaidFrom } from "./pay.js";
import { loadPayer, payByAll, whenBroughtByAll, writePayers } from "./payers.js";
import * as storage from "./rows.js";
import { drop, returnJob, settle, settleEnded } from "./settle.js";
import { dropMissing, runMutation, scheduleJob } from "./start.js";
import { parseQueue, type PayingBucket, type Queue, termsInForce } from "./terms.js";
import { LEASE_MS, patchWorker, planWork, readOwnWorker } from "./worker.js";
import type { JobRow, WorkerCtx } from "./tables.js";

/** A bucket with damaged rows lets nothing through until it is reset: the worker looks again after this time. */
const DAMAGED_MS = 60_000;
/** A waiting worker looks once a day, so that it notices a raised limit and other changes without a report. */
const MOST_SLEEP_MS = 86_400_000;
/** The most jobs that a run drops because they have expired, or puts back because they must run again. */
const MOST_DUE = 64;

export async function work(ctx: WorkerCtx, { run, job, settlement, failed, started }: WorkArgs): Promise<null> {
  if (run) await runOnce(ctx, run);
  if (job) await runMutation(ctx, job);
  if (settlement) await settle(ctx, settlement);
  if (failed) await dropMissing(ctx, failed);
  if (started) await storage.deleteJob(ctx, { _id: started });
  return null;
}

async function runOnce(ctx: WorkerCtx, run: RunArgs): Promise<void> {
  const { now } = ctx;
  const row = await readOwnWorker(ctx, run);
  if (!row) return;
  const { terms, text } = await termsInForce(ctx, run.name);
  const queue = parseQueue(terms, row);
  const { maxQueued } = queue.terms;
  // A row that was put back knows no terms: other runs may have taken jobs while there was none.
  const found = await serve(ctx, queue, row.terms === undefined ? { ...run, queued: undefined } : run);
  const { awaited, seen, busyAt, taken } = found;
  let pace = paceOf({ ...found, now });
  // Only before it rests it reads the range into which callers insert: one that saw it run must not insert unseen.
  if (pace.state !== "running" && !(await isFirst(ctx, queue, awaited?.job._id))) pace = paceWithMore(now);
  const [delayed] = pace.state === "running" ? [] : await storage.delayedJobs(ctx, queue, Infinity, 1);
  const { round: againAt = Infinity } = delayed ?? {};
  if (pace.state === "idle" && delayed) pace = { state: "waiting", at: againAt };
  const isSleeping = pace.state === "waiting";
  const report = reportOf({ ...found, now, row, pace, maxQueued });
  const [expiring] = isSleeping ? await storage.expiringJobs(ctx, queue, Infinity, 1) : [];
  const nextAt = Math.min(pace.at, now + MOST_SLEEP_MS, expiring?.notAfter ?? Infinity, againAt);
  const { name, key, generation } = run;
  const most = mostJobs(awaited !== undefined, taken);
  // Without a bound nobody counts.
  const queued = maxQueued < Infinity ? found.queued : undefined;
  const next = present({ name, key, plan: row.plan, generation, ...seen, busyAt, most, queued });
  const start = pace.state === "idle" ? undefined : await planWork(ctx, nextAt, { run: next });
  const isRunning = pace.state === "running";
  const mustRenew = isSleeping || row.runsUntil - now < LEASE_MS / 2;
  await patchWorker(ctx, row, {
    ...report,
    terms: text,
    state: pace.state,
    // While it runs on, it stays busy (isBusy).
    ...(mustRenew && { runsUntil: LEASE_MS + (isRunning ? now - LINGER_MS : nextAt) }),
    ...(isSleeping && { start, awaits: awaited?.job._id }),
  });
}

/** Drops what has expired, settles what has ended, and pays for what can be paid: what a run finds and does. */
async function serve(ctx: WorkerCtx, queue: Queue, run: RunArgs) {
  const { now } = ctx;
  const [expired, due] = await Promise.all([
    storage.expiringJobs(ctx, queue, now, MOST_DUE),
    storage.delayedJobs(ctx, queue, now, MOST_DUE),
  ]);
  for (const job of expired) {
    await storage.dismissJob(ctx, job, queue.terms);
    await drop(ctx, queue.name, job, "expired");
  }
  for (const job of due) if ((job.notAfter ?? Infinity) > now) await returnJob(ctx, queue, job);
  const { most = FIRST_JOBS, queued = 0 } = run;
  const { settlements, seen, arrived, first, hasMore: goesOn, isUnsorted } = await look(ctx, queue, { ...run, most });
  const dismissed = settlements.filter(storage.isDismissed);
  for (const job of dismissed) await storage.deleteJob(ctx, job);
  const ended = settlements.filter((row) => !storage.isDismissed(row));
  const { taken, awaited, hasUnsettled, payers } = await takeJobs(ctx, queue, first, ended);
  // The next run counts those that are back. A user whose job has no round yet has no turn.
  const isCut = due.length > 0 || settlements.length === MOST_SETTLED || hasUnsettled || isUnsorted;
  const hasMore = isCut || (!awaited && (goesOn || taken < first.length));
  const counted = [...first.slice(0, taken), ...dismissed].filter((job) => storage.isCounted(job, seen));
  return {
    /** The arrivals up to there have been seen. */
    seen,
    /** The jobs that were paid, or dropped as they were to be paid; and those that wait. */
    taken,
    queued: awaited || hasMore ? queued + arrived - counted.length : 0,
    /** The first job that waits, and for what. */
    awaited,
    /** Whether it took all that it looked at, so that more may wait. */
    hasMore,
    // A clock that steps back would make it linger until it has come as far again.
    busyAt: arrived > 0 ? now : Math.min(now, run.busyAt ?? now),
    /** About when this number of the jobs that wait will have left. */
    whenLeft(jobs: number) {
      // Those that it has not read take about as much.
      const like = taken < first.length ? first.slice(taken, taken + jobs) : first;
      return payers && like.length > 0 ? whenBroughtByAll(payers, like, jobs / like.length) : now;
    },
  };
}

/** Settles, then pays for jobs in order and schedules them, as many as one run may. */
async function takeJobs(ctx: WorkerCtx, queue: Queue, first: readonly JobRow[], settlements: readonly JobRow[]) {
  const all = [...first, ...settlements];
  if (all.length === 0) return { taken: 0, hasUnsettled: false };
  const [head] = first;
  // A damaged bucket pays for nothing. The chain of runs must not break, or nobody would serve the queue after a reset.
  const load = (bucket: PayingBucket) =>
    loadPayer(ctx, bucket, all).catch((error: unknown) => {
      console.error(error);
      return undefined;
    });
  const own = await load(queue);
  // The rows count in the units of the override, if there is one.
  const { held, hasUnsettled } = await settleEnded(ctx, own?.terms.counted ?? queue, settlements, own?.shards);
  const others = head ? await Promise.all(queue.with.map(load)) : [];
  let payers = [own && held && { ...own, held }, ...others].filter((payer) => payer !== undefined);
  let taken = 0;
  const isDamaged = payers.length <= queue.with.length;
  let awaited: (LaterPayment & { readonly job: JobRow }) | undefined =
    head && isDamaged ? { job: head, dueAt: ctx.now + DAMAGED_MS, isAhead: true } : undefined;
  for (const job of awaited ? [] : first.slice(0, mostPaidFrom(payers.flatMap(({ shards }) => shards)))) {
    const { later, paid, left } = payByAll(payers, job);
    if (later) {
      awaited = { job, ...later };
      break;
    }
    // A job that cannot be scheduled is dropped, and its tokens stay.
    if (paid && (await scheduleJob(ctx, queue, { ...job, ...paid }))) payers = left;
    taken++;
  }
  await writePayers(ctx, payers);
  return { taken, awaited, hasUnsettled, payers };
}
