/** Arguments, of a call or from the wire, become a request that the operations can trust. Neither source is trusted. */
import type { DemandArgs, GetArgs, RateLimitLease } from "../wire/answers.js";
import type { RateLimitConfig } from "../wire/configs.js";
import { booleanField, checkField, type Field, isObject } from "./fields.js";
import { type Limit, unitsPerMs } from "./kinds/kind.js";
import { MAX_SLOTS } from "./kinds/fields.js";
import { parseChecked, parseLimit } from "./kinds/limit.js";
import { fieldError, misuseError } from "./misuse.js";
import { checkKey } from "./names.js";
import { unitsOf } from "./units.js";
import { type Bucket, storedConfig, type Term } from "./bucket.js";

/** One question to a bucket: may `units` go, if need be from the future? */
export interface Demand {
  readonly units: number;
  readonly reserve: boolean;
  /** A reservation that would start later than this many ms from now is denied. */
  readonly withinMs: number;
  /** Whether the units may come back, by the time at which they were taken. */
  readonly isRefundable?: boolean | undefined;
}

export const countField: Field = {
  permitted: "a finite number of at least 0",
  holds: (value) => Number.isFinite(value) && (value as number) >= 0,
};
const reserveField: Field = {
  permitted: "true, false or { within: a number of milliseconds of at least 0 }",
  holds(value) {
    if (!isObject(value)) return typeof value === "boolean";
    const { within } = value as { within?: unknown };
    return Object.keys(value).length === 1 && typeof within === "number" && within >= 0;
  },
};
/** What callers may ask of a bucket. */
export const demandFields = { count: countField, reserve: reserveField, refundable: booleanField };

/**
 * Checks what a call may ask of a limit with slots: one, now.
 * @throws when it asks for another count, for a reservation, or for what may come back without a lease.
 */
export function checkSlot(name: string, { count = 1, reserve = false, refundable = false }: DemandArgs): void {
  if (count !== 1) throw fieldError(name, "count", "1 (a call takes one slot)", count);
  if (reserve !== false) throw fieldError(name, "reserve", "false or left out: slots cannot be reserved", reserve);
  if (refundable) throw fieldError(name, "refundable", "false or left out: a slot comes back by its lease", refundable);
}

export function demandOf(limit: Limit, { count = 1, reserve = false, refundable }: DemandArgs): Demand {
  const withinMs = typeof reserve === "object" ? Math.floor(reserve.within) : Infinity;
  return { units: unitsOf(limit, count), reserve: reserve !== false, withinMs, isRefundable: refundable };
}

/** A demand on one bucket. */
export interface Request extends Bucket {
  /** As the caller said it. */
  readonly asked: DemandArgs;
  readonly demand: Demand;
}

/** Which bucket, from the wire or from a call. */
export interface BucketArgs extends Omit<GetArgs, "config"> {
  config: RateLimitConfig;
  term?: Term | undefined;
}

export function bucketOf({ name, key, config, plan, plans, term }: BucketArgs): Bucket {
  const limit = term ? (term.limit ??= parseChecked(name, term.config)) : parseLimit(name, config);
  if (key !== undefined) checkKey(name, key);
  const bucket = { name, limit: limit.kind.forKey?.(limit, key) ?? limit, key };
  if (plans) return { ...bucket, plans };
  return plan === undefined ? bucket : { ...bucket, plan: plan ?? storedConfig(config) };
}

/**
 * The request under the limit of its bucket, or under another: what is asked in tokens is asked in the units of that.
 */
export function requestTo(bucket: Bucket, asked: DemandArgs): Request {
  return { ...bucket, asked, demand: demandOf(bucket.limit, asked) };
}

/** A bucket and what is asked of it, as a call names them and as they are sent. */
export interface RequestArgs extends BucketArgs, DemandArgs {}

/** @throws when it asks for what is not permitted. */
export function requestOf(asked: RequestArgs): Request {
  for (const field of ["count", "reserve", "refundable"] as const) {
    if (asked[field] !== undefined) checkField(asked.name, field, demandFields[field], asked[field]);
  }
  if ("lease" in asked.config) checkSlot(asked.name, asked);
  const bucket = bucketOf(asked);
  return { ...bucket, asked, demand: demandOf(bucket.limit, asked) };
}

/** A slot, as its lease names it. */
export interface Slot extends RateLimitLease {
  readonly bucket: Bucket;
}

/**
 * The bucket is that of the lease's own length, also if the limit has changed. How many slots it has does not matter.
 * @throws when no lease is as long, or name or key are none.
 */
export function slotOf(lease: RateLimitLease): Slot {
  const { name, key, takenAt, until } = lease;
  const config = { kind: "concurrency", slots: MAX_SLOTS, lease: until - takenAt } as const;
  return { ...lease, bucket: bucketOf({ name, key, config }) };
}

/**
 * Which request is read when: those of fast limits last, since a row of a fast limit is the likeliest to be written
 * meanwhile.
 * @returns each with its place in the list.
 * @throws when two requests are to one bucket: the caller adds the counts.
 */
export function orderOf(requests: readonly Request[]): [place: number, request: Request][] {
  const asked = new Set<string>();
  for (const { name, key } of requests) {
    const id = JSON.stringify([name, key]);
    if (asked.has(id)) throw misuseError(name, "one bucket may be asked once in a call: add the counts.");
    asked.add(id);
  }
  const tokensPerMs = ({ limit }: Request) => unitsPerMs(limit) / limit.unitsPerToken;
  return [...requests.entries()].sort(([, a], [, b]) => tokensPerMs(a) - tokensPerMs(b));
}
