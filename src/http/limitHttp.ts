/** The wrapper: it finds the caller, takes the tokens, runs or denies the request, and adds the fields to every answer. */
import { type DefinedRateLimits, setOf, type TypesOf } from "../client/set.js";
import { fieldError, show } from "../engine/misuse.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { answerDenial, isResponse, problem } from "./answers.js";
import { ask } from "./ask.js";
import { withFields } from "./fields.js";
import { rateLimitHeaders, retryAfterSeconds } from "./headers.js";
import type { LimitHttpOptions } from "./options.js";
import { parseOptions } from "./parseOptions.js";
import { planAll } from "./plan.js";
import type { LimitedBy } from "./quota.js";
import { BadRequestError, type HttpCtx } from "./request.js";
import {
  type AskedLimit,
  attempt,
  corsFields,
  isShadow,
  refund,
  reportError,
  reportTwice,
  type Visit,
} from "./visit.js";

/** A wait that outlasts the platform's own retries of a conflict (four, 2 s apart at most). */
const OUTAGE_MS = 10_000;

/**
 * Wraps the handler of an HTTP action. A request within its limits reaches the handler, and its answer says how much remains. Any
 * other is answered with 429, problem details and `Retry-After`. Tokens that were taken stay taken if the handler throws, unless
 * `refund` says otherwise.
 *
 * @param limits - what `defineRateLimits` returned.
 * @param handler - also gets the limits that the request was checked against, each with the tokens that it took and its status.
 *   There are none if the request was skipped, or served because the limits could not be asked.
 * @throws at module load, so that a deploy fails, when an option or a limit is invalid.
 * @example
 * ```ts
 * import { httpActionGeneric } from "convex/server"; // in an app: httpAction from "./_generated/server"
 * import type { ComponentApi } from "convex-rate-limits/_generated/component";
 * import { defineRateLimits, MINUTE } from "convex-rate-limits/component";
 * import { address, limitHttp } from "convex-rate-limits/http";
 *
 * declare const components: { rateLimits: ComponentApi }; // in an app: from "./_generated/api"
 * const limits = defineRateLimits(
 *   { hello: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 10 } },
 *   { component: components.rateLimits },
 * );
 *
 * export const hello = httpActionGeneric(
 *   limitHttp(limits, { limit: "hello", by: address({ trustedProxies: 1 }), without: "share" }, () =>
 *     Promise.resolve(new Response("Hello")),
 *   ),
 * );
 * ```
 */
export function limitHttp<Set extends DefinedRateLimits, Ctx extends HttpCtx>(
  limits: Set,
  options: LimitHttpOptions<TypesOf<Set>["limits"], TypesOf<Set>["contexts"]>,
  handler: (ctx: Ctx, request: Request, limits: readonly LimitedBy[]) => Promise<Response>,
): (ctx: Ctx, request: Request) => Promise<Response> {
  const set = setOf(limits, "limitHttp");
  const checked = parseOptions(set, options);
  // JavaScript may pass anything.
  const given: unknown = handler;
  if (typeof given !== "function") throw fieldError("limitHttp", "the handler", "a function", given);
  return async (ctx, request) => {
    const visit: Visit = { ctx, request, options, set, limits: checked };
    const asked = await decide(visit);
    if (isResponse(asked)) return withFields(asked, await corsFields(visit));
    if (asked.length === 0) return await handler(ctx, request, []);
    let limited = asked.map((one) => one.limited) as readonly LimitedBy[];
    let response: Response | undefined;
    try {
      const answer: unknown = await handler(ctx, request, limited);
      if (!isResponse(answer)) {
        throw new TypeError(`The handler of limitHttp must return a Response, got ${show(answer)}.`);
      }
      response = answer;
    } finally {
      limited = await refund(visit, asked, response);
    }
    // The clock is read again: the fields are true when the answer is sent, however long the handler took.
    return withFields(response, rateLimitHeaders(limited, { formats: options.formats }));
  };
}

/** The limits that the request was held to, which may be none; or the answer, if it may not pass. */
async function decide(visit: Visit): Promise<readonly AskedLimit[] | Response> {
  const { ctx, request, set, options } = visit;
  const { jitter = 0, onError, skip, via } = options;
  let plans: Awaited<ReturnType<typeof planAll>>;
  try {
    if (request.method === "OPTIONS" || (await skip?.(request, ctx))) return [];
    plans = await planAll(visit);
  } catch (error) {
    // Nothing was asked of the limiter, so this is no outage of it: never a reason to serve.
    if (error instanceof BadRequestError) return problem(400, "Bad request", error.message);
    await reportError(visit, error);
    return problem(500, "Internal server error", "This request could not be processed.");
  }
  if (isResponse(plans)) return plans;
  if (plans.length === 0) return [];
  let statuses: readonly RateLimitStatus[];
  try {
    statuses = await ask(ctx, set, via, { take: plans.map((plan) => plan.request) });
  } catch (error) {
    await reportError(visit, error);
    if (onError === "open" || plans.every(({ given }) => isShadow(given))) return [];
    const retryAfter = String(retryAfterSeconds(OUTAGE_MS, jitter));
    const detail = "The rate limits of this request could not be checked.";
    return problem(503, "Service unavailable", detail, { "Retry-After": retryAfter });
  }
  const asked = plans.flatMap((plan, i) => {
    const status = statuses[i];
    const config = status?.override?.config;
    return status ? [{ ...plan, limited: { ...plan.shown, ...(config && { config }), status } }] : [];
  });
  if (!asked.every(({ limited }) => limited.status.ok)) return await deny(visit, asked);
  await reportTwice(visit, plans);
  return asked;
}

async function deny(visit: Visit, asked: readonly AskedLimit[]): Promise<Response> {
  const { ctx, request, options } = visit;
  const { jitter = 0, formats, onDenied, denial: answer = {} } = options;
  const limited = asked.map((one) => one.limited);
  const fields = rateLimitHeaders(limited, { formats, jitter });
  const limits = limited.filter(({ status }) => !status.ok);
  const retryAt = Math.max(...limits.map(({ status }) => status.retryAt ?? 0));
  const retryAfter = fields["Retry-After"];
  const denial = { ctx, request, limits, ...(retryAfter && { retryAt, retryAfter: Number(retryAfter) }) };
  const own = await attempt(visit, () => onDenied?.(denial));
  if (isResponse(own)) return withFields(own, fields);
  const said = await attempt(visit, () => answerDenial(answer, denial));
  // A body that cannot be made leaves a denial without words of the app's own.
  return withFields(said ?? (await answerDenial({ ...answer, body: undefined }, denial)), fields);
}
