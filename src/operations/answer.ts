/** The answer of one bucket to one demand, and the write that makes it true. */
import { renewsAt } from "../engine/decide.js";
import type { State } from "../engine/kinds/kind.js";
import type { Request } from "../engine/request.js";
import { WHOLE } from "../engine/sharding/interval.js";
import { adjustOnAll, decideOnAll, describeWhole } from "../engine/sharding/pool.js";
import { fold } from "../engine/sharding/shard.js";
import type { Writer } from "../storage/rows.js";
import { save, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";

/** The time and the randomness of one call. */
export interface Call {
  readonly now: number;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
}

/** The answer of a bucket to a demand. Nothing is written until `write` is called. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** The status of the bucket if nothing is taken from it. */
  readonly untouched: () => RateLimitStatus;
  /** Absent for a denial. */
  readonly write?: (ctx: Writer) => Promise<void>;
}

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(request: Request, shards: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const { status, left } = decideOnAll(limit, shards, now, demand);
  return {
    status: renewing(request, status, now, () => fold(limit, WHOLE, left, now).state),
    untouched: () => describeWhole(limit, shards, now),
    write: (ctx) => save(ctx, request, shards, left),
  };
}

/** The status of a request that asks when tokens come back; of any other the status as it is. @param after - the state that is left. */
export function renewing(request: Request, status: RateLimitStatus, now: number, after: () => State): RateLimitStatus {
  const { limit, asked } = request;
  if (!asked.renews || !status.ok) return status;
  const at = renewsAt(limit, after(), asked.count ?? 1, now);
  return at === undefined ? status : { ...status, renewsAt: at };
}

/** The answer of a call that is always let through. */
export function answerCharging(request: Request, shards: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const left = adjustOnAll(limit, shards, now, demand);
  return {
    status: { ...describeWhole(limit, left, now), ...(demand.isRefundable && { takenAt: now }) },
    untouched: () => describeWhole(limit, shards, now),
    write: (ctx) => save(ctx, request, shards, left),
  };
}

/** The status of a bucket of which only some rows were read. */
export function unreadStatus(): RateLimitStatus {
  return { ok: true };
}
