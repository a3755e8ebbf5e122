/** Paying for a job: it takes its tokens as a reservation does, unless it would have to wait too long. */
import { adjustOnAll, decideOnAll, distribute } from "../engine/sharding/pool.js";
import type { Timing } from "../engine/decide.js";
import type { Terms } from "../operations/terms.js";
import { type Limit, mostReservedOf } from "../engine/kinds/kind.js";
import { areAll, type Change, fullShard, givenByAll, type Shard, sumOf } from "../engine/sharding/shard.js";
import { unitsOf } from "../engine/units.js";
import { FURTHEST_MS } from "../engine/time.js";
import type { JobRow } from "./tables.js";

/**
 * A job's start time is set when it is at most this far away: until then, later jobs can move up. A second, and what
 * the next run takes to come and to commit, so that a job is told a second ahead.
 */
export const AHEAD_MS = 1050;

/** Why a job is not paid yet, and until when. */
export interface LaterPayment {
  /** The first ms at which it can be paid if nothing else happens. */
  readonly dueAt: number;
  /** Whether it waits for a start time that is near enough; if not, for room under `maxReserved`. */
  readonly isAhead: boolean;
}

export interface PaidPayment {
  /** When its tokens are there, in ms since the epoch. */
  readonly runAt: number;
  /** When its tokens were taken. */
  readonly takenAt: number;
  /** The shards after the job has taken its tokens. */
  readonly left: readonly Shard[];
}

type Payment = (PaidPayment & { readonly isPaid: true }) | (LaterPayment & { readonly isPaid: false });

export type PayableJob = Pick<JobRow, "count" | "settles">;

/**
 * Pays for one job if its tokens will be there soon, or would come no sooner if the bucket were full. One that a
 * lowered limit can never serve starts when the bucket has all it can give, and owes the rest.
 * @param before - all rows, or some of them.
 * @param isAtOnce - whether it pays only with what is there now.
 */
export function payFor(terms: Terms, before: readonly Shard[], job: PayableJob, isAtOnce = false): Payment {
  const { counted, override, now, pausedUntil } = terms;
  const { limit } = counted;
  const { count, settles } = job;
  const all = unitsOf(limit, count);
  const isRefundable = settles !== undefined;
  // While the key is blocked nothing starts; without a bound all does that a pause does not hold.
  if (override?.reason) return { isPaid: false, dueAt: override.until, isAhead: true };
  if (override?.unlimited) {
    if (now < pausedUntil) return { isPaid: false, dueAt: pausedUntil, isAhead: true };
    return { isPaid: true, runAt: now, takenAt: now, left: adjustOnAll(before, now, { units: all, isRefundable }) };
  }
  if (!areAll(before)) return payFrom(before, terms, { units: all, isRefundable });
  const most = Math.min(all, isAtOnce ? limit.capacity : mostReservedOf(limit));
  const waitMs = waitWhenFull(limit, most, now);
  const units = waitMs > FURTHEST_MS ? limit.capacity : most;
  const longestMs = Math.max(AHEAD_MS, units === most ? waitMs : 0);
  const demand = { units, reserve: !isAtOnce, withinMs: longestMs, isRefundable };
  const { status, left } = decideOnAll(limit, before, terms, demand);
  if (!status.ok) {
    const isAhead = decideOnAll(limit, before, terms, { ...demand, withinMs: Infinity }).status.ok;
    // When the override ends, the limit's own config may pay earlier.
    return { isPaid: false, dueAt: Math.min(status.retryAt, override?.until ?? Infinity), isAhead };
  }
  const owing = all > units ? adjustOnAll(left, now, { units: all - units }) : left;
  return { isPaid: true, runAt: status.retryAt ?? now, takenAt: status.takenAt ?? now, left: owing };
}

/**
 * How many jobs one run may pay from these rows, and how many it may settle. Each is one decision on all of them, and a
 * run that needs a second of CPU fails each time, so that nobody is served.
 */
export function mostPaidFrom(shards: readonly Shard[]): number {
  // 15 to 40 ms of CPU. A row counts as 1, or as 4 if it has a window or headroom. Each 16 times of its log add 1.
  const MOST_WORK = 2 ** 14;
  const size = sumOf(
    shards,
    ({ state: { window, headroom, recent = [] } }) => (window || headroom ? 4 : 1) + recent.length / 16,
  );
  return Math.max(1, Math.floor(MOST_WORK / size));
}

/**
 * Some rows pay with what they hold, since only the whole bucket may owe. If they are short, the next run asks others.
 */
function payFrom(parts: readonly Shard[], { now, pausedUntil }: Timing, change: Change): Payment {
  if (now < pausedUntil || givenByAll(parts, now) < change.units) {
    return { isPaid: false, dueAt: Math.max(now, pausedUntil), isAhead: false };
  }
  return { isPaid: true, runAt: now, takenAt: now, left: distribute(parts, now, change) };
}

/**
 * How long more units than a bucket holds have to wait even when it is full: it never comes nearer to paying for them.
 */
export function waitWhenFull(limit: Limit, units: number, now: number): number {
  if (units <= limit.capacity) return 0;
  const demand = { units, reserve: true, withinMs: Infinity };
  const { status } = decideOnAll(limit, [fullShard(limit)], { now, pausedUntil: 0 }, demand);
  return (status.retryAt ?? now) - now;
}
