/** A limit of the wrapper's options, and one request → what to ask of it. */
import { limitOf } from "../client/limitOf.js";
import { definitionUnder } from "../client/plans.js";
import { countField, parseDemand } from "../engine/request.js";
import { checkField, isPermitted } from "../engine/fields.js";
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import { fieldError } from "../engine/misuse.js";
import type { RateLimitConfig } from "../wire/configs.js";
import type { LimitRequest } from "./ask.js";
import { BadRequestError, boundedKey, type HttpCtx } from "./keys.js";
import type { Caller, Keyless } from "./options.js";
import { keylessField, type Rule } from "./parseOptions.js";
import type { ParsedLimit } from "./quota.js";

/** What to ask of one limit, or why it need not be asked. */
export type Plan =
  | {
      readonly kind: "ask";
      readonly rule: Rule;
      readonly request: LimitRequest;
      readonly shown: Omit<ParsedLimit, "status">;
    }
  | { readonly kind: "refuse"; readonly without: Keyless }
  | { readonly kind: "never"; readonly name: string; readonly count: number; readonly capacity: number };

export type AskPlan = Extract<Plan, { kind: "ask" }>;

/**
 * What each limit that applies is asked, in order; one plan alone if a limit refuses the request. A limit in shadow refuses nothing: one
 * that cannot be asked is left out.
 *
 * @param report - gets what goes wrong with limits in shadow.
 * @throws BadRequestError when the client is at fault, and whatever the app's own functions throw.
 */
export async function planAll(
  rules: readonly Rule[],
  ctx: HttpCtx,
  request: Request,
  report: (error: unknown) => Promise<void>,
): Promise<Plan[]> {
  const identified = new Map<unknown, Promise<Caller>>();
  const plans: Plan[] = [];
  for (const rule of rules) {
    try {
      if (rule.given.when && !(await rule.given.when({ ctx, request }))) continue;
      const plan = await planFor(rule, ctx, request, identified);
      if (plan.kind === "ask") plans.push(plan);
      else if (!rule.isShadow) return [plan];
    } catch (error) {
      if (!rule.isShadow) throw error;
      if (!(error instanceof BadRequestError)) await report(error);
    }
  }
  return plans;
}

async function planFor(
  rule: Rule,
  ctx: HttpCtx,
  request: Request,
  identified: Map<unknown, Promise<Caller>>,
): Promise<Plan> {
  const { name, given } = rule;
  const caller = given.identify ? await identify(rule, given.identify, ctx, request, identified) : undefined;
  const { key, without } = caller ?? (await choose(rule, ctx, request));
  if (without !== undefined && without !== "share") return { kind: "refuse", without };
  const call = { ctx, request, key };
  const under = caller ? caller.plan : typeof given.plan === "function" ? await given.plan(call) : given.plan;
  const defined = caller?.config ? undefined : rule.limit;
  const limit = defined ?? plannedLimit(rule, caller, under) ?? (await limitFor(rule, caller, call));
  const capacity = limit.tokens;
  const count = typeof given.cost === "function" ? await given.cost(request, capacity) : (given.cost ?? 1);
  if (!isPermitted(countField, count)) {
    throw new BadRequestError("The cost of this request is not a number of at least 0.");
  }
  if (!canEverServe(limit, count)) return { kind: "never", name, count, capacity };
  const said = await given.partitionKey?.({ ctx, request, key });
  return {
    kind: "ask",
    rule,
    request: {
      name,
      ...(key !== undefined && { key }),
      count,
      ...(under === undefined ? (rule.isInline || limit !== rule.limit) && { config: limit.config } : { plan: under }),
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

/** The bucket of requests without a key. No source's keys are without a colon. */
const SHARED_KEY = "shared";

interface Chosen {
  readonly key: string | undefined;
  readonly without?: Keyless | undefined;
}

async function choose({ given, sources }: Rule, ctx: HttpCtx, request: Request): Promise<Chosen> {
  for (const source of sources) {
    const key = await source.keyOf(ctx, request);
    if (key !== undefined) return { key };
  }
  return { key: given.without === "share" ? SHARED_KEY : undefined, without: given.without };
}

/** The limit under the plan of one request, unless a look-up has found a config in place of a plan. */
function plannedLimit(
  { name, definition }: Rule,
  caller: Pick<Caller, "config"> | undefined,
  plan: string | undefined,
) {
  if (!definition?.plans || (plan === undefined && caller?.config)) return undefined;
  return limitOf(name, definitionUnder(name, definition, plan, true));
}

/** The config of one request, parsed. */
async function limitFor(
  { name, given }: Rule,
  caller: (Chosen & Pick<Caller, "config">) | undefined,
  call: { ctx: HttpCtx; request: Request; key: string | undefined },
): Promise<Limit> {
  const { config } = given;
  const found: RateLimitConfig | undefined = caller
    ? typeof caller.config === "function"
      ? caller.config(name)
      : caller.config
    : typeof config === "function"
      ? await config(call)
      : config;
  if (found === undefined) throw fieldError(name, "identify's config", "a config, or a function of the name", found);
  return parseLimit(name, found);
}

/** The key and the config of a look-up; limits with the same `identify` share one call of it. */
async function identify(
  { name }: Rule,
  lookUp: (ctx: HttpCtx, request: Request) => Caller | Promise<Caller>,
  ctx: HttpCtx,
  request: Request,
  identified: Map<unknown, Promise<Caller>>,
): Promise<Chosen & Pick<Caller, "config" | "plan">> {
  const known = identified.get(lookUp) ?? Promise.resolve(lookUp(ctx, request));
  identified.set(lookUp, known);
  // JavaScript may pass anything.
  const { key, without, config, plan } = { ...((await known) as Caller | undefined) } as Partial<Caller>;
  if (without !== undefined) {
    checkField(name, "identify's without", keylessField, without);
    return { key: without === "share" ? SHARED_KEY : undefined, without, config, plan };
  }
  if (typeof key !== "string" || key === "") {
    throw fieldError(name, "identify's key", 'a non-empty string, or left out beside without: "deny"', key);
  }
  return { key: `caller:${await boundedKey(key)}`, config, plan };
}
