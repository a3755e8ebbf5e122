/** A limit of the wrapper's options, and one request → what to ask of it. */
import type { RateLimitDefinition } from "../client/args.js";
import { parseDemand } from "../engine/demand.js";
import { parseLimit } from "../engine/limit.js";
import { fieldError } from "../engine/misuse.js";
import { BadRequestError } from "./badRequest.js";
import type { LimitRequest } from "./consume.js";
import { fixed } from "./costs.js";
import type { HttpCtx } from "./ctx.js";
import type { Caller, HttpLimit } from "./httpLimit.js";
import { atEnd, type ChosenKey, isEnd, type KeyEnd } from "./keyChoice.js";
import { boundedKey } from "./keys.js";
import { type LimitedBy, configIn } from "./quota.js";

/** What to ask of one limit, or why it need not be asked. */
export type Plan =
  | { readonly kind: "ask"; readonly request: LimitRequest; readonly shown: Pick<LimitedBy, "unit" | "partitionKey"> }
  | { readonly kind: "refuse"; readonly end: KeyEnd & { kind: "deny" } }
  | { readonly kind: "never"; readonly name: string; readonly count: number; readonly capacity: number };

/**
 * What each limit that applies is asked, in order; one plan alone where a limit refuses the request.
 * @throws BadRequestError where the client is at fault, and whatever the app's own functions throw.
 */
export async function planAll(limits: readonly HttpLimit[], ctx: HttpCtx, request: Request): Promise<Plan[]> {
  const identified = new Map<unknown, Promise<Caller>>();
  const plans: Plan[] = [];
  for (const limit of limits) {
    if (limit.when && !(await limit.when({ ctx, request }))) continue;
    const plan = await planFor(limit, ctx, request, identified);
    if (plan.kind !== "ask") return [plan];
    plans.push(plan);
  }
  return plans;
}

async function planFor(
  limit: HttpLimit,
  ctx: HttpCtx,
  request: Request,
  identified: Map<unknown, Promise<Caller>>,
): Promise<Plan> {
  const { name, cost = fixed(1), unit, partitionKey } = limit;
  const { chosen, configOf } = await identify(limit, ctx, request, identified);
  if (chosen.kind === "deny") return { kind: "refuse", end: chosen };
  const { key } = chosen;
  const definition = await configOf(key);
  const config = configIn(definition);
  // What is wrong with a config is found here: behind this line only the limiter itself can fail.
  const parsed = parseLimit(name, config);
  const capacity = config.capacity ?? config.rate;
  const count = await cost(request, capacity);
  if (!(typeof count === "number" && Number.isFinite(count) && count >= 0)) {
    throw new BadRequestError("The cost of this request is not a number of at least 0.");
  }
  if (!canEverServe(parsed, count)) return { kind: "never", name, count, capacity };
  const shown = { unit, partitionKey: partitionKey && (await partitionKey({ ctx, request, key })) };
  const terms = {
    ...(definition.mode === "shadow" && { mode: definition.mode }),
    ...(definition.overrides === true && { overrides: definition.overrides }),
  };
  return { kind: "ask", request: { name, ...(key === undefined ? {} : { key }), count, config, ...terms }, shown };
}

/** Counts are rounded up and capacities down, so comparing the two numbers would not do. */
function canEverServe(limit: ReturnType<typeof parseLimit>, count: number): boolean {
  try {
    parseDemand(limit, { count });
    return true;
  } catch {
    return false;
  }
}

/** The key, and the way to the config; limits with the same `identify` share one call of it. */
async function identify(
  limit: HttpLimit,
  ctx: HttpCtx,
  request: Request,
  identified: Map<unknown, Promise<Caller>>,
): Promise<{
  chosen: ChosenKey;
  configOf: (key: string | undefined) => RateLimitDefinition | Promise<RateLimitDefinition>;
}> {
  const { name } = limit;
  if (limit.identify === undefined) {
    const { config } = limit;
    const configOf = (key: string | undefined) =>
      typeof config === "function" ? config({ ctx, request, key }) : config;
    return { chosen: await limit.key.choose(ctx, request), configOf };
  }
  const known = identified.get(limit.identify) ?? Promise.resolve(limit.identify(ctx, request));
  identified.set(limit.identify, known);
  // The types forbid anything else, JavaScript does not.
  const { key, config } = { ...(await known) } as Partial<Caller>;
  if (config === undefined) throw fieldError(name, "identify's config", "a config, or a function of the name", config);
  const configOf = () => (typeof config === "function" ? config(name) : config);
  if (isEnd(key)) return { chosen: atEnd(key), configOf };
  if (typeof key !== "string" || key === "") {
    throw fieldError(name, "identify's key", "a non-empty string, or an end such as deny", key);
  }
  return { chosen: { kind: "key", key: `caller:${await boundedKey(key)}` }, configOf };
}
