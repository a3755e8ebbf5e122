/** One bucket and the passing of time: `min(capacity, value + what accrued since ts)`, for either kind of limit. */
import * as fixedWindow from "./fixedWindow.js";
import * as tokenBucket from "./tokenBucket.js";
import type { Bucket, Limit } from "../types.js";

/** A bucket without a row: it was never used, or it was full again and swept. */
export function fullBucket(limit: Limit): Bucket {
  return { value: limit.capacity, ts: 0 };
}

/** The bucket as it stands at `now`. Its clock never runs backwards: before `ts` it stands as it did then. */
export function project(limit: Limit, bucket: Bucket, now: number): Bucket {
  const value = Math.min(limit.capacity, bucket.value + accrued(limit, bucket.ts, now));
  return { value, ts: Math.max(bucket.ts, now) };
}

/** The units that arrive after `from`, up to and including `to`. */
export function accrued(limit: Limit, from: number, to: number): number {
  switch (limit.kind) {
    case "token bucket":
      return tokenBucket.accrued(limit, from, to);
    case "fixed window":
      return fixedWindow.accrued(limit, from, to);
  }
}

/** The first millisecond, from the bucket's own on, at which it holds `units` (at most its capacity). */
export function whenHolding(limit: Limit, bucket: Bucket, units: number): number {
  const missing = units - Math.min(limit.capacity, bucket.value);
  switch (limit.kind) {
    case "token bucket":
      return tokenBucket.whenAccrued(limit, bucket.ts, missing);
    case "fixed window":
      return fixedWindow.whenAccrued(limit, bucket.ts, missing);
  }
}

/** When the bucket is full again; for a fixed window, the start of the next window. */
export function whenReset(limit: Limit, bucket: Bucket, now: number): number {
  switch (limit.kind) {
    case "token bucket":
      return Math.max(now, whenHolding(limit, bucket, limit.capacity));
    case "fixed window":
      return fixedWindow.nextWindow(limit, Math.max(bucket.ts, now));
  }
}
