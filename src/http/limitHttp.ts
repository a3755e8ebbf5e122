/** The wrapper: who is it, what does it cost, may it pass; and on every answer what is left. */
import { fieldError } from "../engine/misuse.js";
import {
  badRequest,
  deniedForGood,
  internalError,
  neverServed,
  notIdentified,
  unavailable,
  withFields,
} from "./answers.js";
import { askLimits, type LimitedRequests, callerOf } from "./ask.js";
import { BadRequestError } from "./badRequest.js";
import { checkResponse } from "./checkResponse.js";
import type { HttpCtx } from "./ctx.js";
import { answerDenial, denialOf } from "./denial.js";
import type { Fields } from "./fields.js";
import { asList, rateLimitHeaders } from "./headers.js";
import { checkOptions, type LimitHttpOptions } from "./options.js";
import { type Plan, planAll } from "./plan.js";
import { isForGood, type LimitedBy } from "./quota.js";
import { refundAfter } from "./refund.js";
import { tell } from "./report.js";
import { retryAfterSeconds } from "./retryAfter.js";

/** A wait that outlasts the platform's own retries of a conflict (four, 2 s apart at most). */
const OUTAGE_MS = 10_000;

/** The verdict: the request may pass, having taken what `asked` says, or here is the answer. */
type Decision =
  | { readonly kind: "pass"; readonly asked: LimitedRequests | undefined }
  | { readonly kind: "answer"; readonly response: Response; readonly fields: Fields };

/**
 * Wraps the handler of an HTTP action: a request within its limits reaches it, and its answer says what is left; any other is
 * answered with 429, problem details and `Retry-After`. Tokens that were taken stay taken if the handler throws, unless `refund`
 * says otherwise.
 *
 * @param handler - is also given the limits that the request was held to, each with the tokens that it took and its status;
 *   none where the request was skipped, or served because the limits could not be asked.
 * @throws at module load, so that a deploy fails, when an option or a limit is invalid.
 * @example
 * ```ts
 * import { httpActionGeneric } from "convex/server"; // in an app: httpAction from "./_generated/server"
 * import { MINUTE } from "convex-rate-limits";
 * import { byAddress, type Consume, firstOf, limitHttp, sharedBucket } from "convex-rate-limits/http";
 *
 * declare const consume: Consume; // inComponent(components.rateLimits)
 *
 * export const hello = httpActionGeneric(
 *   limitHttp(
 *     {
 *       limits: {
 *         name: "hello",
 *         key: firstOf(byAddress({ trustedProxies: 1 }), sharedBucket("no address")),
 *         config: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 10 },
 *       },
 *       consume,
 *     },
 *     () => Promise.resolve(new Response("Hello")),
 *   ),
 * );
 * ```
 */
export function limitHttp<Ctx extends HttpCtx>(
  options: LimitHttpOptions,
  handler: (ctx: Ctx, request: Request, limits: readonly LimitedBy[]) => Promise<Response>,
): (ctx: Ctx, request: Request) => Promise<Response> {
  checkOptions(options);
  // The types forbid anything else, JavaScript does not.
  const given: unknown = handler;
  if (typeof given !== "function") throw fieldError("limitHttp", "the handler", "a function", given);
  const limits = asList(options.limits);
  const { jitter = 0, formats, onError, cors = {} } = options;

  return async (ctx, request) => {
    const decision = await decide(ctx, request);
    if (decision.kind === "answer") {
      const corsFields = typeof cors === "function" ? cors(request) : cors;
      return withFields(withFields(decision.response, decision.fields), corsFields);
    }
    const { asked } = decision;
    if (!asked) return await handler(ctx, request, []);
    const { response, limited } = await refundAfter(options, asked, ctx, request, async () =>
      checkResponse(await handler(ctx, request, asked.limited), "handler"),
    );
    // The clock is read again: what is told is true when the answer is sent, however long the handler took.
    return withFields(response, rateLimitHeaders(limited, formats && { formats }));
  };

  async function decide(ctx: Ctx, request: Request): Promise<Decision> {
    let plans: Plan[];
    try {
      if (await isSkipped(options, ctx, request)) return { kind: "pass", asked: undefined };
      plans = await planAll(limits, ctx, request);
    } catch (error) {
      // Nothing was asked of the limiter, so this is no outage of it: never a reason to serve.
      if (error instanceof BadRequestError) return answered(badRequest(error.message));
      await tell(options.report, error, request);
      return answered(internalError());
    }
    const [first] = plans;
    switch (first?.kind) {
      case undefined:
        return { kind: "pass", asked: undefined };
      case "refuse":
        return answered(notIdentified(first.end.status, first.end.headers));
      case "never":
        return answered(neverServed(first.name, first.count, first.capacity));
      case "ask":
    }
    let asked: LimitedRequests;
    try {
      asked = await askLimits(options, plans, ctx, request);
    } catch (error) {
      await tell(options.report, error, request);
      if (onError === "open") return { kind: "pass", asked: undefined };
      // Who asks may be why the limits cannot be asked, so the spread is drawn.
      const wait = { name: "outage", until: OUTAGE_MS };
      return answered(unavailable(retryAfterSeconds([wait], 0, jitter, String(Math.random()))));
    }
    return asked.limited.every(({ status }) => status.ok) ? { kind: "pass", asked } : await deny(asked, ctx, request);
  }

  async function deny({ limited, requests }: LimitedRequests, ctx: Ctx, request: Request): Promise<Decision> {
    const caller = await callerOf(requests, ctx, request);
    const fields = rateLimitHeaders(limited, { ...(formats && { formats }), jitter, caller });
    const denial = denialOf(request, limited, Number(fields["Retry-After"] ?? Infinity));
    try {
      await options.onDenied?.(denial, ctx);
    } catch (error) {
      await tell(options.report, error, request);
    }
    const response = limited.some(isForGood)
      ? deniedForGood({}, limited)
      : await answerDenial(options.denial, denial, ctx);
    return { kind: "answer", response, fields };
  }
}

function answered(response: Response): Decision {
  return { kind: "answer", response, fields: {} };
}

async function isSkipped({ skip = ["OPTIONS"] }: LimitHttpOptions, ctx: HttpCtx, request: Request): Promise<boolean> {
  if (typeof skip !== "function") return skip.includes(request.method);
  return request.method === "OPTIONS" || (await skip(request, ctx));
}
