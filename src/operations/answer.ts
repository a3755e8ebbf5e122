/** What one bucket says to one demand, and what has to be written to make the answer true. */
import type { Request } from "../engine/request.js";
import { adjustOnAll, decideOnAll, standing } from "../engine/sharding/pool.js";
import type { Writer } from "../storage/rows.js";
import { save, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";

/** The moment and the chances of one call: read once, in operations. */
export interface Call {
  readonly now: number;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
}

/** What a bucket says to a demand. Nothing is written until `write` is called. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** How the bucket stands while nothing is taken from it. */
  readonly untouched: () => RateLimitStatus;
  /** Absent where nothing changes: of a denial. */
  readonly write?: (ctx: Writer) => Promise<void>;
}

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(request: Request, shards: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const { status, left } = decideOnAll(limit, shards, now, demand);
  return {
    status,
    untouched: () => standing(limit, shards, now),
    write: (ctx) => save(ctx, request, shards, left),
  };
}

/** The answer of a call that is let through whatever is there. */
export function answerCharging(request: Request, shards: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const left = adjustOnAll(limit, shards, now, demand);
  return {
    status: { ...standing(limit, left, now), ...(demand.isRefundable && { takenAt: now }) },
    untouched: () => standing(limit, shards, now),
    write: (ctx) => save(ctx, request, shards, left),
  };
}

/** How a bucket stands of which not all rows were read. */
export function unknown(): RateLimitStatus {
  return { ok: true };
}
