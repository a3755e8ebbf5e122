/** The status of a snapshot at a time, for clients: under the limit's own config, or under the override that holds then. */
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { RateLimitConfig } from "../wire/configs.js";
import { type BucketInForce, type Demand, END_OF_TIME, requestOn } from "./bucket.js";

/** A denial of a count that the bucket can never give. `retryAt` is the last time that a Date can name. */
interface TooLargeStatus {
  ok: false;
  retryAt: number;
  reason: "too large";
  resetAt?: number;
}

/**
 * The answer of `checkRateLimit`, without `shadow` and with `value`: the tokens held before this decision, negative while tokens
 * are owed. A `count` that the bucket can never give is denied with the `reason` "too large". If a time is later than the calendar
 * windows in the snapshot, `resetAt` is absent, and `retryAt` is the last time that a Date can name.
 */
export type ProjectedStatus = (RateLimitStatus | TooLargeStatus) & { value: number; remaining: number };

/** The config that holds now: the limit's, its plan's, or an override's. */
export interface LimitInForce {
  config: RateLimitConfig;
  /** What a full bucket holds. */
  tokens: number;
  /** The plan, if the limit has plans and no other config overrides it. */
  plan?: string | undefined;
}

/**
 * The status that `checkRateLimit` would give at `now`, from what `getRateLimit` returned. Pure: no clock, no network.
 *
 * @param options.now - milliseconds since the epoch, on the server's clock.
 * @throws when `snapshot` is not a snapshot, `now` is not a time that a Date can name, or the bucket can never give `count`.
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
  const { status, refusal } = projectUntilChange(snapshot, { ...options, now: Math.floor(now) });
  if (refusal) throw refusal();
  delete (status as Partial<ProjectedStatus>).value;
  // A status with the reason "too large" comes with a refusal.
  return status as RateLimitStatus & { remaining: number };
}

/** The same, with `value`, at a whole millisecond; a `count` that is too large is denied. @throws when `count` is no count. */
export function project(snapshot: RateLimitSnapshot, asked: { now: number } & Demand): ProjectedStatus {
  return projectUntilChange(snapshot, asked).status;
}

/** A status, when time alone changes it, and the error for a `count` that the bucket can never give. */
export function projectUntilChange(snapshot: RateLimitSnapshot, { now, reserve, count = 1 }: { now: number } & Demand) {
  const { override } = snapshot;
  // An override by another config is a whole bucket.
  const bucket: BucketInForce =
    override && now < override.until ? ("parts" in override ? override : { ...snapshot, ...override }) : snapshot;
  const { fullAt, until = END_OF_TIME, reason, restMs = 0, config, tokens, plan } = bucket;
  const request = requestOn(bucket, count, reserve);
  /** The same demand on the limit's own config, which holds again from `until` on. */
  const later = requestOn(snapshot, count, reserve);
  const refuse = () => new Error(`Rate limit "${snapshot.name}": count must be from 0 to ${later.most}, got ${count}.`);
  if (count !== Math.abs(count)) throw refuse();
  const isTooLarge = Math.min(request.units, later.units) === Infinity;
  const { start, describe } = request.decide(now);
  const ok = start < Infinity;
  let retryAt = ok ? start : request.servedFrom(now);
  if (!ok && retryAt >= until) retryAt = later.servedFrom(until);
  const outlook = describe();
  const denialReason = isTooLarge ? "too large" : reason;
  return {
    status: {
      ...outlook,
      // In shadow every call is allowed at once, under any override.
      ...(snapshot.mode || start <= now
        ? { ok: true }
        : ({ ok, retryAt, ...(denialReason && { reason: denialReason }) } as TooLargeStatus)),
    } satisfies ProjectedStatus,
    limit: { config, tokens, plan },
    // A full bucket stays as it is.
    changesAt:
      now >= fullAt
        ? until
        : Math.min(
            ...[retryAt, Math.max(outlook.resetAt ?? 0, now + restMs), fullAt, until].filter((time) => time > now),
          ),
    refusal: isTooLarge && refuse,
  };
}
