/** A limit of the wrapper's options, and one request → what to ask of it. */
import { limitOf } from "../client/limitOf.js";
import { definitionUnder } from "../client/plans.js";
import { countField, parseDemand } from "../engine/request.js";
import { checkField, isPermitted } from "../engine/fields.js";
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import { fieldError } from "../engine/misuse.js";
import { isResponse, problem, violated } from "./answers.js";
import { boundedKey } from "./keys.js";
import type { Call, Caller } from "./options.js";
import { keylessField, type Rule } from "./parseOptions.js";
import { BadRequestError } from "./request.js";
import { type Plan, report, type Visit } from "./visit.js";

/**
 * The requests to the limits that apply, in order; or the answer, if a limit refuses the request. A limit in shadow refuses
 * nothing: one that cannot be asked is left out, and its error is reported.
 *
 * @throws BadRequestError when the client is at fault, and any error of the app's own functions.
 */
export async function planAll(visit: Visit): Promise<Plan[] | Response> {
  const { rules, ctx, request } = visit;
  const identified = new Map<unknown, Promise<Caller>>();
  const plans: Plan[] = [];
  for (const rule of rules) {
    try {
      if (rule.given.when && !(await rule.given.when({ ctx, request }))) continue;
      const plan = await planFor(rule, visit, identified);
      if (!isResponse(plan)) plans.push(plan);
      else if (!rule.isShadow) return plan;
    } catch (error) {
      if (!rule.isShadow) throw error;
      if (!(error instanceof BadRequestError)) await report(visit, error);
    }
  }
  return plans;
}

/** The request to one limit, or the answer if none is needed. */
async function planFor(
  rule: Rule,
  { ctx, request }: Visit,
  identified: Map<unknown, Promise<Caller>>,
): Promise<Plan | Response> {
  const { name, given } = rule;
  const caller = await findCaller(rule, { ctx, request }, identified);
  const { without } = caller;
  if (without !== undefined && without !== "share") {
    const { status, headers } = without === "deny" ? { status: 403 } : without;
    return problem(status, "Not identified", "The request carries nothing by which it could be counted.", headers);
  }
  // No source's keys are without a colon, so none names the bucket that requests without a key share.
  const key = without === "share" ? "shared" : caller.key;
  const call = { ctx, request, key };
  const plan = typeof given.plan === "function" ? await given.plan(call) : (given.plan ?? caller.plan);
  const limit = await limitFor(rule, caller, plan, call);
  const capacity = limit.tokens;
  const count = typeof given.cost === "function" ? await given.cost(request, capacity) : (given.cost ?? 1);
  if (!isPermitted(countField, count)) {
    throw new BadRequestError("The cost of this request is not a number of at least 0.");
  }
  if (!canEverServe(limit, count)) {
    // No wait would help, so none is named.
    const detail = `This request takes ${count} of a quota of ${capacity}.`;
    return problem(403, "More than the quota", detail, {}, violated([{ name }]));
  }
  const said = await given.partitionKey?.(call);
  const isOwn = plan === undefined && (rule.isInline || limit !== rule.limit);
  return {
    rule,
    request: {
      bucket: {
        name,
        ...(key !== undefined && { key }),
        ...(isOwn && { config: limit.config }),
        ...(plan !== undefined && { plan }),
      },
      count,
      ...(given.mode && { mode: given.mode }),
      ...(given.refund !== undefined && { refundable: true }),
    },
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
  { name, given, sources }: Rule,
  { ctx, request }: Omit<Call, "key">,
  identified: Map<unknown, Promise<Caller>>,
): Promise<Found> {
  if (!given.identify) {
    for (const source of sources) {
      const key = await source.keyOf(ctx, request);
      if (key !== undefined) return { key };
    }
    return { without: given.without };
  }
  const known = identified.get(given.identify) ?? Promise.resolve(given.identify(ctx, request));
  identified.set(given.identify, known);
  // JavaScript may pass anything.
  const { key, without, ...found } = { ...((await known) as Caller | undefined) } as Partial<Caller>;
  if (without !== undefined) {
    checkField(name, "identify's without", keylessField, without);
    return { ...found, without };
  }
  if (typeof key !== "string" || key === "") {
    throw fieldError(name, "identify's key", 'a non-empty string, or left out with without: "deny"', key);
  }
  return { ...found, key: `caller:${await boundedKey(key)}` };
}

/** The limit of one request: a look-up's config stands before the plan of the definition, and that before the definition. */
async function limitFor(
  { name, given, definition, limit }: Rule,
  caller: Found,
  plan: string | undefined,
  call: Call,
): Promise<Limit> {
  if (limit && !caller.config) return limit;
  const hasConfig = caller.config ?? given.config;
  if (definition?.plans && (plan !== undefined || !hasConfig)) {
    return limitOf(name, definitionUnder(name, definition, plan, true));
  }
  const own = typeof given.config === "function" ? await given.config(call) : given.config;
  const found = typeof caller.config === "function" ? caller.config(name) : (caller.config ?? own);
  if (found !== undefined) return parseLimit(name, found);
  throw fieldError(name, "identify's config", "a config, or a function of the name", found);
}
