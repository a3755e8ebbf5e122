/**
 * The one decision: may these units go from this bucket now? Consume, check, reserve and project all ask here, so that they
 * cannot disagree. The rules are those of the token bucket (Turner 1986; ITU-T I.371) and of fixed windows with carry-over:
 * a bucket holds `min(capacity, value + accrued since ts)`, consuming subtracts, reserving may go below zero.
 */
import * as fixedWindow from "./fixedWindow.js";
import * as tokenBucket from "./tokenBucket.js";
import type { Bucket, Decision, Demand, Limit } from "./types.js";
import type { RateLimitStatus } from "../validators.js";

/** A bucket without a row: it was never used, or it was full again and swept. */
export function fullBucket(limit: Limit): Bucket {
  return { value: limit.capacity, ts: 0 };
}

/** The bucket as it stands at `now`. Its clock never runs backwards: before `ts` it stands as it did then. */
export function project(limit: Limit, bucket: Bucket, now: number): Bucket {
  const value = Math.min(limit.capacity, bucket.value + accrued(limit, bucket.ts, now));
  return { value, ts: Math.max(bucket.ts, now) };
}

export function decide(limit: Limit, bucket: Bucket, now: number, demand: Demand): Decision {
  const current = project(limit, bucket, now);
  const floor = demand.reserve ? -limit.maxReserved : 0;
  if (current.value - demand.count < floor) {
    // Nothing is written on a denial, so the wait is reckoned from the row as it stays.
    const retryAt = whenHolding(limit, bucket, floor + demand.count);
    return { status: { ok: false, retryAt, ...outlook(limit, bucket, now) }, next: undefined };
  }
  if (demand.count === 0) return { status: allowed(limit, bucket, now), next: undefined };
  const next = { value: current.value - demand.count, ts: current.ts };
  return { status: allowed(limit, next, now), next };
}

/** The status of work that may go on, from the bucket it leaves behind; below zero it waits for its tokens. */
function allowed(limit: Limit, left: Bucket, now: number): RateLimitStatus {
  const owed = project(limit, left, now).value < 0;
  return {
    ok: true,
    ...(owed ? { retryAt: whenHolding(limit, left, 0) } : {}),
    ...outlook(limit, left, now),
  };
}

/** What a status says of the bucket that stays. */
function outlook(limit: Limit, bucket: Bucket, now: number): { remaining: number; resetAt: number } {
  const { value, ts } = project(limit, bucket, now);
  const remaining = Math.max(0, Math.floor(value / limit.unitsPerToken));
  switch (limit.kind) {
    case "token bucket":
      return { remaining, resetAt: Math.max(now, whenHolding(limit, bucket, limit.capacity)) };
    case "fixed window":
      return { remaining, resetAt: fixedWindow.nextWindow(limit, ts) };
  }
}

/** The first millisecond at which the bucket holds `units` (at most its capacity), if nobody else takes any. */
function whenHolding(limit: Limit, bucket: Bucket, units: number): number {
  const missing = units - Math.min(limit.capacity, bucket.value);
  switch (limit.kind) {
    case "token bucket":
      return tokenBucket.whenAccrued(limit, bucket.ts, missing);
    case "fixed window":
      return fixedWindow.whenAccrued(limit, bucket.ts, missing);
  }
}

function accrued(limit: Limit, from: number, to: number): number {
  switch (limit.kind) {
    case "token bucket":
      return tokenBucket.accrued(limit, from, to);
    case "fixed window":
      return fixedWindow.accrued(limit, from, to);
  }
}
