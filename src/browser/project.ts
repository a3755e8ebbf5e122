/** The status of a snapshot at a moment, for clients: what holds then, the limit's own config or what overrides it. */
import type { RateLimitSnapshot } from "../snapshots.js";
import type { RateLimitStatus } from "../validators.js";
import { type Demand, END_OF_TIME, projectBucket, type ProjectedStatus } from "./bucket.js";

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
  const status = projectHeld(snapshot, options);
  if (!snapshot.mode) return status;
  // In shadow everybody is let through, at once, whatever overrides the limit.
  const { value, remaining, resetAt } = status;
  return { ok: true, value, remaining, ...(resetAt !== undefined && { resetAt }) };
}

/** What holds at the moment, enforced. */
function projectHeld(snapshot: RateLimitSnapshot, options: { now: number } & Demand): ProjectedStatus {
  const override = overrideAt(snapshot, options.now);
  if (!override || override.unlimited) return projectBucket(snapshot, options, { isFree: !!override });
  const { until = END_OF_TIME, snapshot: own } = override;
  const status = projectBucket(own ?? snapshot, options, { isLate: !!own });
  if (own && (status.ok || status.retryAt < until)) return status;
  // By then the limit's own config holds again.
  const isLate = !status.ok && status.retryAt < END_OF_TIME;
  const next = projectBucket(snapshot, { ...options, now: until }, { isLate, isNext: true });
  const retryAt = next.ok && options.reserve ? until : (next.retryAt ?? until);
  if (own) return { ...status, retryAt };
  const { resetAt } = projectBucket(snapshot, { now: until, count: 0 });
  return { ok: false, retryAt, value: status.value, remaining: 0, ...(resetAt && { resetAt }), reason: "blocked" };
}

/** What overrides the limit at a moment. */
export function overrideAt({ override }: RateLimitSnapshot, now: number): RateLimitSnapshot["override"] {
  return override && now < (override.until ?? END_OF_TIME) ? override : undefined;
}
