/**
 * The engine's vocabulary. Quantities are whole *units* (limit.ts says how many make a token), times whole milliseconds
 * since the epoch; so every sum and comparison here is exact.
 */
import type { FixedWindowConfig, RateLimitStatus, TokenBucketConfig } from "../validators.js";

/** The state of a bucket: `value` units at the moment `ts`. Negative while units are owed to reservations. */
export interface Bucket {
  readonly value: number;
  readonly ts: number;
}

interface LimitBase {
  readonly name: string;
  readonly unitsPerToken: number;
  /** Units that arrive per millisecond (token bucket) or at the start of each window (fixed window). */
  readonly refill: number;
  readonly capacity: number;
  readonly maxReserved: number;
  /** The rows that the limit is spread over: a power of two, 1 for an unsharded limit. */
  readonly shards: number;
}

export interface TokenBucketLimit extends LimitBase {
  readonly kind: "token bucket";
  /** What this limit was parsed from, with the default capacity filled in. */
  readonly config: TokenBucketConfig & { readonly capacity: number };
}

export interface FixedWindowLimit extends LimitBase {
  readonly kind: "fixed window";
  /** What this limit was parsed from, with the default capacity filled in. */
  readonly config: FixedWindowConfig & { readonly capacity: number };
  /** The length of a window in ms. */
  readonly period: number;
  /** A moment at which some window starts. */
  readonly start: number;
}

/** A config, parsed for one bucket: every field is present, checked, and in the engine's units. */
export type Limit = TokenBucketLimit | FixedWindowLimit;

/** One question to a bucket: may `count` units go, if need be from the future? */
export interface Demand {
  readonly count: number;
  readonly reserve: boolean;
}

/** A node of the heap of shards (heap.ts), with its share of the limit and its bucket. */
export interface Part {
  readonly node: number;
  readonly limit: Limit;
  readonly bucket: Bucket;
}

/** The answer, and the parts that change, with the buckets that make it true; none when nothing changes. */
export interface Decision {
  readonly status: RateLimitStatus;
  readonly taken: readonly Part[];
  /** The parts that were asked, as they were. */
  readonly asked: readonly Part[];
}
