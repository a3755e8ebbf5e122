/** One request and the limits of the wrapper's options → what to ask of each limit. */
import { findBucket } from "../client/definitions.js";
import { policyOf } from "../engine/kinds/policy.js";
import { checkField, isPermitted } from "../engine/fields.js";
import { fieldError } from "../engine/misuse.js";
import { present } from "../wire/present.js";
import { badRequest, RefusedError } from "./answers.js";
import { boundedKey } from "./keys.js";
import type { Caller, CallerTerms, CheckedLimit, Keyless } from "./options.js";
import { keylessField } from "./parseOptions.js";
import { costField } from "./request.js";
import { type Claim, reportError, type Visit } from "./visit.js";

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
  const { ctx, request, set } = visit;
  const { limit: name, mode, cost = 1 } = given;
  const { key, plan, config: own } = await findCaller(visit, given);
  // One look-up serves limits with and without plans.
  const terms = plan !== undefined && set.definitions.get(name)?.plans ? { plan } : { config: own };
  const bucket = findBucket(set.definitions, "limitHttp", present({ name, key, ...terms }), { needsPlan: true });
  const { config } = bucket;
  const count = typeof cost === "function" ? await cost(request, policyOf(config).tokens) : cost;
  if (!isPermitted(costField, count)) throw badRequest("The cost of this request is not a number of at least 0.");
  const pk = await given.partitionKey?.({ ctx, request, key });
  // `describes`: the status says what the bucket holds under the override in force.
  const asked = { count, refundable: given.refund !== undefined, shadow: mode === "shadow", describes: true };
  return {
    given,
    request: present({ ...bucket, definition: undefined, ...asked }),
    // Clients only compare a partition key, so the digest of a long one is as good.
    limited: { name, key, count, config, partitionKey: pk && (await boundedKey(pk)) },
  };
}

type Found = Partial<CallerTerms> & { key?: string };

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
  const { key, without, ...terms } = { ...((await known) as Caller | undefined) } as Partial<Caller>;
  if (without !== undefined) {
    checkField(name, "identify's without", keylessField, without);
    return keyless(without, terms);
  }
  // The key of httpKey("caller", key), which brings every source along.
  if (typeof key === "string" && key !== "") return { ...terms, key: `caller:${await boundedKey(key)}` };
  throw fieldError(name, "identify's key", 'a non-empty string, or left out with without: "deny"', key);
}

/** The keys of all sources have a colon, so none of them is the bucket that requests without a key share. */
function keyless(without: Keyless | undefined, terms: Partial<CallerTerms>): Found {
  if (without === undefined || without === "share") return { ...terms, ...(without && { key: "shared" }) };
  const { status, headers } = without === "deny" ? { status: 403 } : without;
  const detail = "The request carries nothing by which it could be counted.";
  throw new RefusedError({ status, title: "Not identified", detail }, headers);
}
