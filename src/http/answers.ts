/** The answers that are not the handler's: problem details (RFC 9457), or a denial in the app's own words. */
import type { Fields } from "./fields.js";
import { asList, rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";
import { isForGood, type LimitedBy, toAscii } from "./quota.js";
import type { HttpCtx } from "./request.js";

/** The problem type that the RateLimit draft registers. */
const QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/**
 * 429: the limits that denied, as problem details, with the header fields of `rateLimitHeaders`. For handlers that ask the
 * limits themselves; `limitHttp` answers with it. 403 if no wait helps: an override blocks the caller, without an end.
 */
export function tooManyRequests(
  limits: LimitedBy | readonly LimitedBy[],
  options: RateLimitHeadersOptions = {},
): Response {
  const headers = rateLimitHeaders(limits, options);
  return quotaExceeded(asList(limits), headers, 429, Number(headers["Retry-After"] ?? 1));
}

/** The problem that the denials are; 403 if one of them is for good. */
function quotaExceeded(limits: readonly LimitedBy[], headers: Fields, status: number, retryAfter: number): Response {
  const closed = limits.filter(isForGood);
  const isClosed = closed.length > 0;
  return problem(isClosed ? 403 : status, headers, {
    type: QUOTA_EXCEEDED,
    title: isClosed ? "Not permitted" : "Too many requests",
    detail: isClosed
      ? "No wait helps: the quota is closed to this caller."
      : `Try again in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}.`,
    "violated-policies": namesOf(isClosed ? closed : limits.filter((limit) => !limit.status.ok)),
  });
}

const namesOf = (limits: readonly { name: string }[]) => limits.map(({ name }) => toAscii(name));

/** 403: the request asks for more than the limit ever holds, so no wait would help and none is named. */
export function neverServed(name: string, count: number, capacity: number): Response {
  const detail = `This request takes ${count} of a quota of ${capacity}.`;
  const details = { type: QUOTA_EXCEEDED, title: "More than the quota", detail };
  return problem(403, {}, { ...details, "violated-policies": namesOf([{ name }]) });
}

/** The request carries nothing to count it by. */
export function notIdentified(status: number, headers: Fields): Response {
  const detail = "The request carries nothing by which it could be counted.";
  return problem(status, headers, { title: "Not identified", detail });
}

/** 400: nobody could count what the request asks for. */
export function badRequest(detail: string): Response {
  return problem(400, {}, { title: "Bad request", detail });
}

/** 500: a function of the app failed before the limits were asked. The client does not see the error. */
export function internalError(): Response {
  return problem(500, {}, { title: "Internal server error", detail: "This request could not be processed." });
}

/** 503: the limits could not be asked. */
export function unavailable(retryAfter: number): Response {
  const detail = "The rate limits of this request could not be checked.";
  return problem(503, { "Retry-After": String(retryAfter) }, { title: "Service unavailable", detail });
}

function problem(status: number, headers: Fields, details: Readonly<Record<string, unknown>>): Response {
  return new Response(JSON.stringify({ status, ...details }), {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json" },
  });
}

/** A denied request and its limits, for the app's own answer. */
export interface HttpDenial {
  readonly ctx: HttpCtx;
  readonly request: Request;
  /** The limits that denied. */
  readonly limits: readonly LimitedBy[];
  /** The first time at which the request succeeds if no other comes between, in ms since the epoch; absent if no wait helps. */
  readonly retryAt?: number;
  /** Whole seconds: what `Retry-After` says; absent if no wait helps. */
  readonly retryAfter?: number;
}

/**
 * The answer to a denied request. `Retry-After` and the limits' header fields are added to it, except those that it has.
 *
 * - `body`: text, or an object, which is sent as JSON; or a function of the denial that returns either.
 * - `status`: default 429. It is always 403 if no wait helps.
 * - `headers`: further header fields.
 */
export interface DenialAnswer {
  body?: DenialBody | ((denial: HttpDenial) => DenialBody | Promise<DenialBody>);
  status?: number;
  headers?: Readonly<Record<string, string>>;
}

type DenialBody = string | Readonly<Record<string, unknown>>;

/** @param retryAfter - what the header says, if it says anything. */
export function denialOf(
  { ctx, request }: Pick<HttpDenial, "ctx" | "request">,
  asked: readonly LimitedBy[],
  retryAfter?: string,
): HttpDenial {
  const limits = asked.filter(({ status }) => !status.ok);
  if (retryAfter === undefined) return { ctx, request, limits };
  const retryAt = Math.max(...limits.map(({ status }) => status.retryAt ?? 0));
  return { ctx, request, limits, retryAt, retryAfter: Number(retryAfter) };
}

export async function answerDenial(
  { body, status = 429, headers = {} }: DenialAnswer = {},
  denial: HttpDenial,
): Promise<Response> {
  const { limits, retryAfter = 1 } = denial;
  if (body === undefined) return quotaExceeded(limits, headers, status, retryAfter);
  const said = typeof body === "function" ? await body(denial) : body;
  const init = { status: limits.some(isForGood) ? 403 : status, headers };
  return typeof said === "string" ? new Response(said, init) : Response.json(said, init);
}

/** Not instanceof, since a test or a polyfill may have a class of its own. */
export function isResponse(given: unknown): given is Response {
  return typeof given === "object" && given !== null && "headers" in given && "status" in given;
}
