/** Arguments, from the caller or from the wire → a request that the operations can trust. Neither source is trusted. */
import type { RateLimitConfig } from "../wire/configs.js";
import { booleanField, checkField, type Field, isObject } from "./fields.js";
import type { Limit } from "./kinds/kind.js";
import { parseChecked, parseLimit } from "./kinds/limit.js";
import { fieldError, misuseError } from "./misuse.js";
import { checkKey } from "./names.js";
import { MAX_TOKENS, unitsOf } from "./units.js";
import { type Bucket, type NamedPlan, storedConfig } from "./bucket.js";

/** One question to a bucket: may `units` go, if need be from the future? */
export interface Demand {
  readonly units: number;
  readonly reserve: boolean;
  /** A reservation that would start later than this many ms from now is denied. */
  readonly withinMs: number;
  /** Only for a demand that fewer units also satisfy. */
  readonly atLeast?: LeastDemand;
  /** Whether the units may come back, by the time at which they were taken. */
  readonly isRefundable?: boolean | undefined;
}

/** The fewest units that are taken; more come in whole tokens. */
interface LeastDemand {
  readonly units: number;
  /** The count of tokens that a caller gets for `units`. */
  readonly tokens: (units: number) => number;
}

/** `true` for any wait, or the longest wait in ms. */
type Reserve = boolean | { within: number };

export interface DemandArgs {
  count?: number | undefined;
  atLeast?: number | undefined;
  reserve?: Reserve | undefined;
  refundable?: boolean | undefined;
  /** Only in a call with several requests: whether a denial of this one stops none of the others. */
  shadow?: boolean | undefined;
  /** Only in a call with several requests: whether the status says when tokens come back, and what overrides the limit. */
  renews?: boolean | undefined;
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

/**
 * Checks what can be known without the limit.
 * @throws when `count` is not a finite number of at least 0, or `reserve` is neither a boolean nor a bound on the wait; also when
 * `atLeast` is above `count`, or beside `reserve`.
 */
export function checkDemand(name: string, { count = 1, reserve = false, atLeast }: DemandArgs): void {
  checkField(name, "count", countField, count);
  checkField(name, "reserve", reserveField, reserve);
  if (atLeast === undefined) return;
  if (!(typeof atLeast === "number" && atLeast >= 0 && atLeast <= count)) {
    throw fieldError(name, "atLeast", `a number of at least 0 and at most count (${count})`, atLeast);
  }
  if (reserve !== false)
    throw misuseError(name, "atLeast and reserve cannot be combined: atLeast takes only what is there now.");
}

/**
 * @throws what `checkDemand` throws, and when the count is so large that no wait would ever be long enough. The most that an
 * override allows is known only when the bucket has been read.
 */
export function parseDemand(limit: Limit, asked: DemandArgs, isOverridable = false): Demand {
  const { count = 1, reserve = false, atLeast, refundable } = asked;
  if (asked.count !== undefined || reserve !== false || atLeast !== undefined) checkDemand(limit.name, asked);
  if (refundable !== undefined) checkField(limit.name, "refundable", booleanField, refundable);
  if (atLeast !== undefined) return { ...parsePart(limit, count, atLeast, isOverridable), isRefundable: refundable };
  const withinMs = typeof reserve === "object" ? Math.floor(reserve.within) : Infinity;
  const demand = { units: unitsOf(limit, count), reserve: reserve !== false, withinMs, isRefundable: refundable };
  // Beyond the range of numbers the units of a count are NaN: not within the bound either.
  if (demand.units <= limit.capacity || isServable({ limit, demand })) return demand;
  if (isOverridable && count <= MAX_TOKENS) return demand;
  throw neverServedError(limit, asked);
}

export function neverServedError(limit: Limit, { count = 1, atLeast, reserve = false }: DemandArgs): Error {
  const bound = reserve ? "with a reservation it can hold" : "it can hold";
  const most = limit.kind.most(limit, reserve !== false) / limit.unitsPerToken;
  const asked = atLeast === undefined ? `count ${count}` : `atLeast ${atLeast}`;
  return misuseError(
    limit.name,
    `${asked} can never be served: ${bound} at most ${most} (rate, capacity and maxReserved say how much).`,
  );
}

/** As much as there is: what suffices must fit into the bucket, what would be best need not. */
function parsePart(limit: Limit, count: number, atLeast: number, isOverridable: boolean): Demand {
  const { unitsPerToken, capacity } = limit;
  const least = unitsOf(limit, atLeast);
  if (!(least <= capacity || (isOverridable && atLeast <= MAX_TOKENS))) throw neverServedError(limit, { atLeast });
  const all = unitsOf(limit, count);
  const room = Math.max(0, capacity - least);
  const most = all <= capacity ? all : least + Math.floor(room / unitsPerToken) * unitsPerToken;
  const tokens = (units: number) => (units === all ? count : units === least ? atLeast : units / unitsPerToken);
  return { units: most, reserve: false, withinMs: Infinity, atLeast: { units: least, tokens } };
}

/** Whether some wait is long enough: of an overridable bucket this is known late. */
export function isServable({ limit, demand }: Pick<Request, "limit" | "demand">): boolean {
  return demand.units <= limit.kind.most(limit, demand.reserve);
}

/** A demand on one bucket. */
export interface Request extends Bucket {
  /** As the caller said it. */
  readonly asked: DemandArgs;
  readonly demand: Demand;
}

/** Which bucket, from the wire or from a call. */
export interface BucketArgs {
  name: string;
  key?: string | undefined;
  config: RateLimitConfig;
  /** Whether calls ask for an override of its limit. */
  overrides?: boolean | undefined;
  /** The plan whose config it is; null for a config that the call itself gives. A call that gives neither has `plans`. */
  plan?: string | null | undefined;
  plans?: NamedPlan[] | undefined;
  /** The config, if the app's code has it from a definition or a call: it was checked there, and is parsed once. */
  definition?: { readonly config: RateLimitConfig; limit?: Limit } | undefined;
}

export function parseBucket({ name, key, config, overrides, plan, plans, definition }: BucketArgs): Bucket {
  const limit = definition ? (definition.limit ??= parseChecked(name, definition.config)) : parseLimit(name, config);
  if (key !== undefined) checkKey(name, key);
  const bucket = { name, limit: limit.kind.forKey?.(limit, key) ?? limit, key, isOverridable: overrides ?? false };
  if (plans) return { ...bucket, plans };
  return plan === undefined ? bucket : { ...bucket, plan: plan ?? storedConfig(config) };
}

export function requestTo(bucket: Bucket, asked: DemandArgs): Request {
  return { ...bucket, asked, demand: parseDemand(bucket.limit, asked, bucket.isOverridable) };
}

/** A bucket as a call of the app names it, and what the call asks of it. */
export interface CalledArgs<Asked> {
  readonly bucket: Readonly<BucketArgs>;
  readonly asked: Asked;
}
export type CalledRequest = CalledArgs<DemandArgs>;

export function requestOf({ bucket: called, asked }: CalledRequest): Request {
  const bucket = parseBucket(called);
  return { ...bucket, asked, demand: parseDemand(bucket.limit, asked, bucket.isOverridable) };
}

export function parseRequest(args: BucketArgs & DemandArgs): Request {
  return requestTo(parseBucket(args), args);
}
