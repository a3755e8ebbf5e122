/** One request and the limits of the wrapper's options → what to ask of each limit. */
import { findBucket } from "../client/definitions.js";
import { policyOf } from "../engine/kinds/policy.js";
import { checkField, isPermitted } from "../engine/fields.js";
import { fieldError } from "../engine/misuse.js";
import { present } from "../wire/present.js";
import { badRequest, RefusedError } from "./answers.js";
import { asList } from "./headers.js";
import { boundedKey, httpKey } from "./keys.js";
import type { Caller, CheckedLimit } from "./options.js";
import { keylessField } from "./parseOptions.js";
import { countField } from "./request.js";
import { type Claim, reportError, type Visit } from "./visit.js";

/** The requests to the limits that apply. @throws RefusedError for the client's faults, and any error of the app's code. */
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
  const { without, key, plan, config: own } = await findCaller(visit, given);
  if (without !== undefined && without !== "share") {
    const { status, headers } = without === "deny" ? { status: 403 } : without;
    const detail = "The request carries nothing by which it could be counted.";
    throw new RefusedError({ status, title: "Not identified", detail }, headers);
  }
  // One look-up serves limits with and without plans.
  const terms = plan !== undefined && set.definitions.get(name)?.plans ? { plan } : { config: own };
  const bucket = present({ name, key, ...terms });
  const { config } = findBucket(set.definitions, "limitHttp", bucket);
  const count = typeof cost === "function" ? await cost(request, policyOf(config).capacity) : cost;
  if (!isPermitted(countField, count)) throw badRequest("The cost of this request is not a number of at least 0.");
  const said = await given.partitionKey?.({ ctx, request, key });
  return {
    given,
    request: { bucket, count, mode, refundable: given.refund !== undefined },
    // Clients only compare it, so the digest of a long one is as good.
    limited: { name, key, count, config, partitionKey: said && (await boundedKey(said)) },
  };
}

/** The key of the bucket and the terms that hold, or the choice for a request without a key. */
async function findCaller({ ctx, request, identified }: Visit, given: CheckedLimit): Promise<Partial<Caller>> {
  const { limit: name, by, without: otherwise, identify, plan, config } = given;
  if (!identify) {
    for (const source of by === undefined || by === "everyone" ? [] : asList(by)) {
      const key = await source.keyOf(ctx, request);
      if (key !== undefined) return { key, plan, config };
    }
    return withoutKey({ without: otherwise, plan, config });
  }
  const known = identified.get(identify) ?? Promise.resolve(identify(ctx, request));
  identified.set(identify, known);
  // JavaScript may pass anything.
  const { key, without, ...terms } = { ...((await known) as Caller | undefined) } as Partial<Caller>;
  if (without !== undefined) {
    checkField(name, "identify's without", keylessField, without);
    return withoutKey({ ...terms, without });
  }
  if (typeof key === "string" && key !== "") return { ...terms, key: await httpKey("caller", key) };
  throw fieldError(name, "identify's key", 'a non-empty string, or left out with without: "deny"', key);
}

/** The keys of all sources have a colon, so none of them is the bucket that requests without a key share. */
function withoutKey({ without, ...terms }: Omit<Partial<Caller>, "key">): Partial<Caller> {
  return without === "share" ? { ...terms, key: "shared" } : ({ ...terms, without } as Partial<Caller>);
}

/** The buckets that each request has been charged: nested wrappers pass the request on. */
const chargedBy = new WeakMap<Request, Set<string>>();
const reported = new Set<string>();

/** Reports a limit that two nested wrappers charge for one request: once, while the module stays loaded. */
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
