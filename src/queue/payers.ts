/**
 * What pays for the jobs of a queue: the bucket of its own limit and, if it has `with`, those of further limits. With
 * several a job takes from all when all can pay at once, or from none: two reservations would start at different times.
 */
import type { Bucket } from "../engine/bucket.js";
import { COLD_MS } from "../engine/sharding/policy.js";
import { areAll, type Shard } from "../engine/sharding/shard.js";
import { unitsOf } from "../engine/units.js";
import { type Call, findTerms, type Terms } from "../operations/terms.js";
import { type Reader, write, type Writer } from "../storage/rows.js";
import { changeOf, loadAll, loadFirst, type StoredShard } from "../storage/shards.js";
import { type LaterPayment, mostPaidFrom, type PaidPayment, type PayableJob, payFor, whenBrought } from "./pay.js";
import type { Queue } from "./terms.js";

/** A bucket that pays: that of the queue's own limit, or of one in `with`, from which each job takes the same count. */
interface Payable extends Bucket {
  readonly count?: number;
  readonly isShared?: boolean;
}

export interface Payer {
  readonly terms: Terms<Payable>;
  /** The rows that were read, all or some of them; and as they are left. */
  readonly shards: readonly StoredShard[];
  readonly held: readonly Shard[];
}

/** An operator who changes a limit that several keys share does not wake their queues: they look at it this often. */
const SHARED_MS = 60_000;

/** What a bucket is asked for a job. */
const askedOf = ({ count }: Payable, job: PayableJob): PayableJob => (count === undefined ? job : { count });

/**
 * The rows that a run pays from; undefined if the bucket is damaged. A run that reads all rows of a hot bucket
 * conflicts with each plain call, and the scheduler waits longer each time. Most runs therefore read a random span of
 * rows that can hold the jobs.
 */
export async function loadPayer(
  ctx: Reader & Call,
  bucket: Payable,
  jobs: readonly PayableJob[],
): Promise<Payer | undefined> {
  // Some rows do not say when a job can be paid, so some runs read all.
  const ALL_ROWS_CHANCE = 1 / 8;
  // A span has one row for each 100 ms since the drawn row was written: about one run in five conflicts.
  const MS_PER_ROW = 100;
  try {
    const terms = await findTerms(ctx, bucket, ctx);
    const { counted, found } = terms;
    const { limit } = counted;
    const payerOf = (shards: readonly StoredShard[]) => ({ terms, shards, held: shards });
    if (!found.rows && ctx.random() >= ALL_ROWS_CHANCE) {
      const row = await loadFirst(ctx, counted, found);
      const { interval } = row;
      const gapMs = ctx.now - row.state.ts;
      if (gapMs < COLD_MS) {
        const needed = jobs.map((job) => unitsOf(limit, askedOf(bucket, job).count) / row.limit.capacity);
        const all = needed.reduce((sum, rows) => sum + rows, 0);
        const levels = Math.ceil(Math.log2(Math.max(1, needed[0] ?? 0, Math.min(all, gapMs / MS_PER_ROW))));
        if (levels === 0) return payerOf([row]);
        const span = interval.slice(0, Math.max(0, interval.length - levels));
        return payerOf(await loadAll(ctx, counted, found, span));
      }
    }
    return payerOf(await loadAll(ctx, counted, found));
  } catch (error) {
    console.error(error);
    return undefined;
  }
}

/** All rows of all that pay for a queue, to show when a job starts. */
export const loadAllPayers = (ctx: Reader, queue: Queue, now: number): Promise<Payer[]> =>
  Promise.all(
    [queue, ...queue.with].map(async (bucket: Payable) => {
      const terms = await findTerms(ctx, bucket, { now, random: () => 0 });
      const shards = await loadAll(ctx, terms.counted, terms.found);
      return { terms, shards, held: shards };
    }),
  );

/** Pays for one job by all, or by none: then it waits for the last of them. @returns the payers as they are left. */
export function payByAll(payers: readonly Payer[], job: PayableJob) {
  const left: Payer[] = [];
  let later: LaterPayment | undefined;
  let paid: PaidPayment | undefined;
  for (const payer of payers) {
    const { bucket, timing } = payer.terms;
    const payment = payFor(payer.terms, payer.held, askedOf(bucket, job), payers.length > 1);
    if (payment.isPaid) {
      // That of its own limit, which is the first: a job that settles gets its tokens back by their date.
      paid ??= payment;
      left.push({ ...payer, held: payment.left });
      continue;
    }
    const dueAt = bucket.isShared ? Math.min(payment.dueAt, timing.now + SHARED_MS) : payment.dueAt;
    if (!later || dueAt > later.dueAt) later = { dueAt, isAhead: payment.isAhead };
  }
  return later ? { later, left: payers } : { paid, left };
}

/**
 * About when the last of them will have brought what jobs take, or `times` as much. Those that were read in part do not
 * say.
 */
export function whenBroughtByAll(payers: readonly Payer[], jobs: readonly PayableJob[], times = 1): number {
  const each = payers.map(({ terms, held }) => {
    const { bucket, counted, override, timing } = terms;
    if (override?.unlimited || !areAll(held)) return Math.max(timing.now, timing.pausedUntil);
    const units = jobs.reduce((sum, job) => sum + unitsOf(counted.limit, askedOf(bucket, job).count), 0);
    // Nothing starts while the key is blocked.
    const now = override?.reason ? override.until : timing.now;
    return whenBrought({ ...terms, timing: { ...timing, now } }, held, Math.ceil(units * times));
  });
  return Math.max(...each);
}

/** How many jobs one run may pay for, and how many it may settle. */
export const mostPaidBy = (payers: readonly Payer[]): number => mostPaidFrom(payers.flatMap(({ shards }) => shards));

export async function writePayers(ctx: Writer, payers: readonly Payer[]): Promise<void> {
  for (const { terms, shards, held } of payers) await write(ctx, changeOf(terms.counted, shards, held));
}
