/** The wrapper: who is it, what does it cost, may it pass; and on every answer what is left. */
import { type DefinedRateLimits, setOf, type TypesOf } from "../client/set.js";
import { fieldError, show } from "../engine/misuse.js";
import {
  answerDenial,
  badRequest,
  denialOf,
  internalError,
  isResponse,
  neverServed,
  notIdentified,
  unavailable,
} from "./answers.js";
import { askingOf } from "./ask.js";
import { type Fields, withFields } from "./fields.js";
import { rateLimitHeaders, retryAfterSeconds } from "./headers.js";
import { BadRequestError, type HttpCtx } from "./keys.js";
import type { LimitHttpOptions } from "./options.js";
import { parseOptions } from "./parseOptions.js";
import { type AskPlan, type Plan, planAll } from "./plan.js";
import type { LimitedBy } from "./quota.js";
import { type AskedLimit, refund } from "./refund.js";
import { corsFields, report, reportTwice, type Visit, type Wrapper } from "./visit.js";

/** A wait that outlasts the platform's own retries of a conflict (four, 2 s apart at most). */
const OUTAGE_MS = 10_000;

/** The verdict: the request may pass, having taken what `asked` says, or here is the answer. */
type Decision =
  | { readonly kind: "pass"; readonly asked: readonly AskedLimit[] }
  | { readonly kind: "answer"; readonly response: Response; readonly fields: Fields };

/**
 * Wraps the handler of an HTTP action: a request within its limits reaches it, and its answer says what is left; any other is
 * answered with 429, problem details and `Retry-After`. Tokens that were taken stay taken if the handler throws, unless `refund`
 * says otherwise.
 *
 * @param limits - what `defineRateLimits` returned.
 * @param handler - also gets the limits that the request was held to, each with the tokens that it took and its status;
 *   none if the request was skipped, or served because the limits could not be asked.
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
  const rules = parseOptions(set, options);
  // JavaScript may pass anything.
  const given: unknown = handler;
  if (typeof given !== "function") throw fieldError("limitHttp", "the handler", "a function", given);
  const wrapper: Wrapper = {
    options: options,
    rules,
    asking: askingOf(set, options.via),
    reportedTwice: new Set(),
  };
  return async (ctx, request) => {
    const visit: Visit = { ...wrapper, ctx, request };
    const decision = await decide(visit);
    if (decision.kind === "answer") {
      return withFields(withFields(decision.response, decision.fields), await corsFields(visit));
    }
    const { asked } = decision;
    const listed = asked.map((one) => one.limited);
    const handle = async () => {
      const response = await handler(ctx, request, listed);
      // JavaScript may pass anything.
      if (isResponse(response)) return response;
      throw new TypeError(`The handler of limitHttp must return a Response, got ${show(response)}.`);
    };
    return asked.length === 0 ? await handler(ctx, request, []) : await serve(visit, asked, handle);
  };
}

/** The handler's response, after the refunds. @throws what the handler throws. */
async function serve(visit: Visit, asked: readonly AskedLimit[], handle: () => Promise<Response>): Promise<Response> {
  let response: Response | undefined;
  try {
    response = await handle();
  } finally {
    asked = await settled(visit, asked, response);
  }
  const { formats } = visit.options;
  const limited = asked.map((one) => one.limited);
  // The clock is read again: the fields are true when the answer is sent, however long the handler took.
  return withFields(response, rateLimitHeaders(limited, formats && { formats }));
}

/** The limits after the refunds. */
async function settled(
  visit: Visit,
  asked: readonly AskedLimit[],
  response: Response | undefined,
): Promise<readonly AskedLimit[]> {
  try {
    const limits = await refund(visit.asking, asked, { ...visit, response });
    return asked.map((one, i) => ({ ...one, limited: limits[i] ?? one.limited }));
  } catch (error) {
    // The request has been served, and counts: that is not the client's business.
    await report(visit, error);
    return asked;
  }
}

async function decide(visit: Visit): Promise<Decision> {
  const { options, rules, asking, ctx, request } = visit;
  const { jitter = 0, onError, skip } = options;
  let plans: Plan[];
  try {
    if (request.method === "OPTIONS" || (await skip?.(request, ctx))) return { kind: "pass", asked: [] };
    plans = await planAll(rules, ctx, request, (error) => report(visit, error));
  } catch (error) {
    // Nothing was asked of the limiter, so this is no outage of it: never a reason to serve.
    if (error instanceof BadRequestError) return answered(badRequest(error.message));
    await report(visit, error);
    return answered(internalError());
  }
  const [first] = plans;
  if (!first) return { kind: "pass", asked: [] };
  if (first.kind === "refuse") {
    const { status, headers = {} } = typeof first.without === "object" ? first.without : { status: 403 };
    return answered(notIdentified(status, headers));
  }
  if (first.kind === "never") return answered(neverServed(first.name, first.count, first.capacity));
  const asks = plans as AskPlan[];
  let asked: AskedLimit[];
  try {
    const statuses = await asking.take(
      ctx,
      asks.map((plan) => plan.request),
    );
    asked = asks.flatMap((plan, i) => {
      const status = statuses[i];
      const config = status?.override?.config;
      return status ? [{ plan, limited: { ...plan.shown, ...(config && { config }), status } }] : [];
    });
  } catch (error) {
    await report(visit, error);
    if (onError === "open" || asks.every(({ rule }) => rule.isShadow)) return { kind: "pass", asked: [] };
    return answered(unavailable(retryAfterSeconds(OUTAGE_MS, jitter)));
  }
  if (!asked.every(({ limited }) => limited.status.ok)) return await deny(visit, asked);
  await reportTwice(visit, asks);
  return { kind: "pass", asked };
}

async function deny(visit: Visit, asked: readonly AskedLimit[]): Promise<Decision> {
  const { options, ctx, request } = visit;
  const { jitter = 0, formats } = options;
  const limited = asked.map((one) => one.limited);
  const fields = rateLimitHeaders(limited, { ...(formats && { formats }), jitter });
  const denial = denialOf(ctx, request, limited, fields["Retry-After"]);
  try {
    const own = await options.onDenied?.(denial);
    if (isResponse(own)) return { kind: "answer", response: own, fields };
  } catch (error) {
    await report(visit, error);
  }
  return { kind: "answer", response: await answerDenial(options.denial, denial), fields };
}

function answered(response: Response): Decision {
  return { kind: "answer", response, fields: {} };
}
