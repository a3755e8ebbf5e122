/** Paying for jobs: each takes its tokens as a reservation would, in order, until one would have to wait too long. */
import { adjustOnAll, decideOnAll } from "../engine/sharding/pool.js";
import type { Limit } from "../engine/kinds/kind.js";
import type { Demand } from "../engine/request.js";
import { fullShard, type Shard } from "../engine/sharding/shard.js";
import { unitsOf } from "../engine/units.js";
import { FURTHEST_MS } from "../storage/jobs.js";

/** A job, and the moment (ms since the epoch) at which its tokens are there. */
export interface PaidJob<Job> {
  readonly job: Job;
  readonly runAt: number;
  /** When its tokens were taken. */
  readonly takenAt: number;
}

/** What a bucket can pay for now. */
interface Payment<Job> {
  readonly paid: readonly PaidJob<Job>[];
  /** The shards that are left when the jobs have taken theirs. */
  readonly left: readonly Shard[];
  /** The first job that cannot be paid yet, and the first ms at which it can if nothing else happens. */
  readonly awaited?: { readonly job: Job; readonly dueAt: number; readonly isAhead: boolean };
}

/**
 * @param withinMs - a job is paid when its tokens will be there within so many ms, or would be no sooner if the bucket were full.
 */
export function pay<Job extends { readonly count: number; readonly settles?: unknown }>(
  limit: Limit,
  before: readonly Shard[],
  now: number,
  jobs: Iterable<Job>,
  withinMs: number,
): Payment<Job> {
  const paid: PaidJob<Job>[] = [];
  let left = before;
  for (const job of jobs) {
    const { demand: asked, beyond } = demandOf(limit, job.count, now, withinMs);
    const demand = { ...asked, isRefundable: job.settles !== undefined };
    const { status, left: after } = decideOnAll(limit, left, now, demand);
    if (!status.ok) {
      // Whether it waits for a moment that is near enough, or for room under `maxReserved`.
      const isAhead = decideOnAll(limit, left, now, { ...demand, withinMs: Infinity }).status.ok;
      return { paid, left, awaited: { job, dueAt: status.retryAt, isAhead } };
    }
    left = beyond > 0 ? adjustOnAll(limit, after, now, { units: beyond }) : after;
    paid.push({ job, runAt: status.retryAt ?? now, takenAt: status.takenAt ?? now });
  }
  return { paid, left };
}

/**
 * What is asked for a job. One that has become larger than the bucket can ever serve, because the limit was lowered after it was
 * enqueued, starts when the bucket has all it can give, and owes the rest.
 */
function demandOf(limit: Limit, count: number, now: number, withinMs: number): { demand: Demand; beyond: number } {
  const all = unitsOf(limit, count);
  const most = Math.min(all, limit.kind.most(limit, true));
  const waitMs = waitWhenFull(limit, most, now);
  const units = waitMs > FURTHEST_MS ? limit.capacity : most;
  const reservation = { units, reserve: true, withinMs: Math.max(withinMs, units === most ? waitMs : 0) };
  return { demand: reservation, beyond: all - units };
}

/** How long more units than a bucket holds have to wait even when it is full: it never comes nearer to paying for them. */
export function waitWhenFull(limit: Limit, units: number, now: number): number {
  if (units <= limit.capacity) return 0;
  const { status } = decideOnAll(limit, [fullShard(limit)], now, { units, reserve: true, withinMs: Infinity });
  return (status.retryAt ?? now) - now;
}
