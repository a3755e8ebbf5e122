/** The answers that are not the handler's: problem details (RFC 9457). */
import { isObject } from "../engine/fields.js";
import { END_OF_TIME } from "../engine/time.js";
import type { HeaderFields } from "./fields.js";
import { type LimitedBy, quotaOf, rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";

/**
 * For handlers that ask the limits themselves: 429 with problem details and `rateLimitHeaders`; 403 if no wait helps.
 * @throws what `rateLimitHeaders` throws.
 */
export function tooManyRequests(
  limits: LimitedBy | readonly LimitedBy[],
  options: RateLimitHeadersOptions = {},
): Response {
  const denied = [limits].flat().filter(({ status }) => !status.ok);
  return quotaExceeded(denied, rateLimitHeaders(limits, options));
}

/** The answer to the denials; 403 if no wait helps with one of them. */
export function quotaExceeded(denied: readonly LimitedBy[], headers: HeaderFields): Response {
  const closed = denied.filter(({ status }) => status.retryAt === END_OF_TIME);
  const large = closed.find(({ status }) => !status.ok && status.reason === "too large");
  // The RateLimit draft's part: the type that it registers, and the names of the limits.
  const violated = (closed.length > 0 ? closed : denied).map((limit) => quotaOf(limit).name);
  const type = "https://iana.org/assignments/http-problem-types#quota-exceeded";
  const answer = (status: number, title: string, detail: string) =>
    problem({ status, title, detail, type, "violated-policies": violated }, headers);
  if (large) {
    const quota = `This request takes ${large.count ?? 1} of a quota of ${quotaOf(large).quota}.`;
    return answer(403, "More than the quota", quota);
  }
  if (closed.length > 0) return answer(403, "Not permitted", "No wait helps: the quota does not permit this request.");
  const { "Retry-After": seconds = "1" } = headers;
  return answer(429, "Too many requests", `Try again in ${seconds} ${seconds === "1" ? "second" : "seconds"}.`);
}

type Problem = { status: number; title: string; detail: string } & Readonly<Record<string, unknown>>;

/** No limit can count this request. The client is at fault, so nothing is reported. */
export class RefusedError extends Error {
  readonly answer: Response;
  constructor(said: Problem, headers?: HeaderFields) {
    super(said.detail);
    this.answer = problem(said, headers);
  }
}

export function badRequest(detail: string): RefusedError {
  return new RefusedError({ status: 400, title: "Bad request", detail });
}

export function problem(said: Problem, headers: HeaderFields = {}): Response {
  const fields = new Headers(headers);
  fields.set("Content-Type", "application/problem+json");
  return new Response(JSON.stringify(said), { status: said.status, headers: fields });
}

/** Not instanceof, since a test or a polyfill may have a class of its own. */
export function isResponse(given: unknown): given is Response {
  return isObject(given) && "statusText" in given;
}
