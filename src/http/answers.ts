/** The answers that are not the handler's: problem details (RFC 9457), readable across origins. */
import { asList, rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";
import type { LimitedBy } from "./quota.js";
import { toAscii } from "./structuredFields.js";

/** The problem type that the RateLimit draft registers. */
const QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded";

type Fields = Readonly<Record<string, string>>;

/**
 * 429: the limits that denied, as problem details, with the header fields of `rateLimitHeaders`. For handlers that ask the
 * limits themselves; `limitHttp` answers with it.
 */
export function tooManyRequests(
  limits: LimitedBy | readonly LimitedBy[],
  options: RateLimitHeadersOptions = {},
): Response {
  const headers = rateLimitHeaders(limits, options);
  const violated = asList(limits).filter(({ status }) => !status.ok);
  return problem(429, headers, {
    type: QUOTA_EXCEEDED,
    title: "Too many requests",
    detail: `Try again in ${headers["Retry-After"] ?? "1"} seconds.`,
    "violated-policies": violated.map(({ name }) => toAscii(name)),
  });
}

/** 403: the request asks for more than the limit ever holds, so no wait would help and none is named. */
export function neverServed(name: string, count: number, capacity: number): Response {
  return problem(
    403,
    {},
    {
      type: QUOTA_EXCEEDED,
      title: "More than the quota",
      detail: `This request takes ${count} of a quota of ${capacity}.`,
      "violated-policies": [toAscii(name)],
    },
  );
}

/** The request carries nothing to count it by. */
export function notIdentified(status: number, headers: Fields): Response {
  return problem(status, headers, {
    title: "Not identified",
    detail: "The request carries nothing by which it could be counted.",
  });
}

/** 503: the limiter itself failed. */
export function unavailable(retryAfter: number): Response {
  return problem(
    503,
    { "Retry-After": String(retryAfter) },
    {
      title: "Service unavailable",
      detail: "It could not be found out whether this request is within its limits.",
    },
  );
}

function problem(status: number, headers: Fields, details: Readonly<Record<string, unknown>>): Response {
  return new Response(JSON.stringify({ status, ...details }), {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json" },
  });
}

/**
 * The response with more header fields. Those that it has already stay; `Access-Control-Expose-Headers` is completed, so that
 * scripts of other origins can read the rest.
 */
export function withFields(response: Response, fields: Fields): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(fields)) {
    if (!headers.has(name)) headers.set(name, value);
  }
  const readable = [headers.get(EXPOSE), ...Object.keys(fields).filter(isOfLimits)].filter((name) => name !== null);
  if (headers.has("Retry-After") && !readable.includes("Retry-After")) readable.push("Retry-After");
  if (readable.length > 0) headers.set(EXPOSE, readable.join(", "));
  // The headers of a response that was fetched cannot be changed, so this is a new one.
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}

const EXPOSE = "Access-Control-Expose-Headers";

function isOfLimits(name: string): boolean {
  return /^(x-)?ratelimit|^retry-after$/i.test(name);
}
