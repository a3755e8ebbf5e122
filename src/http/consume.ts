/** The seam between the wrapper and the limits: who takes the tokens, and where. */
import type { ComponentApi } from "../../convex/_generated/component.js";
import type { FunctionReference, FunctionVisibility } from "convex/server";
import { type Infer, v } from "convex/values";
import { defineRateLimits } from "../component/index.js";
import { fieldError } from "../engine/misuse.js";
import { configValidator, type RateLimitConfig } from "../wire/configs.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { RateLimitDefinitions } from "../client/args.js";
import type { HttpCtx } from "./ctx.js";

/** The validator of a {@link LimitRequest}, for the arguments of functions of your own. */
export const vLimitRequest = /* @__PURE__ */ v.object({
  name: v.string(),
  key: v.optional(v.string()),
  count: v.number(),
  config: configValidator(),
  mode: v.optional(v.literal("shadow")),
  refundable: v.optional(v.boolean()),
  takenAt: v.optional(v.number()),
});

/**
 * What the wrapper asks of one limit.
 *
 * - `refundable`, `takenAt`: for `rateLimitAll` whether the tokens may come back, for `adjustRateLimit` when they were taken.
 * - `overrides`: the limit is defined with it. `inComponent` then asks for the override at the key. Functions of `inTables` are not
 *   given it: their definitions say so. A `consume` of your own takes it out before `rateLimitAll`, which refuses the field.
 */
export interface LimitRequest extends Omit<Infer<typeof vLimitRequest>, "config"> {
  config: RateLimitConfig;
  overrides?: true;
}

interface Statuses {
  readonly statuses: readonly RateLimitStatus[];
}

/**
 * Takes the tokens of all the requests or, when one of them is denied, none; gives the statuses in the order of the requests.
 * All of it must be one transaction: one call of one mutation.
 */
export interface Consume {
  (ctx: HttpCtx, requests: LimitRequest[]): Promise<Statuses>;
  /** Gives back the tokens of requests that were allowed, and says what is left then; `refund` needs it. */
  readonly giveBack?: (ctx: HttpCtx, requests: LimitRequest[]) => Promise<Statuses>;
  /** What is stored of each request's bucket: for limits whose status has no `remaining`, for t of sliding windows, for overrides. */
  readonly snapshots?: ReadSnapshots;
}

type ReadSnapshots = (ctx: HttpCtx, requests: LimitRequest[]) => Promise<readonly RateLimitSnapshot[]>;

/**
 * In the component: takes the tokens there, in one call.
 *
 * @example
 * ```ts
 * import type { ComponentApi } from "convex-rate-limits/_generated/component";
 * import { type Consume, inComponent } from "convex-rate-limits/http";
 *
 * // In an app: import { components } from "./_generated/api";
 * declare const components: { rateLimits: ComponentApi };
 *
 * export const consume: Consume = inComponent(components.rateLimits);
 * ```
 */
export function inComponent(component: ComponentApi): Consume {
  // The types forbid anything else, JavaScript does not.
  const given: unknown = component;
  if (typeof given !== "object" && typeof given !== "function") {
    throw fieldError("inComponent", "the component", "components.rateLimits", given);
  }
  const defined = (limits: RateLimitDefinitions) => defineRateLimits(limits, { component });
  const plain = defined({});
  /** A call cannot ask for overrides, a definition can. */
  const limitsOf = (requests: readonly LimitRequest[]) => {
    const overridable = requests.filter(({ overrides }) => overrides);
    if (overridable.length === 0) return plain;
    return defined(
      Object.fromEntries(overridable.map(({ name, config, overrides }) => [name, { ...config, overrides }])),
    );
  };
  return Object.assign(
    (ctx: HttpCtx, requests: LimitRequest[]) => limitsOf(requests).rateLimitAll(ctx, requests.map(onWire)),
    {
      giveBack: async (ctx: HttpCtx, requests: LimitRequest[]) => ({
        statuses: await ctx.runMutation(component.public.adjustAll, {
          adjustments: requests.map(({ name, key, config, count, overrides, takenAt }) => ({
            name,
            ...(key !== undefined && { key }),
            config,
            count: -count,
            ...(takenAt !== undefined && { takenAt }),
            ...(overrides && { overrides }),
          })),
        }),
      }),
      snapshots: (ctx: HttpCtx, requests: LimitRequest[]) => {
        const { getRateLimit } = limitsOf(requests);
        return Promise.all(requests.map(({ name, key, config }) => getRateLimit(ctx, { name, key, config })));
      },
    },
  );
}

/** A request as `vLimitRequest` has it. */
function onWire(request: LimitRequest): LimitRequest {
  const wire = { ...request };
  delete wire.overrides;
  return wire;
}

/** A function of the app's own that is told the requests. */
type OnRequests<Kind extends "mutation" | "query", Result> = FunctionReference<
  Kind,
  FunctionVisibility,
  { requests: LimitRequest[] },
  Result
>;

/**
 * In your tables: an HTTP action has no `ctx.db`, so functions of your own take the tokens, give them back and read them.
 *
 * @example
 * ```ts
 * import { makeFunctionReference } from "convex/server"; // in an app: import { internal } from "./_generated/api"
 * import type { RateLimitAllStatus } from "convex-rate-limits/component";
 * import { inTables, type LimitRequest } from "convex-rate-limits/http";
 *
 * const take = makeFunctionReference<"mutation", { requests: LimitRequest[] }, RateLimitAllStatus>("gateway:take");
 *
 * export const consume = inTables({ take });
 * ```
 */
export function inTables({
  take,
  giveBack,
  snapshots,
}: {
  take: OnRequests<"mutation", Statuses>;
  giveBack?: OnRequests<"mutation", Statuses>;
  snapshots?: OnRequests<"query", readonly RateLimitSnapshot[]>;
}): Consume {
  // The types forbid anything else, JavaScript does not.
  const given: unknown = take;
  if (given === undefined) throw fieldError("inTables", "take", "a mutation, such as internal.gateway.take", given);
  const args = (requests: LimitRequest[]) => ({ requests: requests.map(onWire) });
  return Object.assign((ctx: HttpCtx, requests: LimitRequest[]) => ctx.runMutation(take, args(requests)), {
    ...(giveBack && {
      giveBack: (ctx: HttpCtx, requests: LimitRequest[]) => ctx.runMutation(giveBack, args(requests)),
    }),
    ...(snapshots && {
      snapshots: (ctx: HttpCtx, requests: LimitRequest[]) => ctx.runQuery(snapshots, args(requests)),
    }),
  });
}
