/** The answer of one bucket to one demand, and the write that makes it true. */
import { renewsAt } from "../engine/decide.js";
import type { Limit, State } from "../engine/kinds/kind.js";
import type { Request } from "../engine/request.js";
import { WHOLE } from "../engine/sharding/interval.js";
import { adjustOnAll, decideOnAll, describeWhole } from "../engine/sharding/pool.js";
import { fold } from "../engine/sharding/shard.js";
import type { RowChange } from "../storage/rows.js";
import { changeOf, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";

/** The time and the randomness of one call. */
export interface Call {
  readonly now: number;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
}

/** The answer of a bucket to a demand. Nothing has been written. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** The write that makes it true; absent for a denial. */
  readonly change?: RowChange | undefined;
  /** The bucket as it was, if all its rows were read. */
  readonly before?: { readonly limit: Limit; readonly shards: readonly StoredShard[] };
}

/** The status of the bucket if nothing is taken from it; of one of which only some rows were read, no more than that. */
export function untouched({ before }: Answer, now: number): RateLimitStatus {
  return before ? describeWhole(before.limit, before.shards, now) : { ok: true };
}

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(request: Request, shards: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const { status, left } = decideOnAll(limit, shards, now, demand);
  return {
    status: renewing(request, status, now, () => fold(limit, WHOLE, left, now).state),
    change: changeOf(request, shards, left),
    before: { limit, shards },
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
    change: changeOf(request, shards, left),
    before: { limit, shards },
  };
}
