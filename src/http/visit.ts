/** One request on its way through the wrapper: what comes back to it, and what goes wrong beside it. */
import type { LimitSet } from "../client/place.js";
import { checkField, required } from "../engine/fields.js";
import { fieldError } from "../engine/misuse.js";
import { ask, type LimitRefund, type LimitRequest } from "./ask.js";
import { type HeaderFields, headerFields } from "./fields.js";
import type { AnyHttpLimit, AnyOptions } from "./options.js";
import type { ParsedLimit } from "./quota.js";
import type { HttpCtx } from "./request.js";

/** A request on its way, and what all requests of a wrapped handler have in common. */
export interface Visit {
  readonly ctx: HttpCtx;
  readonly request: Request;
  readonly options: AnyOptions;
  readonly set: LimitSet;
  readonly limits: readonly AnyHttpLimit[];
}

/** The request to one limit. */
export interface Plan {
  readonly given: AnyHttpLimit;
  readonly request: LimitRequest;
  readonly shown: Omit<ParsedLimit, "status">;
}

export function isShadow({ mode }: AnyHttpLimit): boolean {
  return mode === "shadow";
}

/** A limit that was asked, and its answer. */
export interface AskedLimit extends Plan {
  readonly limited: ParsedLimit;
}

/**
 * Gives back what the limits' `refund` says, in one call, once the handler has answered. If that fails, the request has been served,
 * and counts: that is not the client's business.
 * @returns the limits as they stand then.
 */
export async function refund(
  visit: Visit,
  asked: readonly AskedLimit[],
  response: Response | undefined,
): Promise<readonly ParsedLimit[]> {
  const refunds = new Map<AskedLimit, LimitRefund>();
  for (const one of asked) {
    // Each by itself: the `refund` of one limit that throws must not keep the tokens of another.
    const count = await attempt(visit, () => tokensBack(one, visit.request, response));
    if (count) refunds.set(one, refundOf(one, count));
  }
  if (refunds.size === 0) return asked.map(({ limited }) => limited);
  const statuses = await attempt(visit, () =>
    ask(visit.ctx, visit.set, visit.options.via, { giveBack: [...refunds.values()] }),
  );
  const settled = new Map([...refunds.keys()].map((one, i) => [one, statuses?.[i]]));
  return asked.map((one) => {
    const { shadow, override } = one.limited.status;
    const status = settled.get(one);
    if (!status) return one.limited;
    return { ...one.limited, status: { ...status, ...(shadow && { shadow }), ...(override && { override }) } };
  });
}

/** Refunds have no mode. Tokens come back by the time at which they were taken; what is charged has none. */
function refundOf({ request: { bucket, count: renews }, limited: { status } }: AskedLimit, count: number): LimitRefund {
  const takenAt = status.ok ? (status.takenAt ?? 0) : 0;
  return { bucket, count, renews, ...(count > 0 && { takenAt }) };
}

/** At most what the request took; negative for a further charge. */
async function tokensBack(
  { given: { refund: given }, request: { count: taken }, limited }: AskedLimit,
  request: Request,
  response: Response | undefined,
): Promise<number> {
  // A limit in shadow that would have denied has taken nothing.
  if (given === undefined || limited.status.shadow?.ok === false) return 0;
  if (typeof given !== "function") {
    const hasFailed = response === undefined || response.status >= 400;
    return hasFailed === (given === "failed") ? taken : 0;
  }
  const back = await given(response, request, limited);
  if (typeof back === "boolean") return back ? taken : 0;
  if (Number.isFinite(back)) return Math.min(back, taken);
  throw fieldError(limited.name, "refund", "a boolean or a finite number of tokens", back);
}

/** If this fails, the client gets the answer without these fields. */
export async function corsFields(visit: Visit): Promise<HeaderFields> {
  const { cors = {} } = visit.options;
  const fields = await attempt(visit, () => {
    const given = typeof cors === "function" ? cors(visit.request) : cors;
    checkField("limitHttp", "what cors returned", required(headerFields), given);
    return given;
  });
  return fields ?? {};
}

/** The buckets that each request has been charged: nested wrappers pass the request on. */
const chargedBy = new WeakMap<Request, Set<string>>();
const reported = new Set<string>();

/** Reports a limit that two nested wrappers charge for one request; each once, or it would fill the log. */
export async function reportTwice(visit: Visit, plans: readonly Plan[]): Promise<void> {
  const charged = chargedBy.get(visit.request) ?? new Set();
  chargedBy.set(visit.request, charged);
  for (const { name, key } of plans.map((plan) => plan.request.bucket)) {
    const bucket = JSON.stringify([name, key]);
    if (charged.has(bucket) && !reported.has(name)) {
      reported.add(name);
      const problem = `Rate limit "${name}" is charged twice for one request: two nested limitHttp have it.`;
      await reportError(visit, new Error(problem));
    }
    charged.add(bucket);
  }
}

/** The result of a function. If it throws, that is reported, and there is none. */
export async function attempt<T>(visit: Visit, run: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    await reportError(visit, error);
    return undefined;
  }
}

/** Errors that no client should see. The request has an answer already, so an error of `report` itself goes to the log. */
export async function reportError({ options, request }: Visit, error: unknown): Promise<void> {
  try {
    if (options.report) await options.report(error, request);
    else console.error("The rate limits of a request could not be checked.", error);
  } catch (failure) {
    console.error("The report of a failed rate limit failed.", failure);
  }
}
