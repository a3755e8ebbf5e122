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
  const status: RateLimitStatus & { remaining: number; value?: number } = project(snapshot, options);
  delete status.value;
  return status;
}

/** The same, with `value`. @throws as `projectRateLimit` does. */
export function project(snapshot: RateLimitSnapshot, options: { now: number } & Demand): ProjectedStatus {
  if (!(snapshot as Partial<RateLimitSnapshot> | null | undefined)?.parts) {
    throw new Error("projectRateLimit needs a snapshot.");
  }
  const { now: moment, count = 1, reserve } = options;
  const { until = END_OF_TIME, reason, unlimited, snapshot: bucket = snapshot } = overrideAt(snapshot, moment);
  const request = requestTo(bucket, count, reserve, unlimited);
  // The same of the limit's own config, which holds again by then.
  const later = requestTo(snapshot, count, reserve);
  const isServable = Math.min(request.units, later.units) < Infinity;
  // The types forbid anything but numbers, JavaScript does not.
  const areNumbers = [count, moment].every(Number.isFinite);
  if (!(areNumbers && count >= 0 && isServable && Math.abs(moment) <= END_OF_TIME)) {
    throw new Error(
      `Rate limit "${snapshot.name}": count must be from 0 to ${(reserve ? snapshot.reservable : snapshot.capacity) / snapshot.unitsPerToken}, got ${count} at ${String(moment)}.`,
    );
  }
  const now = Math.floor(moment);
  const { value } = wholeAt(request, now);
  const start = unlimited ? now : reason ? Infinity : startOf(request, now);
  const ok = start < Infinity;
  const taken = ok ? request.units : 0;
  // While all are denied, nothing but the end of that counts.
  const at = reason ? until : now;
  let retryAt = ok ? start : servedFrom(request, at);
  if (!ok && retryAt >= until) retryAt = servedFrom(later, until);
  const shown = {
    value: value / bucket.unitsPerToken,
    remaining: reason ? 0 : Math.max(0, Math.floor((value - taken) / bucket.unitsPerToken)),
    ...resetOf(request, at, taken, retryAt),
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
