/** One request on its way through the wrapper: how it asks the limits, and what goes wrong beside it. */
import type { LimitSet } from "../client/place.js";
import { fieldError, show } from "../engine/misuse.js";
import { MAX_TOKENS } from "../engine/units.js";
import type { LetThroughStatus, RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type { LimitedBy } from "./headers.js";
import { type HttpMutationArgs, type LimitRefund, type LimitRequest, transact } from "./ask.js";
import type { Caller, CheckedLimit, CommonOptions } from "./options.js";
import type { HttpCtx } from "./request.js";

/** A request, and what all requests of a wrapped handler have in common. */
export interface Visit extends CommonOptions {
  readonly ctx: HttpCtx;
  readonly request: Request;
  readonly set: LimitSet;
  readonly limits: readonly CheckedLimit[];
  /** The callers that were looked up: limits with the same `identify` share one call of it. */
  readonly identified: Map<unknown, Promise<Caller>>;
}

/** The request to one limit. */
export interface Claim {
  readonly given: CheckedLimit;
  readonly request: LimitRequest;
  readonly limited: Omit<LimitedBy, "status"> & { count: number };
}
export type AskedLimit = Claim & { readonly limited: LimitedBy };

export async function askAll(visit: Visit, claims: readonly Claim[]): Promise<readonly AskedLimit[]> {
  const requests = claims.map(({ request }) => request);
  const statuses = await ask(visit, { requests });
  const limitedBy = ({ limited }: Claim, status: RateLimitStatus) => ({ ...limited, status });
  return claims.flatMap((claim, i) =>
    statuses.slice(i, i + 1).map((one) => ({ ...claim, limited: limitedBy(claim, one) })),
  );
}

/** @throws when the answer is not one of limits: no other may let a request pass, and `via` may lead anywhere. */
async function ask({ ctx, set, via }: Visit, args: HttpMutationArgs): Promise<RateLimitStatus[]> {
  const statuses: unknown = await (via ? ctx.runMutation(via, args) : transact(set, ctx as never, args));
  const { length } = args.requests ?? args.adjustments ?? [];
  if (Array.isArray(statuses) && statuses.length === length && statuses.every(isStatus)) return statuses;
  const problem = `The limits must answer with a list of ${length} statuses, got ${show(statuses)}`;
  throw new Error(`${problem}: does via name what httpMutation made?`);
}

function isStatus(status: unknown): status is RateLimitStatus {
  const { ok, retryAt }: Record<string, unknown> = { ...(status as object | undefined) };
  return ok === true || (ok === false && Number(retryAt) === retryAt);
}

/** Gives back what the limits' `refund` says, in one call. If that fails, the request counts. */
export async function refund(visit: Visit, asked: readonly AskedLimit[], response?: Response): Promise<LimitedBy[]> {
  const due: AskedLimit[] = [];
  const adjustments: LimitRefund[] = [];
  for (const one of asked) {
    // Each by itself: the `refund` of one limit that throws must not keep the tokens of another.
    const count = await attempt(visit, () => tokensBack(one, visit.request, response));
    if (!count) continue;
    const { name, key, config, plan } = one.request;
    // Tokens come back by the time at which they were taken; a further charge ignores it.
    const { takenAt = 0 } = one.limited.status as LetThroughStatus;
    adjustments.push(present({ name, key, config, plan, count: -count, takenAt, describes: true }));
    due.push(one);
  }
  const statuses = due.length > 0 ? await attempt(visit, () => ask(visit, { adjustments })) : undefined;
  return asked.map((one) => {
    const status = statuses?.[due.indexOf(one)];
    if (!status) return one.limited;
    // Refunds have no mode.
    const { shadow } = one.limited.status as LetThroughStatus;
    return { ...one.limited, status: present({ ...status, shadow }) };
  });
}

/** At most what the request took; negative for a further charge. */
async function tokensBack(asked: AskedLimit, request: Request, response?: Response): Promise<number> {
  const { limited } = asked;
  const { refund: rule } = asked.given;
  const { count: taken } = limited;
  // A limit in shadow that would have denied has taken nothing.
  if (rule === undefined || (limited.status.ok && limited.status.shadow?.ok === false)) return 0;
  if (typeof rule !== "function") {
    const hasFailed = response === undefined || response.status >= 400;
    return hasFailed === (rule === "failed") ? taken : 0;
  }
  const back = await rule(response, request, limited);
  if (typeof back === "boolean") return back ? taken : 0;
  // No more than can be charged: a settlement must not fail, nor those of the other limits with it.
  if (Number.isFinite(back)) return Math.max(-MAX_TOKENS, Math.min(back, taken));
  throw fieldError(limited.name, "refund", "a boolean or a finite number of tokens", back);
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

/** Errors that no client should see. The request has an answer already: an error of `report` itself goes to the log. */
export async function reportError({ report, request }: Visit, error: unknown): Promise<void> {
  try {
    if (report) await report(error, request);
    else console.error("The rate limits of a request could not be checked.", error);
  } catch (failure) {
    console.error("The report of a failed rate limit failed.", failure);
  }
}
