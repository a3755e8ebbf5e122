/** The answers that are not the handler's: problem details (RFC 9457), or a denial in the app's own words. */
import type { Fields } from "./fields.js";
import { asList, rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";
import type { HttpCtx } from "./keys.js";
import { isForGood, type LimitedBy, toAscii } from "./quota.js";

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
  const list = asList(limits);
  return list.some(isForGood)
    ? deniedForGood(headers, list)
    : quotaExceeded(429, headers, list, Number(headers["Retry-After"] ?? 1));
}

/** The problem that the denials among the limits are. */
function quotaExceeded(status: number, headers: Fields, limits: readonly LimitedBy[], retryAfter: number): Response {
  return problem(status, headers, {
    type: QUOTA_EXCEEDED,
    title: "Too many requests",
    detail: `Try again in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}.`,
    "violated-policies": violated(limits),
  });
}

/** 403: a limit is closed to the caller until the app opens it again. */
function deniedForGood(headers: Fields, limits: readonly LimitedBy[]): Response {
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

/** What a denied request is told, as the app sees it. */
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
  ctx: HttpCtx,
  request: Request,
  limits: readonly LimitedBy[],
  retryAfter: string | undefined,
): HttpDenial {
  const denied = limits.filter(({ status }) => !status.ok);
  if (retryAfter === undefined) return { ctx, request, limits: denied };
  const retryAt = Math.max(...denied.map(({ status }) => status.retryAt ?? 0));
  return { ctx, request, limits: denied, retryAt, retryAfter: Number(retryAfter) };
}

export async function answerDenial(answer: DenialAnswer = {}, denial: HttpDenial): Promise<Response> {
  const { body, headers = {} } = answer;
  const forGood = denial.limits.some(isForGood);
  const status = forGood ? 403 : (answer.status ?? 429);
  if (body === undefined) {
    return forGood
      ? deniedForGood(headers, denial.limits)
      : quotaExceeded(status, headers, denial.limits, denial.retryAfter ?? 1);
  }
  const said = typeof body === "function" ? await body(denial) : body;
  return typeof said === "string" ? new Response(said, { status, headers }) : Response.json(said, { status, headers });
}

/** Not instanceof, since a test or a polyfill may have a class of its own. */
export function isResponse(given: unknown): given is Response {
  return typeof given === "object" && given !== null && "headers" in given && "status" in given;
}
