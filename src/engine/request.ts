/** Arguments, from the caller or from the wire → a request that the operations can trust. Neither source is. */
import type { RateLimitConfig } from "../configs.js";
import { type Demand, type DemandArgs, parseAdjustment, parseDemand } from "./demand.js";
import type { Limit } from "./kinds/kind.js";
import { forKey, parseLimit } from "./limit.js";
import { checkKey } from "./names.js";

/** A limit at a key. */
export interface Bucket {
  readonly limit: Limit;
  readonly key: string | undefined;
}

/** What is asked of one bucket. */
export interface Request extends Bucket {
  /** As the caller said it. */
  readonly asked: DemandArgs;
  readonly demand: Demand;
}

/** What one bucket is charged, in units; negative to give back. */
export interface Adjustment extends Bucket {
  /** As the caller said it, in tokens. */
  readonly count: number;
  readonly units: number;
  /** Of a cancelled reservation: the moment that its tokens were promised for. */
  readonly at: number | undefined;
}

export interface BucketArgs {
  name: string;
  key?: string | undefined;
  config: RateLimitConfig;
}

export function parseBucket({ name, key, config }: BucketArgs): Bucket {
  return bucketAt(parseLimit(name, config), key);
}

export function bucketAt(limit: Limit, key: string | undefined): Bucket {
  checkKey(limit.name, key);
  return { limit: forKey(limit, key), key };
}

export function requestTo(bucket: Bucket, asked: DemandArgs): Request {
  return { ...bucket, asked, demand: parseDemand(bucket.limit, asked) };
}

export function parseRequest(args: BucketArgs & DemandArgs): Request {
  return requestTo(parseBucket(args), args);
}

/** With `at` it takes a reservation back, so it is rounded as the reservation was: all that was charged comes back. */
export function adjustmentOf(bucket: Bucket, { count, at }: { count: number; at?: number | undefined }): Adjustment {
  const units = at === undefined ? parseAdjustment(bucket.limit, count) : -parseAdjustment(bucket.limit, -count);
  return { ...bucket, count, units, at };
}
