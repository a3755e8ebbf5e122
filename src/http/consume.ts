/** The seam between the wrapper and the limits: who takes the tokens, and where. */
import type { ComponentApi } from "../../convex/_generated/component.js";
import { type Infer, v } from "convex/values";
import { defineRateLimits } from "../client/defineRateLimits.js";
import { vRateLimitConfig } from "../configs.js";
import { type RateLimitStatus } from "../validators.js";
import type { HttpCtx } from "./ctx.js";

/** The validator of a {@link LimitRequest}, for the arguments of a mutation of your own. */
export const vLimitRequest = v.object({
  name: v.string(),
  key: v.optional(v.string()),
  count: v.number(),
  config: vRateLimitConfig,
});

/** What the wrapper asks of one limit. */
export type LimitRequest = Infer<typeof vLimitRequest>;

/**
 * Takes the tokens of all the requests or, when one of them is denied, none; gives the statuses in the order of the requests.
 * All of it must be one transaction: one call of one mutation.
 */
export type Consume = (
  ctx: HttpCtx,
  requests: LimitRequest[],
) => Promise<{ readonly statuses: readonly RateLimitStatus[] }>;

/**
 * Home B: takes the tokens in the component, in one call.
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
  const { rateLimitAll } = defineRateLimits({}, { component });
  return (ctx, requests) => rateLimitAll(ctx, requests);
}
