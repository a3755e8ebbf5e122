/** The answers that are not the handler's: problem details (RFC 9457), readable across origins. */
import type { Fields } from "./fields.js";
import { asList, rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";
import { isForGood, type LimitedBy } from "./quota.js";
import { toAscii } from "./structuredFields.js";

/** The problem type that the RateLimit draft registers. */
const QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/**
 * 429: the limits that denied, as problem details, with the header fields of `rateLimitHeaders`. For handlers that ask the
 * limits themselves; `limitHttp` answers with it. 403 where no wait helps: an override blocks the caller, without an end.
 */
export function tooManyRequests(
  limits: LimitedBy | readonly LimitedBy[],
  options: RateLimitHeadersOptions = {},
): Response {
  const headers = rateLimitHeaders(limits, options);
  const list = asList(limits);
  return list.some(isForGood)
    ? deniedForGood(headers, list)
    : quotaExceeded(429, headers, list, Number(headers["Retry-After"] ?? 1));
}

/** The problem that the denials among the limits are. */
export function quotaExceeded(
  status: number,
  headers: Fields,
  limits: readonly LimitedBy[],
  retryAfter: number,
): Response {
  return problem(status, headers, {
    type: QUOTA_EXCEEDED,
    title: "Too many requests",
    detail: `Try again in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}.`,
    "violated-policies": violated(limits),
  });
}

/** 403: a limit is closed to the caller until the app opens it again. */
export function deniedForGood(headers: Fields, limits: readonly LimitedBy[]): Response {
  return problem(403, headers, {
    type: QUOTA_EXCEEDED,
    title: "Not permitted",
    detail: "No wait helps: the quota is closed to this caller.",
    "violated-policies": violated(limits.filter(isForGood)),
  });
}

function violated(limits: readonly LimitedBy[]): readonly string[] {
  return limits.filter((limit) => !limit.status.ok).map(({ name }) => toAscii(name));
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

/** 400: nobody could count what the request asks for. */
export function badRequest(detail: string): Response {
  return problem(400, {}, { title: "Bad request", detail });
}

/** 500: a function of the app failed before the limits were asked. What it threw is not the client's business. */
export function internalError(): Response {
  return problem(500, {}, { title: "Internal server error", detail: "This request could not be processed." });
}

/** 503: the limits could not be asked. */
export function unavailable(retryAfter: number): Response {
  return problem(
    503,
    { "Retry-After": String(retryAfter) },
    {
      title: "Service unavailable",
      detail: "The rate limits of this request could not be checked.",
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
 * The response with more header fields. Those that it has already stay. Lists that say how an answer may be used are completed:
 * `Vary`, and `Access-Control-Expose-Headers`, so that scripts of other origins can read the limits.
 */
export function withFields(response: Response, fields: Fields): Response {
  const { status, statusText, body } = response;
  // Response.error() and the like: no such response can be made, or needs to be.
  if (status < 200) return response;
  // A response with a body is used once, so it can be changed; a copy of it would lose its Content-Length on Convex.
  if (body !== null && isChangeable(response.headers)) {
    add(response.headers, fields);
    return response;
  }
  const headers = new Headers(response.headers);
  add(headers, fields);
  return new Response(body, { status, statusText, headers });
}

/** The headers of a response that was fetched cannot be changed. */
function isChangeable(headers: Headers): boolean {
  try {
    headers.delete("RateLimit-Probe");
    return true;
  } catch {
    return false;
  }
}

function add(headers: Headers, fields: Fields): void {
  for (const [name, value] of Object.entries(fields)) {
    if (LISTS.includes(name.toLowerCase())) complete(headers, name, value.split(/[\s,]+/));
    else if (!headers.has(name)) headers.set(name, value);
  }
  const ofLimits = [...headers.keys()].filter((name) => OF_LIMITS.test(name));
  complete(headers, EXPOSE, ofLimits);
}

/** A header that is a list, with what it lacks of these items. */
function complete(headers: Headers, name: string, items: readonly string[]): void {
  const listed = headers.get(name) ?? "";
  const known = listed.toLowerCase().split(/[\s,]+/);
  const missing = items.filter((item) => !known.includes(item.toLowerCase()));
  if (missing.length > 0) headers.set(name, [...(listed ? [listed] : []), ...missing].join(", "));
}

const EXPOSE = "access-control-expose-headers";
const LISTS: readonly string[] = [EXPOSE, "vary"];
const OF_LIMITS = /^(x-)?ratelimit(-|$)|^retry-after$/;
