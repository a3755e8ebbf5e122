/** Statuses → response header fields, one function for each format. When the draft changes, only this file does. */
import { checkFields, type Field } from "../engine/fields.js";
import { policyOf } from "../engine/kinds/policy.js";
import { fieldError } from "../engine/misuse.js";
import { checkName } from "../engine/names.js";
import { END_OF_TIME } from "../engine/time.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { RateLimitConfig } from "../wire/configs.js";
import type { HeaderFields } from "./fields.js";

/** A limit that a request was held to, and what it answered. */
export interface LimitedBy {
  name: string;
  status: RateLimitStatus;
  /** The config, or the definition, that the status was asked with. */
  config: RateLimitConfig;
  /** The tokens that the request asked for, default 1. */
  count?: number | undefined;
  /** The bucket's key; it is not sent. */
  key?: string | undefined;
}

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
  options: RateLimitHeadersOptions = {},
): Record<string, string> {
  const enforced = [limits].flat().filter(({ status }) => !(status.ok && status.shadow) && !status.policy?.unlimited);
  const quotas = enforced.map(quotaOf);
  const [first] = quotas;
  if (!first) return {};
  const permitted: Record<keyof RateLimitHeadersOptions, Field> = {
    formats: formatsField,
    jitter: jitterField,
    now: nowField,
  };
  checkFields(first.name, "the options of rateLimitHeaders", options, permitted);
  const { formats = ["draft-11"], jitter = 0, now = Date.now() } = options;
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

export const nowField: Field = { atLeast: 0, atMost: END_OF_TIME, unit: "ms since the epoch" };

/** When all of the limits that denied let the request pass; undefined if none denied, or if no wait helps. */
export function retryAtOf(limits: readonly LimitedBy[]): number | undefined {
  const latest = Math.max(...limits.map(({ status }) => (status.ok ? -Infinity : status.retryAt)));
  return latest > -Infinity && latest < END_OF_TIME ? latest : undefined;
}

/** The policy of a limit, and the part of its state that a client gets. */
type Quota = ReturnType<typeof quotaOf>;

export function quotaOf({ name, config, status, count = 1 }: LimitedBy) {
  checkName(name);
  const { tokens, windowMs } = status.policy ?? policyOf(config);
  if (!(tokens >= 0 && windowMs >= 0)) throw fieldError(name, "config", "the config of the limit", config);
  const { remaining, resetAt = END_OF_TIME } = status;
  return {
    /** As a String of structured fields requires: % and what is not printable ASCII are percent-encoded. */
    name: name.replace(/[^ -$&-~]/gu, encodeURIComponent),
    quota: Math.floor(tokens),
    windowSeconds: Math.max(1, seconds(windowMs)),
    /** Absent if the call read only some rows of the bucket, or if the bucket is never full again. */
    left: remaining === undefined || resetAt >= END_OF_TIME ? undefined : { remaining, resetAt },
    /** How many more requests like this one are left. */
    requests: !status.ok ? -1 : count > 0 ? (remaining ?? Infinity) / count : Infinity,
    until: status.ok ? resetAt : status.retryAt,
  };
}

/** The tightest first: denials, then what is used up first. Of two alike, the one that lasts longer. */
function byTightness(a: Quota, b: Quota): number {
  // Two infinities are alike.
  return a.requests - b.requests || b.until - a.until;
}

/** Whole seconds, rounded up: a client that waits is never early. The most is the largest Integer of RFC 9651. */
function seconds(ms: number): number {
  return Math.min(999_999_999_999_999, Math.max(0, Math.ceil(ms / 1000)));
}

const FORMATS: Readonly<Record<RateLimitFormat, (quotas: readonly Quota[], now: number) => HeaderFields>> = {
  "draft-11": (quotas, now) => {
    const states = [...quotas].sort(byTightness).flatMap((quota) => {
      const { left } = quota;
      return left ? item(quota, `r=${left.remaining};t=${seconds(left.resetAt - now)}`) : [];
    });
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

/** A String with parameters: as much of structured fields (RFC 9651) as is used. Tests parse it with a library. */
function item({ name }: Quota, parameters: string): string {
  return `"${name.replace(/["\\]/g, "\\$&")}";${parameters}`;
}

/** As drafts 6 and 7 had them: the quota is the item, and policies have no names. */
function unnamedPolicies(quotas: readonly Quota[]): HeaderFields {
  return { "RateLimit-Policy": quotas.map(({ quota, windowSeconds }) => `${quota};w=${windowSeconds}`).join(", ") };
}

/** The state of the tightest limit, or its quota alone. @param from - the time from which the reset is counted. */
function tightestState(quotas: readonly Quota[], from: number): Readonly<Record<string, number>> {
  const { quota: Limit, left } = quotas.reduce((least, one) => (byTightness(one, least) < 0 ? one : least));
  return left ? { Limit, Remaining: left.remaining, Reset: seconds(left.resetAt - from) } : { Limit };
}

function threeFields(prefix: string, state: Readonly<Record<string, number>>): HeaderFields {
  return Object.fromEntries(Object.entries(state).map(([name, value]) => [`${prefix}-${name}`, String(value)]));
}
