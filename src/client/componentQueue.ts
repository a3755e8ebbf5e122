/**
 * convex-rate-limits/component/queue: what convex-rate-limits/queue has, for limits in the component alone. The engine
 * and the worker are loaded there only.
 */
export type * from "./queue.js";

import { type DefinedRateLimits, type InComponent, setOf, type TypesOf } from "./place.js";
import { inComponent, queuesOf } from "./queueFunctions.js";
import type { RateLimitQueues } from "./queueTypes.js";

interface ImportRateLimitQueueFromTheQueueEntry {
  readonly "convex-rate-limits/queue": never;
}

/**
 * The functions of the queues of a set of limits in the component: those of its limits that are defined with `queue`.
 *
 * @param limits - what `defineRateLimits` of `convex-rate-limits/component` returned.
 * @throws when they live in the app's own tables.
 * @example
 * ```ts
 * import type { ComponentApi } from "convex-rate-limits/_generated/component";
 * import { defineRateLimits, MINUTE } from "convex-rate-limits/component";
 * import { rateLimitQueue } from "convex-rate-limits/component/queue";
 *
 * declare const component: ComponentApi; // in an app: components.rateLimits of "./_generated/api"
 * const limits = defineRateLimits(
 *   { generate: { kind: "token bucket", rate: 20, period: MINUTE, queue: { priorities: 2 } } },
 *   { component },
 * );
 * export const { enqueueRateLimited, cancelQueued } = rateLimitQueue(limits);
 * ```
 */
export function rateLimitQueue<Set extends DefinedRateLimits>(
  limits: Set & (TypesOf<Set>["contexts"] extends InComponent ? unknown : ImportRateLimitQueueFromTheQueueEntry),
): Omit<
  RateLimitQueues<TypesOf<Set>["limits"], TypesOf<Set>["contexts"], TypesOf<Set>["throws"]>,
  "exposeQueueWorker"
> {
  const set = setOf(limits, "rateLimitQueue");
  const { component } = set.place;
  if (!component) {
    throw new Error("Rate limits in your tables need rateLimitQueue of convex-rate-limits/queue.");
  }
  return queuesOf(set, inComponent(component)) as never;
}
