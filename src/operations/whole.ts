/** An answer, and how a call gets it that has read the whole bucket. */
import type { Request } from "../engine/request.js";
import { decideOnAll } from "../engine/sharding/pool.js";
import type { RowChange } from "../storage/rows.js";
import { changeOf, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { Terms } from "./terms.js";

/** What a call has read: the limit in force, and shards as they were. */
export interface AnswerSource {
  readonly limit: Request["limit"];
  readonly shards: readonly StoredShard[];
  readonly timing: Terms["timing"];
  readonly isUnlimited?: boolean;
}

/** The answer of a bucket to a demand. Nothing has been written. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** The write that makes it true; absent for a denial. */
  readonly change?: RowChange | undefined;
  readonly before: AnswerSource;
}

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(request: Request, shards: readonly StoredShard[], timing: Terms["timing"]): Answer {
  const { limit, demand } = request;
  const { status, left } = decideOnAll(limit, shards, timing, demand);
  const change = left === shards ? undefined : changeOf(request, shards, left);
  return { status, change, before: { limit, shards, timing } };
}
