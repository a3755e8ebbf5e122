/** Statuses → response header fields, one function for each format. When the draft changes, only this file does. */
import { checkField, type Field } from "../engine/fields.js";
import type { HeaderFields } from "./fields.js";
import { byTightness, type LimitedBy, type Quota, quotaOf, retryAtOf, seconds } from "./quota.js";

/**
 * The fields of a draft of draft-ietf-httpapi-ratelimit-headers, with seconds from now, or `X-RateLimit-*` as GitHub
 * sends them, with a reset in seconds since the epoch. All but draft 11 describe the tightest limit only.
 */
type RateLimitFormat = "draft-11" | "draft-7" | "draft-6" | "x";

export interface RateLimitHeadersOptions {
  /** Default `["draft-11"]`; one draft at most. With none of them a denial still has its `Retry-After`. */
  formats?: readonly RateLimitFormat[] | undefined;
  /** By what fraction of the wait `Retry-After` may be late, at random: 0 (default) to 1; 0.5 is a good choice. */
  jitter?: number;
  /** The time of the answer, in ms since the epoch; default `Date.now()`. Read it after the limits have answered. */
  now?: number;
}

/**
 * The header fields that tell a client what it has left, and, if it was denied, when to return: `Retry-After`, in whole
 * seconds, at least 1, rounded up; absent if no wait helps.
 *
 * - q: the limit's capacity; w: the time in which the whole of it comes back.
 * - r: the whole tokens that are left; t: the time until the status's `resetAt`.
 *
 * A limit whose status has no `remaining` sends its policy alone; one in shadow sends nothing. Policies are listed in
 * the order of `limits`, `RateLimit` by tightness.
 *
 * @throws when an option is out of range, or two drafts are requested: they share field names.
 * @example
 * ```ts
 * import type { RateLimitConfig, RateLimitStatus } from "convex-rate-limits";
 * import { rateLimitHeaders } from "convex-rate-limits/http";
 *
 * export const hello = (status: RateLimitStatus, config: RateLimitConfig) =>
 *   new Response("Hello", { headers: rateLimitHeaders({ name: "api", status, config }, { formats: ["x"] }) });
 * ```
 */
export function rateLimitHeaders(
  limits: LimitedBy | readonly LimitedBy[],
  { formats = ["draft-11"], jitter = 0, now = Date.now() }: RateLimitHeadersOptions = {},
): Record<string, string> {
  const enforced = asList(limits).filter(({ status }) => !(status.ok && status.shadow) && !status.policy?.unlimited);
  const quotas = enforced.map(quotaOf);
  const [first] = quotas;
  if (!first) return {};
  checkField(first.name, "jitter", jitterField, jitter);
  checkField(first.name, "formats", formatsField, formats);
  const fields: Record<string, string> = {};
  for (const format of formats) Object.assign(fields, FORMATS[format](quotas, now));
  const retryAt = retryAtOf(enforced);
  if (retryAt !== undefined) fields["Retry-After"] = String(retryAfterSeconds(retryAt - now, jitter));
  return fields;
}

/** Whole seconds, at least 1. Callers that were denied together return one after another. */
export function retryAfterSeconds(waitMs: number, jitter: number): number {
  // A fraction of a second becomes a whole one with that probability.
  const extraSeconds = (Math.max(0, waitMs) / 1000) * jitter * Math.random();
  return Math.max(1, Math.ceil(waitMs / 1000)) + Math.floor(extraSeconds + Math.random());
}

export const jitterField: Field = { atLeast: 0, atMost: 1 };
export const formatsField: Field = {
  permitted: 'a list of "draft-11", "draft-7", "draft-6", "x", with one draft at most: they write the same fields',
  holds(value) {
    if (!Array.isArray(value) || !value.every((format) => Object.hasOwn(FORMATS, String(format)))) return false;
    return new Set(value).size <= 1 + Number(value.includes("x"));
  },
};

export function asList<T extends object>(oneOrMany: T | readonly T[]): readonly T[] {
  return Array.isArray(oneOrMany) ? (oneOrMany as readonly T[]) : [oneOrMany as T];
}

const FORMATS: Readonly<Record<RateLimitFormat, (quotas: readonly Quota[], now: number) => HeaderFields>> = {
  "draft-11": (quotas, now) => {
    const known = [...quotas].sort(byTightness).filter(({ left }) => left);
    const states = known.map((quota) => item(quota, `r=${quota.left?.remaining};t=${secondsLeft(quota, now)}`));
    const policies = quotas.map((quota) => item(quota, `q=${quota.quota};w=${quota.windowSeconds}`));
    return { "RateLimit-Policy": policies.join(", "), ...(states.length > 0 && { RateLimit: states.join(", ") }) };
  },
  "draft-7": (quotas, now) => {
    const state = Object.entries(tightestState(quotas, now)).map(([name, value]) => `${name.toLowerCase()}=${value}`);
    return { ...unnamedPolicies(quotas), ...(state.length > 1 && { RateLimit: state.join(", ") }) };
  },
  "draft-6": (quotas, now) => ({ ...unnamedPolicies(quotas), ...threeFields("RateLimit", tightestState(quotas, now)) }),
  x: (quotas) => threeFields("X-RateLimit", tightestState(quotas, 0)),
};

/** @param from - the time from which the reset is counted. */
function secondsLeft({ left }: Quota, from: number): number {
  return left ? seconds(left.resetAt - from) : NaN;
}

/** A String with parameters: as much of structured fields (RFC 9651) as is used. Tests parse it with a library. */
function item({ name, partitionKey }: Quota, parameters: string): string {
  // Not spread: a long partition key would be too many arguments.
  const bytes = Array.from(new TextEncoder().encode(partitionKey), (byte) => String.fromCharCode(byte)).join("");
  const pk = partitionKey === undefined ? "" : `;pk=:${btoa(bytes)}:`;
  return `"${name.replace(/["\\]/g, "\\$&")}";${parameters}${pk}`;
}

/** As drafts 6 and 7 had them: the quota is the item, and policies have no names. */
function unnamedPolicies(quotas: readonly Quota[]): HeaderFields {
  return { "RateLimit-Policy": quotas.map(({ quota, windowSeconds }) => `${quota};w=${windowSeconds}`).join(", ") };
}

/** The state of the tightest limit, or its quota alone. */
function tightestState(quotas: readonly Quota[], from: number): Readonly<Record<string, number>> {
  const tightest = quotas.reduce((least, one) => (byTightness(one, least) < 0 ? one : least));
  const { quota: Limit, left } = tightest;
  return left ? { Limit, Remaining: left.remaining, Reset: secondsLeft(tightest, from) } : { Limit };
}

function threeFields(prefix: string, state: Readonly<Record<string, number>>): HeaderFields {
  return Object.fromEntries(Object.entries(state).map(([name, value]) => [`${prefix}-${name}`, String(value)]));
}
