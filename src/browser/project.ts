/**
 * The status of a snapshot at a time, for clients: under the limit's own config, or under the override that holds then.
 */
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { RateLimitConfig } from "../wire/configs.js";
import { type BucketInForce, type Demand, END_OF_TIME, requestOn, usedOf } from "./bucket.js";

/**
 * The answer of `checkRateLimit`, without `shadow` and with `value`: the tokens held before this decision, negative
 * while tokens are owed. If a time is later than the calendar windows in the snapshot, `resetAt` is absent, and
 * `retryAt` is the last time that a Date can name.
 */
export type ProjectedStatus = RateLimitStatus & { value: number; remaining: number };

/** The config that holds now: the limit's, its plan's, or an override's. */
export interface LimitInForce {
  config: RateLimitConfig;
  /** What a full bucket holds. */
  tokens: number;
  /** The plan, if the limit has plans and no other config overrides it. */
  plan?: string;
}

/** What was used of a limit, in tokens. */
export interface RateLimitUsage {
  /** The tokens that are used now: more than `of` after a downgrade, or while tokens are owed. */
  used: number;
  /** What a full bucket holds, under the plan or override in force. */
  of: number;
  /**
   * When the bucket is full again, or the fixed window ends, in milliseconds since the epoch; absent if the snapshot
   * does not say.
   */
  resetAt?: number;
  /** The plan, if the limit has plans and no other config overrides it. */
  plan?: string;
}

/**
 * The status that `checkRateLimit` would give at `now`, from what `getRateLimit` returned. Pure: no clock, no network.
 *
 * @param options.now - milliseconds since the epoch, on the server's clock.
 * @throws when `snapshot` is not a snapshot, `now` is not a time that a Date can name, or `count` is not a number of at
 * least 0.
 * @example
 * ```ts
 * import { projectRateLimit } from "convex-rate-limits/client";
 * import type { RateLimitSnapshot } from "convex-rate-limits/live";
 *
 * function mayPost(snapshot: RateLimitSnapshot): boolean {
 *   return projectRateLimit(snapshot, { now: Date.now() }).ok;
 * }
 * ```
 */
export function projectRateLimit(snapshot: RateLimitSnapshot, options: { now: number } & Demand): ProjectedStatus {
  checkSnapshot("projectRateLimit", snapshot, (options as Partial<typeof options> | undefined)?.now);
  return projectUntilChange(snapshot, { ...options, now: Math.floor(options.now) }).status;
}

/**
 * What was used of a limit at `now`, from what `getRateLimit` returned: "150 of 100 used". It stays true after a
 * downgrade and under an override.
 *
 * @param now - milliseconds since the epoch, on the server's clock.
 * @throws when `snapshot` is not a snapshot, or `now` is not a time that a Date can name.
 * @example
 * ```ts
 * import { usageOf } from "convex-rate-limits/client";
 * import type { RateLimitSnapshot } from "convex-rate-limits/live";
 *
 * function describe(snapshot: RateLimitSnapshot): string {
 *   const { used, of } = usageOf(snapshot, Date.now());
 *   return `${used} of ${of} used`;
 * }
 * ```
 */
export function usageOf(snapshot: RateLimitSnapshot, now: number): RateLimitUsage {
  checkSnapshot("usageOf", snapshot, now);
  const time = Math.floor(now);
  const { bucket, status } = projectUntilChange(snapshot, { now: time, count: 0 });
  const { tokens: of, plan } = bucket;
  const { resetAt } = status;
  return { used: usedOf(bucket, time), of, ...(resetAt && { resetAt }), ...(plan && { plan }) };
}

/** The types forbid anything else, JavaScript does not. */
function checkSnapshot(call: string, snapshot: RateLimitSnapshot, now?: number): void {
  if (!(snapshot as Partial<RateLimitSnapshot> | null | undefined)?.parts) throw new Error(`${call} needs a snapshot.`);
  if (!(Number.isFinite(now) && Math.abs(Number(now)) <= END_OF_TIME)) {
    throw new Error(`Rate limit "${snapshot.name}": now must be milliseconds since the epoch, got ${String(now)}.`);
  }
}

/**
 * A status at a whole millisecond, the bucket in force, and when time alone changes the status.
 * @throws when `count` is no count.
 */
export function projectUntilChange(snapshot: RateLimitSnapshot, { now, reserve, count = 1 }: { now: number } & Demand) {
  if (!(Number.isFinite(count) && count >= 0)) {
    throw new Error(`Rate limit "${snapshot.name}": count must be a finite number of at least 0, got ${count}.`);
  }
  const { override } = snapshot;
  const bucket: BucketInForce = override && now < override.until ? override : snapshot;
  const { fullAt, until = END_OF_TIME, reason, restMs, pausedUntil } = bucket;
  const request = requestOn(bucket, count, reserve);
  /** The same demand on the limit's own config, if that holds again from `until` on. */
  const last = until < END_OF_TIME ? requestOn(snapshot, count, reserve) : request;
  const { start, describe } = request.decide(now);
  const ok = start < Infinity;
  let retryAt = ok ? start : request.servedFrom(now);
  if (!ok && retryAt >= until) retryAt = last.servedFrom(until);
  const outlook = describe();
  const denial = reason ?? (last.units === Infinity && retryAt >= END_OF_TIME && ("too large" as const));
  return {
    status: {
      ...outlook,
      // In shadow every call is allowed at once, under any override.
      ...(snapshot.mode || start <= now
        ? { ok: true as const }
        : { ok, retryAt, ...(!ok && denial && { reason: denial }) }),
    } as ProjectedStatus,
    bucket,
    // A full bucket stays as it is. The start of a reservation that waits moves on with time, and is shown once a
    // second; one that waits for other reservations starts at once when a plain call would.
    changesAt: Math.min(
      until,
      ...(now >= fullAt && now >= pausedUntil
        ? [ok && start > now ? now + 1000 : until]
        : [
            retryAt,
            requestOn(bucket, count).servedFrom(now),
            Math.max(outlook.resetAt ?? 0, now + restMs),
            fullAt,
            pausedUntil,
          ].filter((time) => time > now)),
    ),
  };
}
