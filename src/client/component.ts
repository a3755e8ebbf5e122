/**
 * convex-rate-limits/component: definitions and calls of limits in the component. The engine that decides is loaded
 * there only.
 */
export * from "./entry.js";
export type { InComponent } from "./place.js";

import type { ComponentApi } from "../../convex/_generated/component.js";
import type { CheckedDefinitions, DraftDefinitions, RateLimitsOptions, ThrowChoice } from "./definitionTypes.js";
import { parseDefinitions } from "./definitions.js";
import { functionsOf } from "./functions.js";
import { checkOptions } from "./options.js";
import type { ComponentCalls, InComponent, Place } from "./place.js";
import type { RateLimits } from "./rateLimits.js";
import { isObjectOrFunction } from "../engine/fields.js";
import { type BucketArgs, checkSlot, type RequestArgs } from "../engine/request.js";
import { checkConfig } from "../engine/kinds/fields.js";
import { checkCtx } from "../engine/misuse.js";
import { idOf, inTurn, withDb } from "../storage/rows.js";
import { present } from "../wire/present.js";

/**
 * Defines an app's limits, once, and returns the functions that apply them, typed: names autocomplete, a misspelt one
 * does not compile. The limits live in the component, and `ctx` may also be an action's.
 *
 * @throws at module load, so that a deploy fails, when a config is invalid; the error names the limit and the field. A
 * window's rate that cannot be counted (a third of a token beside a capacity of a million) is refused at the first
 * call.
 * @example
 * ```ts
 * import { defineRateLimits } from "convex-rate-limits/component";
 * import { components } from "./_generated/api";
 *
 * export const { rateLimit, checkRateLimit, resetRateLimit } = defineRateLimits(
 *   { sendMessage: { kind: "token bucket", rate: 10, period: 60_000, capacity: 20, keyed: true } },
 *   { component: components.rateLimits, throws: true },
 * );
 * ```
 */
export function defineRateLimits<const Limits extends DraftDefinitions, Default extends ThrowChoice = false>(
  limits: CheckedDefinitions<Limits>,
  options: RateLimitsOptions<Default> & { component: ComponentApi },
): RateLimits<Limits, InComponent, Default> {
  const definitions = parseDefinitions(limits, (name, { config }) => {
    checkConfig(name, config);
  });
  // Most options are the component alone: a run then makes no table of fields.
  const isAlone = isComponent((options as typeof options | undefined)?.component) && Object.keys(options).length === 1;
  const permitted = "a component's api, such as components.rateLimits";
  if (!isAlone) checkOptions(options, { component: { permitted, holds: isComponent, isRequired: true } });
  return functionsOf({ definitions, place: inComponent(options.component), options }) as never;
}

/** References are proxies, which have every property. */
function isComponent(value: unknown): boolean {
  return isObjectOrFunction(value) && Boolean((value as Partial<ComponentApi>).public);
}

/** One hop a call; from a mutation it is a sub-transaction of the caller's. */
function inComponent(api: ComponentApi): Place {
  return {
    component: { api, mutation, query },
    consume: (ctx, request) => mutation(ctx, api.public.consume, asking(request)),
    peek: (ctx, request) => query(ctx, api.public.check, asking(request)),
    consumeAll: (ctx, requests) => mutation(ctx, api.public.consumeAll, { requests: requests.map(asking) }),
    peekAll: (ctx, requests) => query(ctx, api.public.checkAll, { requests: requests.map(asking) }),
    adjust: (ctx, all) => mutation(ctx, api.upkeep.adjust, { adjustments: all.map(sent) }),
    release: (ctx, lease) => mutation(ctx, api.upkeep.release, lease),
    get: (ctx, bucket) => query(ctx, api.snapshots.get, sent(bucket)),
    pause: (ctx, pausing) => mutation(ctx, api.upkeep.pause, pausing),
    reset: (ctx, bucket) => mutation(ctx, api.upkeep.reset, idOf(bucket)),
    wake: (ctx, { key }, terms) => mutation(ctx, api.queue.wake, present({ terms, key })),
  };
}

/** A request as it is sent: with the config of a term, but not the term itself. The app itself throws. */
function sent<Asked extends BucketArgs>(asked: Asked) {
  return present({ ...asked, term: undefined, throws: undefined });
}

/** The component checks it again, and its errors would not say where the app has called. */
function asking(request: RequestArgs) {
  if ("lease" in request.config) checkSlot(request.name, request);
  return sent(request);
}

const NEED = "Rate limits in the component need the ctx of a";

const mutation: ComponentCalls["mutation"] = (ctx, ...call) => {
  checkCtx(ctx, "runMutation", `${NEED} mutation or action`);
  return inOrder(ctx, () => ctx.runMutation(...call));
};

const query: ComponentCalls["query"] = (ctx, ...call) => {
  checkCtx(ctx, "runQuery", `${NEED} query, mutation or action`);
  return inOrder(ctx, () => ctx.runQuery(...call));
};

/**
 * In a mutation the calls take turns, among themselves and with what cancelling writes in the caller's own database:
 * each sees what those before it have written. An action has no database, and a query writes nothing.
 */
function inOrder<Result>(ctx: object, call: () => Promise<Result>): Promise<Result> {
  return "db" in ctx && "runMutation" in ctx ? inTurn(withDb(ctx), call) : call();
}
