/** Statuses → response header fields. */
import { fieldError } from "../engine/misuse.js";
import { checkFormats, FORMATS, type RateLimitFormat } from "./formats.js";
import { isForGood, type LimitedBy, quotaOf } from "./quota.js";

export interface RateLimitHeadersOptions {
  /** Which header fields to write, default `["draft-11"]`; with none of them a denial still has its `Retry-After`. */
  formats?: readonly RateLimitFormat[];
  /** By what fraction of the wait `Retry-After` may be later than the truth, at random: 0 (default) to 1; 0.5 is a good choice. */
  jitter?: number;
  /** The time of the answer, in ms since the epoch; default `Date.now()`. Read it after the limits have answered. */
  now?: number;
}

/**
 * The header fields that tell a client what it has left, and, if it was denied, when to return: `Retry-After`, in whole
 * seconds, at least 1, rounded up. A client that waits as long as they say is not too early.
 *
 * - q: the limit's capacity; w: the time in which the whole of it comes back, so that q / w is the sustained rate.
 * - r: the tokens that are left; t: after a denial the time until `retryAt`, else the time that r has to last.
 *
 * A limit whose status has no `remaining` sends its policy alone. One in shadow sends nothing: it is not enforced. If no wait
 * helps, there is no `Retry-After`. Names are sent as they are if they are printable ASCII; other characters, and %, are
 * percent-encoded.
 *
 * @param limits - one or several limits that the request was held to. Policies are listed in this order, the others by
 *   tightness; after a denial `RateLimit` lists those that denied.
 * @throws when `jitter` is out of range, a format is unknown, or two drafts are requested, which share field names.
 * @example
 * ```ts
 * import type { RateLimitConfig, RateLimitStatus } from "convex-rate-limits";
 * import { rateLimitHeaders } from "convex-rate-limits/http";
 *
 * function answer(status: RateLimitStatus, config: RateLimitConfig): Response {
 *   const headers = rateLimitHeaders({ name: "api", status, config }, { formats: ["draft-11", "x"] });
 *   return status.ok ? new Response("Hello", { headers }) : new Response("Later", { status: 429, headers });
 * }
 * ```
 */
export function rateLimitHeaders(
  limits: LimitedBy | readonly LimitedBy[],
  { formats = ["draft-11"], jitter = 0, now = Date.now() }: RateLimitHeadersOptions = {},
): Record<string, string> {
  const enforced = asList(limits).filter(({ status }) => !status.shadow && !status.override?.unlimited);
  const quotas = enforced.map((limit) => quotaOf(limit, now));
  const [first] = quotas;
  if (!first) return {};
  checkJitter(first.name, jitter);
  checkFormats(first.name, formats);
  const fields: Record<string, string> = {};
  for (const format of formats) Object.assign(fields, FORMATS[format](quotas, now));
  const waits = quotas.flatMap(({ retryAt }) => (retryAt === undefined ? [] : [retryAt - now]));
  if (waits.length > 0 && !enforced.some(isForGood)) {
    fields["Retry-After"] = String(retryAfterSeconds(Math.max(...waits), jitter));
  }
  return fields;
}

/**
 * Whole seconds, at least 1: the wait, lengthened at random by up to the fraction `jitter` of itself. So callers who were denied together
 * return one after another, workers that share a key as well. A fraction of a second becomes a whole one with that probability: of many
 * callers with 1 s to wait and a jitter of 0.5, a quarter is told 2 s.
 */
export function retryAfterSeconds(waitMs: number, jitter: number): number {
  const extraSeconds = (Math.max(0, waitMs) / 1000) * jitter * Math.random();
  return Math.floor(Math.max(1, Math.ceil(waitMs / 1000)) + extraSeconds + Math.random() * (jitter > 0 ? 1 : 0));
}

/** @throws when the fraction is not between 0 and 1. */
export function checkJitter(name: string, jitter: number): void {
  if (!(jitter >= 0 && jitter <= 1)) throw fieldError(name, "jitter", "a number from 0 to 1", jitter);
}

export function asList<T extends object>(oneOrMany: T | readonly T[]): readonly T[] {
  return Array.isArray(oneOrMany) ? (oneOrMany as readonly T[]) : [oneOrMany as T];
}
