/** The status of a snapshot at a moment, for clients: what holds then, the limit's own config or what overrides it. */
import type { RateLimitSnapshot } from "../snapshots.js";
import type { RateLimitStatus } from "../validators.js";
import { type Demand, END_OF_TIME, requestTo, resetOf, servedFrom, startOf, wholeAt } from "./bucket.js";

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
  const { now } = options;
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
export function project(
  snapshot: RateLimitSnapshot,
  { now, count = 1, reserve }: { now: number } & Demand,
): ProjectedStatus {
  const { until = END_OF_TIME, reason, unlimited, snapshot: bucket = snapshot } = overrideAt(snapshot, now);
  // A block denies any number.
  const request = requestTo(bucket, reason ? Infinity : count, reserve, unlimited);
  // The same of the limit's own config, which holds again by then.
  const later = requestTo(snapshot, count, reserve);
  const isServable = Math.min(request.units, later.units) < Infinity;
  if (!(Number.isFinite(count) && count >= 0 && isServable)) {
    throw new Error(
      `Rate limit "${snapshot.name}": count must be from 0 to ${later.bound / later.unitsPerToken}, got ${count}.`,
    );
  }
  const { value } = wholeAt(request, now);
  const start = unlimited ? now : startOf(request, now);
  const ok = start < Infinity;
  const taken = ok ? request.units : 0;
  let retryAt = ok ? start : servedFrom(request, now);
  if (!ok && retryAt >= until) retryAt = servedFrom(later, until);
  const shown = {
    value: value / bucket.unitsPerToken,
    remaining: reason ? 0 : Math.max(0, Math.floor((value - taken) / bucket.unitsPerToken)),
    // While all are denied, nothing but the end of that counts.
    ...resetOf(request, reason ? until : now, taken, retryAt),
  };
  // In shadow everybody is let through, at once, whatever overrides the limit.
  if (snapshot.mode || start <= now) return { ok: true, ...shown };
  return { ok, retryAt, ...shown, ...(reason && { reason }) };
}

/** What overrides the limit at a moment. */
export function overrideAt(
  { override }: RateLimitSnapshot,
  now: number,
): Partial<NonNullable<RateLimitSnapshot["override"]>> {
  return override && now < override.until ? override : {};
}
