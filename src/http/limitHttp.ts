/** The wrapper: it finds the caller, takes tokens, runs or denies the request, and adds fields to every answer. */
import { type DefinedRateLimits, setOf, type TypesOf } from "../client/place.js";
import { checkField, required } from "../engine/fields.js";
import { show } from "../engine/misuse.js";
import { isResponse, problem, quotaExceeded, RefusedError } from "./answers.js";
import { headerFields, withFields } from "./fields.js";
import { type LimitedBy, rateLimitHeaders, retryAfterSeconds, retryAtOf } from "./headers.js";
import type { LimitHttpOptions } from "./options.js";
import { aFunction, parseOptions, WRAPPER } from "./parseOptions.js";
import type { HttpCtx } from "./request.js";
import { askAll, type AskedLimit, attempt, type Claim, claimAll, refund, reportError, type Visit } from "./visit.js";

/**
 * Wraps the handler of an HTTP action. A request within its limits reaches the handler, and its answer says how much
 * remains. If a limit denies it, the answer is 429 with problem details and `Retry-After`, or 403 if no wait helps. A
 * request that cannot be counted gets 400, 401 or 403, and OPTIONS gets 204. If the handler throws, the tokens stay
 * taken (see `refund`).
 *
 * @param limits - what `defineRateLimits` returned.
 * @param handler - also gets the limits that the request was checked against, each with its count and its status; none
 *   if the request was skipped, or served because the limits could not be asked.
 * @throws at module load, so that a deploy fails, when an option or a limit is invalid.
 * @example
 * ```ts
 * import type { ComponentApi } from "convex-rate-limits/_generated/component";
 * import { defineRateLimits, MINUTE } from "convex-rate-limits/component";
 * import { address, limitHttp } from "convex-rate-limits/http";
 *
 * declare const component: ComponentApi; // in an app: components.rateLimits of "./_generated/api"
 * const limits = defineRateLimits({ hello: { kind: "token bucket", rate: 60, period: MINUTE } }, { component });
 * const options = { limit: "hello", by: address({ trustedProxies: 1 }), without: "share" } as const;
 * export const handlerOfHello = limitHttp(limits, options, () => Promise.resolve(new Response("Hello")));
 * ```
 */
export function limitHttp<Set extends DefinedRateLimits, Ctx extends HttpCtx>(
  limits: Set,
  options: LimitHttpOptions<TypesOf<Set>["limits"], TypesOf<Set>["contexts"]>,
  handler: (ctx: Ctx, request: Request, limits: readonly LimitedBy[]) => Promise<Response>,
): (ctx: Ctx, request: Request) => Promise<Response> {
  const set = setOf(limits, "limitHttp");
  const checked = parseOptions(set, options);
  checkField(WRAPPER, "the handler", required(aFunction), handler);
  return async (ctx, request) => {
    const visit: Visit = { ...options, ctx, request, set, limits: checked, identified: new Map() };
    const asked = await decide(visit);
    if (isResponse(asked)) return (await attempt(visit, () => withCors(visit, asked))) ?? asked;
    if (asked.length === 0) return await handler(ctx, request, []);
    let limited: readonly LimitedBy[] = asked.map((one) => one.limited);
    let response: Response | undefined;
    try {
      const made: unknown = await handler(ctx, request, limited);
      if (!isResponse(made)) throw new TypeError(`The handler of limitHttp must return a Response, got ${show(made)}.`);
      response = made;
    } finally {
      limited = await refund(visit, asked, response);
    }
    // The clock is read again: the fields are true when the answer is sent, however long the handler took.
    return withFields(response, rateLimitHeaders(limited, { formats: options.formats }));
  };
}

/** If this fails, the client gets the answer without these fields. */
async function withCors({ cors = {}, request }: Visit, answer: Response): Promise<Response> {
  const given = typeof cors === "function" ? await cors(request) : cors;
  checkField(WRAPPER, "what cors returned", required(headerFields), given);
  return withFields(answer, given);
}

/** The limits that the request was held to, which may be none; or the answer, if it may not pass. */
async function decide(visit: Visit): Promise<readonly AskedLimit[] | Response> {
  const { ctx, request, jitter = 0, onError, skip } = visit;
  let claims: readonly Claim[];
  try {
    if ((await skip?.(request, ctx)) === true) return [];
    // The client chooses the method. A handler that does not look at it would do its work, uncounted.
    if (request.method === "OPTIONS") return new Response(null, { status: 204 });
    claims = await claimAll(visit);
  } catch (error) {
    // Nothing was asked of the limiter, so this is no outage of it: never a reason to serve.
    if (error instanceof RefusedError) return error.answer;
    await reportError(visit, error);
    return problem({ status: 500, title: "Internal server error", detail: "This request could not be processed." });
  }
  if (claims.length === 0) return [];
  const asked = await attempt(visit, () => askAll(visit, claims));
  if (!asked) {
    if (onError === "open" || claims.every(({ given }) => given.mode === "shadow")) return [];
    // A wait that outlasts the platform's own retries of a conflict.
    const headers = { "Retry-After": String(retryAfterSeconds(10_000, jitter)) };
    const detail = "The rate limits of this request could not be checked.";
    return problem({ status: 503, title: "Service unavailable", detail }, headers);
  }
  if (!asked.every(({ limited }) => limited.status.ok)) return await deny(visit, asked);
  return asked;
}

async function deny(visit: Visit, asked: readonly AskedLimit[]): Promise<Response> {
  const { ctx, request, jitter = 0, formats, onDenied } = visit;
  const limited = asked.map((one) => one.limited);
  const fields = rateLimitHeaders(limited, { formats, jitter });
  const limits = limited.filter(({ status }) => !status.ok);
  const retryAt = retryAtOf(limits);
  const wait = retryAt === undefined ? {} : { retryAt, retryAfter: Number(fields["Retry-After"]) };
  const own = await attempt(visit, () => onDenied?.({ ctx, request, limits, ...wait }));
  return isResponse(own) ? withFields(own, fields) : quotaExceeded(limits, fields);
}
