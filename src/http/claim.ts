/** One request and the limits of the wrapper's options → what to ask of each limit. */
import { findBucket } from "../client/definitions.js";
import { checkField, isPermitted } from "../engine/fields.js";
import { fieldError } from "../engine/misuse.js";
import { countField, parseBucket } from "../engine/request.js";
import { unitsOf } from "../engine/units.js";
import { present } from "../wire/present.js";
import { badRequest, RefusedError, violated } from "./answers.js";
import { asList } from "./headers.js";
import { boundedKey, httpKey } from "./keys.js";
import type { AnyHttpLimit, Caller, CheckedLimit } from "./options.js";
import { keylessField } from "./parseOptions.js";
import { type Claim, reportError, type Visit } from "./visit.js";

/** The requests to the limits that apply. @throws RefusedError when the client is at fault, and any error of the app's own functions. */
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
  const { ctx, request, set } = visit;
  const { limit: name, mode, cost = 1 } = given;
  const caller = await findCaller(visit, given);
  const { without } = caller;
  if (without !== undefined && without !== "share") {
    const { status, headers } = without === "deny" ? { status: 403 } : without;
    const detail = "The request carries nothing by which it could be counted.";
    throw new RefusedError({ status, title: "Not identified", detail }, headers);
  }
  // The keys of all sources have a colon, so none of them is the bucket that requests without a key share.
  const key = without === "share" ? "shared" : caller.key;
  const call = { ctx, request, key };
  const plan = typeof given.plan === "function" ? await given.plan(call) : (given.plan ?? caller.plan);
  const own = typeof given.config === "function" ? await given.config(call) : given.config;
  const config = typeof caller.config === "function" ? caller.config(name) : (caller.config ?? own);
  const bucket = present({ name, key, plan, config });
  const { limit } = parseBucket(findBucket(set.definitions, "limitHttp", bucket));
  const count = typeof cost === "function" ? await cost(request, limit.tokens) : cost;
  if (!isPermitted(countField, count)) throw badRequest("The cost of this request is not a number of at least 0.");
  // Counts are rounded up and capacities down, so comparing the two numbers would not do.
  if (!(unitsOf(limit, count) <= limit.kind.most(limit, false))) {
    // No wait would help, so none is named.
    const detail = `This request takes ${count} of a quota of ${limit.tokens}.`;
    throw new RefusedError({ status: 403, title: "More than the quota", detail, ...violated([{ name }]) });
  }
  const said = await given.partitionKey?.(call);
  return {
    given,
    request: { bucket, count, mode, refundable: given.refund !== undefined },
    // Clients only compare it, so the digest of a long one is as good.
    limited: { name, key, count, config: limit.config, partitionKey: said && (await boundedKey(said)) },
  };
}

/** By the key sources, or by a look-up: the key of the bucket, or the choice for a request without one, and the look-up's other results. */
async function findCaller({ ctx, request, identified }: Visit, given: AnyHttpLimit): Promise<Partial<Caller>> {
  const { limit: name, by = "everyone", without: otherwise, identify } = given;
  if (!identify) {
    for (const source of by === "everyone" ? [] : asList(by)) {
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
  if (typeof key === "string" && key !== "") return { ...terms, key: await httpKey("caller", key) };
  throw fieldError(name, "identify's key", 'a non-empty string, or left out with without: "deny"', key);
}

/** The buckets that each request has been charged: nested wrappers pass the request on. */
const chargedBy = new WeakMap<Request, Set<string>>();
const reported = new Set<string>();

/** Reports a limit that two nested wrappers charge for one request: once, where modules stay loaded from one request to the next. */
export async function reportTwice(visit: Visit, claims: readonly Claim[]): Promise<void> {
  const charged = chargedBy.get(visit.request) ?? new Set();
  chargedBy.set(visit.request, charged);
  for (const { name, key } of claims.map(({ request }) => request.bucket)) {
    const bucket = JSON.stringify([name, key]);
    if (charged.has(bucket) && !reported.has(name)) {
      reported.add(name);
      const problem = `Rate limit "${name}" is charged twice for one request: two nested limitHttp have it.`;
      await reportError(visit, new Error(problem));
    }
    charged.add(bucket);
  }
}
