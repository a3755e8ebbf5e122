/** One request on its way through the wrapper: what it asks of each limit, what comes back, and what goes wrong. */
import { anything, checkTokens, findBucket } from "../client/definitions.js";
import { checkField, checkFields, type Fields, isPermitted } from "../engine/fields.js";
import { policyOf } from "../engine/kinds/policy.js";
import { fieldError } from "../engine/misuse.js";
import { countField } from "../engine/request.js";
import { MAX_TOKENS } from "../engine/units.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import { badRequest, RefusedError } from "./answers.js";
import { ask, type AskedSet, type LimitRefund, type LimitRequest } from "./ask.js";
import type { LimitedBy } from "./headers.js";
import { boundedKey } from "./keys.js";
import type { Caller, CallerTerms, CheckedLimit, CommonOptions, Keyless } from "./options.js";
import { keylessField } from "./parseOptions.js";

/** A request, and what all requests of a wrapped handler have in common. */
export interface Visit extends CommonOptions, AskedSet {
  readonly request: Request;
  readonly limits: readonly CheckedLimit[];
  /** The callers that were looked up: limits with the same `identify` share one call of it. */
  readonly identified: Map<unknown, Promise<Caller>>;
}

/** The request to one limit, and what the handler hears of it besides the status. */
export interface Claim {
  readonly given: CheckedLimit;
  readonly request: LimitRequest;
  readonly limited: Omit<LimitedBy, "status"> & { count: number };
}
export type AskedLimit = Claim & { readonly limited: LimitedBy };

/** The requests to the limits that apply. @throws RefusedError for a fault of the client, and any error of the app. */
export async function claimAll(visit: Visit): Promise<Claim[]> {
  const { limits, ctx, request } = visit;
  const claims: Claim[] = [];
  for (const given of limits) {
    try {
      // The types forbid undefined, JavaScript does not: a function that forgets its return switches no limit off.
      const applies: unknown = await given.when?.({ ctx, request });
      if (applies === false) continue;
      claims.push(await claimOn(visit, given));
    } catch (error) {
      if (given.mode === "enforce") throw error;
      // A limit in shadow refuses nothing: one that cannot be asked is left out.
      if (!(error instanceof RefusedError)) await reportError(visit, error);
    }
  }
  return claims;
}

async function claimOn(visit: Visit, given: CheckedLimit): Promise<Claim> {
  const { request, set } = visit;
  const { limit: name, mode, cost = 1 } = given;
  const { key, plan, config: own } = await findCaller(visit, given);
  // One look-up serves limits with and without plans.
  const terms = plan !== undefined && set.definitions.get(name)?.configs[0].plan ? { plan } : { config: own };
  const bucket = findBucket(set.definitions, "limitHttp", { name, key, ...terms }, { needsPlan: true });
  checkTokens("limitHttp", bucket);
  const { config } = bucket;
  const count = typeof cost === "function" ? await cost(request, policyOf(config).tokens) : cost;
  if (!isPermitted(countField, count)) throw badRequest("The cost of this request is not a number of at least 0.");
  // `describes`: the status says what the bucket holds under the override in force.
  const asked = { count, refundable: given.refund !== undefined, shadow: mode === "shadow", describes: true };
  return {
    given,
    request: present({ ...bucket, term: undefined, ...asked }),
    limited: { name, key, count, config },
  };
}

const CALLER_FIELDS: Fields = { key: anything, without: anything, plan: anything, config: anything };

type Found = CallerTerms & { key?: string };

/**
 * The key of the bucket, and the terms that hold. @throws RefusedError for a request that has no key and shares none.
 */
async function findCaller({ ctx, request, identified }: Visit, given: CheckedLimit): Promise<Found> {
  const { limit: name, by = "everyone", without: otherwise, identify, plan, config } = given;
  if (!identify) {
    for (const source of by === "everyone" ? [] : [by].flat()) {
      const key = await source.keyOf(ctx, request);
      if (key !== undefined) return { key, plan, config };
    }
    return keyless(otherwise, { plan, config });
  }
  const known = identified.get(identify) ?? Promise.resolve(identify(ctx, request));
  identified.set(identify, known);
  // JavaScript may pass anything.
  const caller = { ...((await known) as Caller | undefined) } as Partial<Caller>;
  checkFields(name, "what identify returns", caller, CALLER_FIELDS);
  const { key, without, ...terms } = caller;
  if (without !== undefined) {
    checkField(name, "identify's without", keylessField, without);
    return keyless(without, terms);
  }
  // The key of httpKey("caller", key), which brings every source along.
  if (typeof key === "string" && key !== "") return { ...terms, key: `caller:${await boundedKey(key)}` };
  throw fieldError(name, "identify's key", 'a non-empty string, or left out with without: "deny"', key);
}

/** The keys of all sources have a colon, so none of them is the bucket that requests without a key share. */
function keyless(without: Keyless | undefined, terms: CallerTerms): Found {
  if (without === undefined || without === "share") return { ...terms, ...(without && { key: "shared" }) };
  const { status, headers } = without === "deny" ? { status: 403 } : without;
  const detail = "The request carries nothing by which it could be counted.";
  throw new RefusedError({ status, title: "Not identified", detail }, headers);
}

/** Asks them all in one transaction. */
export async function askAll(visit: Visit, claims: readonly Claim[]): Promise<AskedLimit[]> {
  const statuses = await ask(visit, { requests: claims.map(({ request }) => request) });
  return statuses.flatMap((status, i) =>
    claims.slice(i, i + 1).map((claim) => ({ ...claim, limited: { ...claim.limited, status } })),
  );
}

/** Gives back what the limits' `refund` says, in one call. If that fails, the request counts. */
export async function refund(visit: Visit, asked: readonly AskedLimit[], response?: Response): Promise<LimitedBy[]> {
  const adjustments: LimitRefund[] = [];
  for (const one of asked) {
    // Each by itself: the `refund` of one limit that throws must not keep the tokens of another.
    const count = await attempt(visit, () => tokensBack(one, visit.request, response));
    if (!count) continue;
    const { name, key, config, plan } = one.request;
    // Tokens come back by the time at which they were taken; a further charge ignores it.
    const { takenAt = 0 } = one.limited.status;
    adjustments.push(present({ name, key, config, plan, count: -count, takenAt, describes: true }));
  }
  const statuses = adjustments.length > 0 ? await attempt(visit, () => ask(visit, { adjustments })) : undefined;
  return asked.map(({ limited }) => {
    // A request asks each limit once.
    const status = statuses?.[adjustments.findIndex(({ name }) => name === limited.name)];
    if (!status) return limited;
    // Refunds have no mode, and are always ok.
    const { shadow } = limited.status;
    return { ...limited, status: present({ ...status, shadow }) as RateLimitStatus };
  });
}

/** At most what the request took; negative for a further charge. */
async function tokensBack({ given, limited }: AskedLimit, request: Request, response?: Response): Promise<number> {
  const { refund: rule } = given;
  // A limit in shadow that would have denied has taken nothing.
  if (rule === undefined || (limited.status.ok && limited.status.shadow?.ok === false)) return 0;
  const hasFailed = response === undefined || response.status >= 400;
  const back = typeof rule === "function" ? await rule(response, request, limited) : hasFailed === (rule === "failed");
  if (typeof back === "boolean") return back ? limited.count : 0;
  // No more than can be charged: a settlement must not fail, nor those of the other limits with it.
  if (Number.isFinite(back)) return Math.max(-MAX_TOKENS, Math.min(back, limited.count));
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
