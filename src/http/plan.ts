/** One request and the limits of the wrapper's options → what to ask of each limit. */
import { findBucket } from "../client/definitions.js";
import { checkField, isPermitted } from "../engine/fields.js";
import type { Limit } from "../engine/kinds/kind.js";
import { fieldError } from "../engine/misuse.js";
import { countField, parseBucket, parseDemand } from "../engine/request.js";
import { isResponse, problem, violated } from "./answers.js";
import { asList } from "./headers.js";
import { boundedKey } from "./keys.js";
import type { AnyHttpLimit, HttpCall, Caller } from "./options.js";
import { keylessField } from "./parseOptions.js";
import { BadRequestError } from "./request.js";
import { isShadow, type Plan, reportError, type Visit } from "./visit.js";

/**
 * The requests to the limits that apply, in order; or the answer, if a limit refuses the request. A limit in shadow refuses
 * nothing: one that cannot be asked is left out, and its error is reported.
 *
 * @throws BadRequestError when the client is at fault, and any error of the app's own functions.
 */
export async function planAll(visit: Visit): Promise<Plan[] | Response> {
  const { limits, ctx, request } = visit;
  const identified = new Map<unknown, Promise<Caller>>();
  const plans: Plan[] = [];
  for (const given of limits) {
    try {
      if (given.when && !(await given.when({ ctx, request }))) continue;
      const plan = await planFor(given, visit, identified);
      if (!isResponse(plan)) plans.push(plan);
      else if (!isShadow(given)) return plan;
    } catch (error) {
      if (!isShadow(given)) throw error;
      if (!(error instanceof BadRequestError)) await reportError(visit, error);
    }
  }
  return plans;
}

/** The request to one limit, or the answer if none is needed. */
async function planFor(
  given: AnyHttpLimit,
  { ctx, request, set }: Visit,
  identified: Map<unknown, Promise<Caller>>,
): Promise<Plan | Response> {
  const { limit: name, mode = "enforce", cost = 1 } = given;
  const caller = await findCaller(given, { ctx, request }, identified);
  const { without } = caller;
  if (without !== undefined && without !== "share") {
    const { status, headers } = without === "deny" ? { status: 403 } : without;
    return problem(status, "Not identified", "The request carries nothing by which it could be counted.", headers);
  }
  // No source's keys are without a colon, so none names the bucket that requests without a key share.
  const key = without === "share" ? "shared" : caller.key;
  const call = { ctx, request, key };
  const plan = typeof given.plan === "function" ? await given.plan(call) : (given.plan ?? caller.plan);
  const own = typeof given.config === "function" ? await given.config(call) : given.config;
  const config = typeof caller.config === "function" ? caller.config(name) : (caller.config ?? own);
  const bucket = {
    name,
    ...(key !== undefined && { key }),
    ...(plan !== undefined && { plan }),
    ...(config !== undefined && { config }),
  };
  const { limit } = parseBucket(findBucket(set.definitions, "limitHttp", bucket));
  const count = typeof cost === "function" ? await cost(request, limit.tokens) : cost;
  if (!isPermitted(countField, count)) {
    throw new BadRequestError("The cost of this request is not a number of at least 0.");
  }
  if (!canEverServe(limit, count)) {
    // No wait would help, so none is named.
    const detail = `This request takes ${count} of a quota of ${limit.tokens}.`;
    return problem(403, "More than the quota", detail, {}, violated([{ name }]));
  }
  const said = await given.partitionKey?.(call);
  return {
    given,
    request: { bucket, count, mode, refundable: given.refund !== undefined },
    // Clients compare it, so a digest of a long one does as well.
    shown: { name, key, count, config: limit.config, limit, partitionKey: said && (await boundedKey(said)) },
  };
}

/** Counts are rounded up and capacities down, so comparing the two numbers would not do. */
function canEverServe(limit: Limit, count: number): boolean {
  try {
    parseDemand(limit, { count });
    return true;
  } catch {
    return false;
  }
}

/** The key of the bucket, or the choice for a request without one; and the other results of a look-up. */
type Found = { readonly [Field in keyof Caller]?: Caller[Field] | undefined };

/** By the key sources, or by a look-up: limits with the same `identify` share one call of it. */
async function findCaller(
  { limit: name, by = "everyone", without: otherwise, identify }: AnyHttpLimit,
  { ctx, request }: Omit<HttpCall, "key">,
  identified: Map<unknown, Promise<Caller>>,
): Promise<Found> {
  if (!identify) {
    if (by === "everyone") return {};
    for (const source of asList(by)) {
      const key = await source.keyOf(ctx, request);
      if (key !== undefined) return { key };
    }
    return { without: otherwise };
  }
  const known = identified.get(identify) ?? Promise.resolve(identify(ctx, request));
  identified.set(identify, known);
  // JavaScript may pass anything.
  const { key, without, ...terms } = { ...((await known) as Caller | undefined) } as Partial<Caller>;
  if (without !== undefined) {
    checkField(name, "identify's without", keylessField, without);
    return { ...terms, without };
  }
  if (typeof key === "string" && key !== "") return { ...terms, key: `caller:${await boundedKey(key)}` };
  throw fieldError(name, "identify's key", 'a non-empty string, or left out with without: "deny"', key);
}
