/** An answer, and how a call gets it that has read the whole bucket. */
import type { Request } from "../engine/request.js";
import { decideOnAll } from "../engine/sharding/pool.js";
import type { RowChange } from "../storage/rows.js";
import { changeOf, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { Terms } from "./terms.js";

/** The answer of a bucket to a demand. Nothing has been written. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** The write that makes it true; absent for a denial. */
  readonly change?: RowChange | undefined;
  /** What the call has read, as it was. */
  readonly shards: readonly StoredShard[];
}

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(terms: Terms<Request>, shards: readonly StoredShard[]): Answer {
  const { counted } = terms;
  const { status, left } = decideOnAll(counted.limit, shards, terms, counted.demand);
  return { status, change: left === shards ? undefined : changeOf(counted, shards, left), shards };
}
