/** A limit of the wrapper's options, and one request → what to ask of it. */
import type { RateLimitDefinition } from "../index.js";
import { parseLimit } from "../engine/limit.js";
import { misuseError } from "../engine/misuse.js";
import type { LimitRequest } from "./consume.js";
import { fixed, type HttpCost } from "./costs.js";
import type { HttpCtx } from "./ctx.js";
import type { KeyChoice, KeyEnd } from "./keyChoice.js";
import type { RateLimitConfig } from "../configs.js";
import type { QuotaUnit } from "./quota.js";

/** A limit that a request is held to. */
export interface HttpLimit {
  /** Tells the limit's buckets from those of others, and is what clients see as the policy's name. */
  name: string;
  /** Whose bucket: `firstOf(…)`, or `everyone`. */
  key: KeyChoice;
  /** How the limit behaves, for all requests or by request (plans); `key` is what `key` chose. */
  config:
    | RateLimitDefinition
    | ((call: {
        ctx: HttpCtx;
        request: Request;
        key: string | undefined;
      }) => RateLimitDefinition | Promise<RateLimitDefinition>);
  /** How many tokens the request takes, default `fixed(1)`. */
  cost?: HttpCost;
  /** What a token stands for, when it is not a request. */
  unit?: QuotaUnit;
}

/** What to ask of one limit, or why it need not be asked. */
type Plan =
  | { readonly kind: "ask"; readonly request: LimitRequest; readonly unit: QuotaUnit | undefined }
  | { readonly kind: "refuse"; readonly end: KeyEnd & { kind: "deny" } }
  | { readonly kind: "never"; readonly name: string; readonly count: number; readonly capacity: number };

/** @throws when there is no limit, two have the same name, or a config that is known already is invalid. */
export function checkLimits(limits: readonly HttpLimit[]): void {
  if (limits.length === 0) throw misuseError("limits", "limitHttp needs at least one limit.");
  const names = new Set<string>();
  for (const { name, config } of limits) {
    if (names.has(name)) throw misuseError(name, "is listed twice; clients could not tell the policies apart.");
    names.add(name);
    if (typeof config !== "function") parseLimit(name, withoutKeyed(config));
  }
}

export async function planFor(limit: HttpLimit, ctx: HttpCtx, request: Request): Promise<Plan> {
  const { name, cost = fixed(1), unit } = limit;
  const chosen = await limit.key.choose(ctx, request);
  if (chosen.kind === "deny") return { kind: "refuse", end: chosen };
  const { key } = chosen;
  const config = withoutKeyed(
    typeof limit.config === "function" ? await limit.config({ ctx, request, key }) : limit.config,
  );
  const count = cost(request);
  const { capacity = config.rate } = config;
  if (count > capacity) return { kind: "never", name, count, capacity };
  return { kind: "ask", request: { name, ...(key === undefined ? {} : { key }), count, config }, unit };
}

/** A definition of `defineRateLimits` is a config with one more field, which says nothing here: the key is always chosen. */
function withoutKeyed(definition: RateLimitDefinition): RateLimitConfig {
  const config = { ...definition };
  delete config.keyed;
  return config;
}
