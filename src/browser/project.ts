/** The status of a snapshot at a moment, for clients: what holds then, the limit's own config or what overrides it. */
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { type Bucket, type Demand, END_OF_TIME, requestTo } from "./bucket.js";

/**
 * What `checkRateLimit` answers but `shadow`, and `value`: the tokens held at the moment, before this decision; negative while
 * tokens are owed. Where they lie beyond the windows of the calendar that the snapshot knows, `resetAt` is absent and `retryAt` the
 * last moment that a Date can name.
 */
export type ProjectedStatus = RateLimitStatus & { value: number; remaining: number };

/**
 * The status that `checkRateLimit` would give at `now`, from what `getRateLimit` returned. Pure: no clock, no network.
 *
 * @param options.now - milliseconds since the epoch, on the server's clock.
 * @throws when the snapshot is none, `now` is no moment that a Date can name, or `count` could never be served.
 * @example
 * ```ts
 * import { projectRateLimit, type RateLimitSnapshot } from "convex-rate-limits";
 *
 * function mayPost(snapshot: RateLimitSnapshot): boolean {
 *   return projectRateLimit(snapshot, { now: Date.now() }).ok;
 * }
 * ```
 */
export function projectRateLimit(
  snapshot: RateLimitSnapshot,
  options: { now: number } & Demand,
): RateLimitStatus & { remaining: number } {
  // The types forbid anything else, JavaScript does not.
  if (!(snapshot as Partial<RateLimitSnapshot> | null | undefined)?.parts) {
    throw new Error("projectRateLimit needs a snapshot.");
  }
  const { now } = { ...options };
  if (!(Number.isFinite(now) && Math.abs(now) <= END_OF_TIME)) {
    throw new Error(`Rate limit "${snapshot.name}": now must be milliseconds since the epoch, got ${String(now)}.`);
  }
  const status: RateLimitStatus & { remaining: number; value?: number } = project(snapshot, {
    ...options,
    now: Math.floor(now),
  });
  delete status.value;
  return status;
}

/** The same, with `value`, at a whole moment. @throws when `count` could never be served. */
export function project(snapshot: RateLimitSnapshot, asked: { now: number } & Demand): ProjectedStatus {
  return look(snapshot, asked)[0];
}

/** The same, and when it will be another one by itself. */
export function look(
  snapshot: RateLimitSnapshot,
  { now, reserve, count = 1 }: { now: number } & Demand,
): [ProjectedStatus, changesAt: number] {
  const { override } = snapshot;
  const bucket: Bucket = { ...snapshot, ...(override && now < override.until && override) };
  const { fullAt, until, reason, restMs } = bucket;
  const [units, servedFrom, , at] = requestTo(bucket, count, reserve);
  // The same of the limit's own config, which holds again by then.
  const [later, laterFrom, most] = requestTo(snapshot, count, reserve);
  if (!(count === Math.abs(count) && Math.min(units, later) < Infinity)) {
    throw new Error(`Rate limit "${snapshot.name}": count must be from 0 to ${most}, got ${count}.`);
  }
  const [start, outlook] = at(now);
  const ok = start < Infinity;
  let retryAt = ok ? start : servedFrom(now);
  if (!ok && retryAt >= until) retryAt = laterFrom(until);
  const shown = outlook();
  return [
    // In shadow everybody is let through, at once, whatever overrides the limit.
    { ...shown, ...(snapshot.mode || start <= now ? { ok: true } : { ok, retryAt, ...(reason && { reason }) }) },
    // A full bucket stays as it is.
    now >= fullAt
      ? until
      : Math.min(
          ...[retryAt, Math.max(shown.resetAt ?? 0, now + restMs), fullAt, until].filter((moment) => moment > now),
        ),
  ];
}
