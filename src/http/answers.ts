/** The answers that are not the handler's: problem details (RFC 9457), or a denial in the app's own words. */
import { isObject } from "../engine/fields.js";
import { END_OF_TIME } from "../engine/time.js";
import type { HeaderFields } from "./fields.js";
import { type LimitedBy, quotaOf, rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";
import type { HttpCtx } from "./request.js";

/**
 * For handlers that ask the limits themselves: 429 with problem details and `rateLimitHeaders`; 403 if no wait helps.
 */
export function tooManyRequests(
  limits: LimitedBy | readonly LimitedBy[],
  options: RateLimitHeadersOptions = {},
): Response {
  const headers = rateLimitHeaders(limits, options);
  const denied = [limits].flat().filter(({ status }) => !status.ok);
  return problem(quotaExceeded(denied, headers["Retry-After"]), headers);
}

/** The problem that the denials are; 403 if no wait helps with one of them. */
function quotaExceeded(denied: readonly LimitedBy[], retryAfter: string | number = 1, status = 429): Problem {
  const closed = denied.filter(({ status }) => status.retryAt === END_OF_TIME);
  const large = closed.find(({ status }) => !status.ok && status.reason === "too large");
  // The RateLimit draft's part: the type that it registers, and the names of the limits.
  const violated = (closed.length > 0 ? closed : denied).map((limit) => quotaOf(limit).name);
  const type = "https://iana.org/assignments/http-problem-types#quota-exceeded";
  const rest = { type, "violated-policies": violated };
  if (large) {
    const detail = `This request takes ${large.count ?? 1} of a quota of ${quotaOf(large).quota}.`;
    return { status: 403, title: "More than the quota", detail, ...rest };
  }
  if (closed.length > 0) {
    const detail = "No wait helps: the quota does not permit this request.";
    return { status: 403, title: "Not permitted", detail, ...rest };
  }
  const detail = `Try again in ${retryAfter} ${Number(retryAfter) === 1 ? "second" : "seconds"}.`;
  return { status, title: "Too many requests", detail, ...rest };
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

/** A denied request and its limits, for the app's own answer. */
export interface HttpDenial {
  readonly ctx: HttpCtx;
  readonly request: Request;
  /** The limits that denied. */
  readonly limits: readonly LimitedBy[];
  /** When the request succeeds if no other comes between, in ms since the epoch; absent if no wait helps. */
  readonly retryAt?: number;
  /** Whole seconds: what `Retry-After` says; absent if no wait helps. */
  readonly retryAfter?: number;
}

/** The answer to a denied request. `Retry-After` and the limits' fields are added to it, except those that it has. */
export interface DenialAnswer {
  /** Text, or an object, which is sent as JSON; or a function of the denial that returns either. */
  body?: DenialBody | ((denial: HttpDenial) => DenialBody | Promise<DenialBody>) | undefined;
  /** 400 to 599, default 429. It is always 403 if no wait helps. */
  status?: number;
  headers?: HeaderFields;
}
type DenialBody = string | Readonly<Record<string, unknown>>;

export async function answerDenial(answer: DenialAnswer, denial: HttpDenial): Promise<Response> {
  const { body, status, headers = {} } = answer;
  const usual = quotaExceeded(denial.limits, denial.retryAfter, status);
  if (body === undefined) return problem(usual, headers);
  const said = typeof body === "function" ? await body(denial) : body;
  const init = { status: usual.status, headers };
  return typeof said === "string" ? new Response(said, init) : Response.json(said, init);
}

/** Not instanceof, since a test or a polyfill may have a class of its own. */
export function isResponse(given: unknown): given is Response {
  return isObject(given) && "statusText" in given;
}
