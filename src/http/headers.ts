/** Statuses → response header fields. */
import { checkFormats, FORMATS, type RateLimitFormat } from "./formats.js";
import { isForGood, type LimitedBy, quotaOf } from "./quota.js";
import { checkJitter, retryAfterSeconds } from "./retryAfter.js";

export interface RateLimitHeadersOptions {
  /** Which header fields to write, default `["draft-11"]`; with none of them a denial still has its `Retry-After`. */
  formats?: readonly RateLimitFormat[];
  /** By what fraction of the wait `Retry-After` may be later than the truth: 0 (default) to 1; 0.5 is a good choice. */
  jitter?: number;
  /** Who asks, so that `jitter` tells each caller the same wait every time; default a random number. It is not sent. */
  caller?: string;
  /** The moment of the answer, in ms since the epoch; default `Date.now()`. Read it after the limits have answered. */
  now?: number;
}

/**
 * The header fields that tell a client what it has left, and, if it was denied, when to return: `Retry-After`, in whole
 * seconds, at least 1, rounded up. A client that waits as long as they say is not too early.
 *
 * - q: the limit's capacity; w: the time in which the whole of it comes back, so that q / w is the sustained rate.
 * - r: the tokens that are left; t: after a denial the time until `retryAt`, else the time that r has to last.
 *
 * A limit whose status has no `remaining` sends its policy alone. One in shadow sends nothing: it is not enforced. Where no wait
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
  { formats = ["draft-11"], jitter = 0, caller, now = Date.now() }: RateLimitHeadersOptions = {},
): Record<string, string> {
  const enforced = asList(limits).filter(({ status, unlimited }) => !status.shadow && !unlimited);
  const quotas = enforced.map((limit) => quotaOf(limit, now));
  const [first] = quotas;
  if (!first) return {};
  checkJitter(first.name, jitter);
  checkFormats(first.name, formats);
  const fields: Record<string, string> = {};
  for (const format of formats) Object.assign(fields, FORMATS[format](quotas, now));
  const waits = quotas.flatMap(({ name, retryAt }) => (retryAt === undefined ? [] : [{ name, until: retryAt }]));
  if (waits.length > 0 && !enforced.some(isForGood)) {
    fields["Retry-After"] = String(retryAfterSeconds(waits, now, jitter, caller ?? String(Math.random())));
  }
  return fields;
}

export function asList<T extends object>(oneOrMany: T | readonly T[]): readonly T[] {
  return Array.isArray(oneOrMany) ? (oneOrMany as readonly T[]) : [oneOrMany as T];
}
