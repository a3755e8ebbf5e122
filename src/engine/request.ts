/** Arguments, from the caller or from the wire → a request that the operations can trust. Neither source is trusted. */
import type { RateLimitConfig } from "../wire/configs.js";
import { type Demand, type DemandArgs, parseDemand } from "./demand.js";
import type { Limit, Taking } from "./kinds/kind.js";
import { parseLimit } from "./limit.js";
import { booleanField, checkField, type Field } from "./fields.js";
import { checkKey } from "./names.js";
import { END_OF_TIME } from "./time.js";
import { MAX_TOKENS, MAX_UNITS, unitsOf } from "./units.js";

/** Whether some wait is long enough: of an overridable bucket this is known late. */
export function isServable({ limit, demand }: Request): boolean {
  return demand.units <= limit.kind.most(limit, demand.reserve);
}

export const adjustedField: Field = {
  permitted: "a number from -1e12 to 1e12",
  holds: (value) => typeof value === "number" && Math.abs(value) <= MAX_TOKENS,
  isRequired: true,
};

/**
 * The units of an adjustment, in the limit's favour: what is charged is rounded up, what is given back is rounded down; both are
 * cut off where no bucket could hold more.
 * @throws when `count` is not a number from -MAX_TOKENS to MAX_TOKENS.
 */
export function parseAdjustment(limit: Limit, count: number): number {
  checkField(limit.name, "count", adjustedField, count);
  return Math.min(2 * MAX_UNITS, Math.max(-2 * MAX_UNITS, unitsOf(limit, count)));
}

/** A limit at a key. */
export interface Bucket {
  /** The limit's. */
  readonly name: string;
  readonly limit: Limit;
  readonly key: string | undefined;
  /** Whether calls ask for an override of its limit. */
  readonly isOverridable?: boolean;
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
  /** When tokens that come back were taken, if that is known. */
  readonly taking: Taking | undefined;
  /** The arguments that say so. */
  readonly at: number | undefined;
  readonly takenAt: number | undefined;
  /** The tokens of a request: the status then says when one is served next. */
  readonly renews?: number | undefined;
}

interface BucketArgs {
  name: string;
  key?: string | undefined;
  config: RateLimitConfig;
  overrides?: boolean | undefined;
}

export function parseBucket({ name, key, config, overrides }: BucketArgs): Bucket {
  return bucketAt(parseLimit(name, config), key, overrides);
}

export function bucketAt(limit: Limit, key: string | undefined, isOverridable = false): Bucket {
  const { name } = limit;
  if (key !== undefined) checkKey(name, key);
  return { name, limit: limit.kind.forKey(limit, key), key, isOverridable };
}

export function requestTo(bucket: Bucket, asked: DemandArgs): Request {
  const demand = parseDemand(bucket.limit, asked, bucket.isOverridable);
  if (asked.refundable === undefined) return { ...bucket, asked, demand };
  checkField(bucket.name, "refundable", booleanField, asked.refundable);
  return { ...bucket, asked, demand: { ...demand, isRefundable: asked.refundable } };
}

export function parseRequest(args: BucketArgs & DemandArgs): Request {
  return requestTo(parseBucket(args), args);
}

export interface AdjustmentArgs {
  count: number;
  at?: number | undefined;
  takenAt?: number | undefined;
  renews?: number | undefined;
}

const TIME: Field = { atLeast: 0, atMost: END_OF_TIME, isWhole: true, unit: "milliseconds since the epoch" };

/**
 * With `at`, the time that its tokens were promised for, it takes a reservation back, so it is rounded as that was: all that was charged
 * comes back. With `takenAt` tokens come back that were taken then.
 * @throws when a time is none that a Date can name.
 */
export function adjustmentOf(bucket: Bucket, { count, at, takenAt, renews }: AdjustmentArgs): Adjustment {
  const units = at === undefined ? parseAdjustment(bucket.limit, count) : -parseAdjustment(bucket.limit, -count);
  const taken = takenAt ?? at;
  const adjustment = { ...bucket, count, units, at, takenAt, renews };
  if (taken === undefined) return { ...adjustment, taking: undefined };
  checkField(bucket.name, "at", TIME, at);
  checkField(bucket.name, "takenAt", TIME, takenAt);
  return { ...adjustment, taking: { takenAt: taken, startsAt: Math.max(taken, at ?? taken) } };
}
