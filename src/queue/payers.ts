/**
 * The payers of a queue's jobs: the bucket of its own limit and, if it has `with`, those of further limits. With
 * several a job takes from all when all can pay at once, or from none: two reservations would start at different times.
 */
import { COLD_MS } from "../engine/sharding/policy.js";
import { decide, type Timing } from "../engine/decide.js";
import { type Limit, mostReservedOf } from "../engine/kinds/kind.js";
import { advance, areAll, charged, fold, fullShard, heldBy, heldByAll, type Shard } from "../engine/sharding/shard.js";
import { END_OF_TIME } from "../engine/time.js";
import { unitsOf } from "../engine/units.js";
import { type Call, findTerms, type Terms } from "../operations/terms.js";
import { type Reader, write, type Writer } from "../storage/rows.js";
import { changeOf, loadAll, loadFirst, type StoredShard } from "../storage/shards.js";
import { type LaterPayment, mostPaidFrom, type PaidPayment, type PayableJob, payFor } from "./pay.js";
import type { PayingBucket, Queue } from "./terms.js";

export interface Payer {
  readonly terms: Terms<PayingBucket>;
  /** The rows that were read, all or some of them; and as they are left. */
  readonly shards: readonly StoredShard[];
  readonly held: readonly Shard[];
}

/** An operator who changes a limit that several keys share does not wake their queues: they look at it this often. */
const SHARED_MS = 60_000;

/** A job as a bucket sees it: with the count of `with`, if the bucket is of a further limit. */
const askedOf = ({ count }: PayingBucket, job: PayableJob): PayableJob => (count === undefined ? job : { count });

/** @throws when the bucket is damaged. */
export async function loadPayer(ctx: Reader & Call, bucket: PayingBucket, jobs: readonly PayableJob[]): Promise<Payer> {
  const terms = await findTerms(ctx, bucket, ctx);
  const shards = await loadFor(ctx, terms, jobs);
  return { terms, shards, held: shards };
}

/** All that pay for a queue, with all their rows, to show when a job starts: a random number of 0 reads all. */
export const loadAllPayers = (ctx: Reader, queue: Queue, now: number): Promise<Payer[]> =>
  Promise.all([queue, ...queue.with].map((bucket) => loadPayer({ ...ctx, now, random: () => 0 }, bucket, [])));

/**
 * The rows that a run pays from. A run that reads all rows of a hot bucket conflicts with each plain call, and the
 * scheduler waits longer each time. Most runs therefore read a random span of rows that can hold the jobs.
 */
async function loadFor(
  ctx: Reader & Call,
  { bucket, counted, found }: Terms<PayingBucket>,
  jobs: readonly PayableJob[],
): Promise<StoredShard[]> {
  // Some rows do not say when a job can be paid, so some runs read all.
  const ALL_ROWS_CHANCE = 1 / 8;
  // A span has one row for each 100 ms since the drawn row was written: about one run in five conflicts.
  const MS_PER_ROW = 100;
  if (found.rows || ctx.random() < ALL_ROWS_CHANCE) return await loadAll(ctx, counted, found);
  const row = await loadFirst(ctx, counted, found);
  const { interval } = row;
  const gapMs = ctx.now - row.state.ts;
  if (gapMs >= COLD_MS) return await loadAll(ctx, counted, found);
  const needed = jobs.map((job) => unitsOf(counted.limit, askedOf(bucket, job).count) / row.limit.capacity);
  const all = needed.reduce((sum, rows) => sum + rows, 0);
  const levels = Math.ceil(Math.log2(Math.max(1, needed[0] ?? 0, Math.min(all, gapMs / MS_PER_ROW))));
  if (levels === 0) return [row];
  return await loadAll(ctx, counted, found, interval.slice(0, Math.max(0, interval.length - levels)));
}

/** Pays for one job by all, or by none: then it waits for the last of them. @returns the payers as they are left. */
export function payByAll(payers: readonly Payer[], job: PayableJob) {
  const left: Payer[] = [];
  let later: LaterPayment | undefined;
  let paid: PaidPayment | undefined;
  for (const payer of payers) {
    const { bucket, now } = payer.terms;
    const payment = payFor(payer.terms, payer.held, askedOf(bucket, job), payers.length > 1);
    if (payment.isPaid) {
      // That of its own limit, which is the first: a job that settles gets its tokens back by their date.
      paid ??= payment;
      left.push({ ...payer, held: payment.left });
      continue;
    }
    const dueAt = bucket.isShared ? Math.min(payment.dueAt, now + SHARED_MS) : payment.dueAt;
    if (!later || dueAt > later.dueAt) later = { dueAt, isAhead: payment.isAhead };
  }
  return later ? { later, left: payers } : { paid, left };
}

/** About when the last of them will have brought what jobs take, or `times` as much, if nothing else takes any. */
export function whenBroughtByAll(payers: readonly Payer[], jobs: readonly PayableJob[], times = 1): number {
  // After this many jobs only the sum of the others counts: that bounds the CPU to 20 ms. A turn sorts a whole log, so
  // it takes as long as 16 payments.
  const MOST_TURNS = 256;
  const PAYMENTS = 16;
  const whenAll = (all: readonly Payer[], some: readonly PayableJob[], more: number) =>
    Math.max(...all.map((payer) => whenBrought(payer, some, more)));
  const soonest = whenAll(payers, jobs, times);
  if (payers.length === 1 && payers.every(isSaving)) return soonest;
  // The next job may not be able to use what one leaves of a window or of another limit, so each takes in its turn.
  const most = Math.min(MOST_TURNS, Math.ceil(mostPaidFrom(payers.flatMap(({ held }) => held)) / PAYMENTS));
  const turns = Math.min(most, Math.round(times * jobs.length));
  const repeated = Array.from({ length: Math.ceil(times) }, () => jobs).flat();
  let left = payers.map((payer) => (soonest < untilOf(payer) ? payer : afterOverride(payer)));
  for (const job of repeated.slice(0, turns - 1)) {
    const at = whenAll(left, [job], 1);
    left = left.map((payer) => afterJob(payer, job, at));
  }
  return whenAll(left, repeated.slice(turns - 1, turns), 1 + times * jobs.length - turns);
}

/** Whether a job takes what the one before leaves, and owes the rest. */
function isSaving({ terms }: Payer): boolean {
  const { kind, maxReserved, capacity, refill } = terms.counted.limit;
  return kind.runsFrom !== undefined && maxReserved >= Math.max(capacity, refill);
}

/** A payer that has paid for a job at a time: with what it holds, since it does not owe for others. */
function afterJob(payer: Payer, job: PayableJob, at: number): Payer {
  const { bucket, counted, now } = payer.terms;
  const whole = advance(wholeOf(payer, now), at);
  const units = Math.min(Math.max(0, whole.state.value), unitsOf(counted.limit, askedOf(bucket, job).count));
  return { ...payer, terms: { ...payer.terms, now: at }, held: [charged(whole, units)] };
}

const untilOf = ({ terms }: Payer) => terms.override?.until ?? Infinity;

/**
 * A payer whose override has ended: the limit's own config brings the rest. How much the override has brought by then
 * depends on jobs that go before others, so nothing counts but its debt.
 */
function afterOverride(payer: Payer): Payer {
  const { bucket, counted, override, pausedUntil, now } = payer.terms;
  const { limit } = bucket;
  const from = Math.max(now, pausedUntil, untilOf(payer));
  const terms = { ...payer.terms, now: from, counted: bucket, override: undefined };
  if (!override?.limit) return { ...payer, terms };
  const owed = unitsOf(limit, Math.max(0, -heldBy(wholeOf(payer, now), now)) / counted.limit.unitsPerToken);
  return { ...payer, terms, held: [shortOf(limit, from, limit.capacity + owed)] };
}

/** All rows as one, since a decision on thousands takes long. Those that were not read may hold nothing. */
function wholeOf({ terms, held }: Payer, now: number): Shard {
  const { limit } = terms.counted;
  return areAll(held) ? fold(limit, held, now) : shortOf(limit, now, limit.capacity - heldByAll(held, now));
}

function whenBrought(payer: Payer, jobs: readonly PayableJob[], times: number): number {
  const { bucket, counted, override, pausedUntil, now } = payer.terms;
  const { limit } = counted;
  if (override?.unlimited) return Math.max(now, pausedUntil);
  const units = jobs.reduce((sum, job) => sum + unitsOf(limit, askedOf(bucket, job).count), 0);
  // While the key is blocked nothing starts, and what a pause empties brings nothing until it ends.
  const from = Math.max(now, pausedUntil, override?.reason ? override.until : 0);
  const broughtAt = whenHeld(limit, wholeOf(payer, from), { now: from, pausedUntil }, Math.ceil(times * units));
  if (!override?.limit || broughtAt <= override.until) return broughtAt;
  return whenBrought(afterOverride(payer), jobs, times);
}

/** A bucket of one row that was full at a time, less some units. */
const shortOf = (limit: Limit, now: number, units: number) => charged(advance(fullShard(limit), now), units);

/**
 * The time at which a bucket will have held these units. It is one decision, however many jobs there are. A sliding
 * window promises no more than its rate, so the rest comes in whole windows.
 */
function whenHeld(limit: Limit, { state }: Shard, timing: Timing, units: number): number {
  const unbounded = { ...limit, maxReserved: Infinity };
  const demand = { units: Math.min(units, mostReservedOf(unbounded)), reserve: true, withinMs: Infinity };
  const { status } = decide(unbounded, state, timing, demand);
  const further = Math.ceil((units - demand.units) / limit.refill) * limit.periodMs;
  return Math.min(END_OF_TIME, (status.retryAt ?? timing.now) + further);
}

export async function writePayers(ctx: Writer, payers: readonly Payer[]): Promise<void> {
  for (const { terms, shards, held } of payers) await write(ctx, changeOf(terms.counted, shards, held));
}
