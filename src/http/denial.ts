/** A denial in the app's own words; without any, problem details. */
import { quotaExceeded } from "./answers.js";
import { checkResponse } from "./checkResponse.js";
import type { HttpCtx } from "./ctx.js";
import type { LimitedBy } from "./quota.js";

/** What a denied request is told, as the app sees it. */
export interface HttpDenial {
  readonly request: Request;
  /** The limits that denied. */
  readonly limits: readonly LimitedBy[];
  /** The first moment at which the request succeeds if no other comes between, in ms since the epoch. */
  readonly retryAt: number;
  /** Whole seconds: what `Retry-After` says; Infinity where no wait helps. */
  readonly retryAfter: number;
}

/**
 * The answer to a denied request. `Retry-After` and the limits' header fields are added to it, except those that it has.
 *
 * - `body`: text, or an object, which is sent as JSON; or a function of the denial that returns either.
 * - `status`: default 429.
 * - `headers`: further header fields.
 *
 * Or a function that returns the whole response. It is not asked where no wait helps: that is 403, always.
 */
export type DenialAnswer =
  | {
      body?: DenialBody | ((denial: HttpDenial) => DenialBody | Promise<DenialBody>);
      status?: number;
      headers?: Readonly<Record<string, string>>;
    }
  | ((denial: HttpDenial, ctx: HttpCtx) => Response | Promise<Response>);

type DenialBody = string | Readonly<Record<string, unknown>>;

export function denialOf(request: Request, limits: readonly LimitedBy[], retryAfter: number): HttpDenial {
  const denied = limits.filter(({ status }) => !status.ok);
  return { request, limits: denied, retryAt: Math.max(...denied.map(({ status }) => status.retryAt ?? 0)), retryAfter };
}

export async function answerDenial(answer: DenialAnswer = {}, denial: HttpDenial, ctx: HttpCtx): Promise<Response> {
  if (typeof answer === "function") return checkResponse(await answer(denial, ctx), "denial");
  const { body, status = 429, headers = {} } = answer;
  if (body === undefined) return quotaExceeded(status, headers, denial.limits, denial.retryAfter);
  const said = typeof body === "function" ? await body(denial) : body;
  return typeof said === "string" ? new Response(said, { status, headers }) : Response.json(said, { status, headers });
}
