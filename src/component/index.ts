/**
 * convex-rate-limits/component: `defineRateLimits` for limits in the component. Definitions and calls, without the engine: what decides is
 * loaded where it runs, in the component.
 */
export type { RateLimitDefinition, RateLimitDefinitions } from "../client/args.js";
export type { RateLimitDecision, RateLimitsOptions } from "../client/settings.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "../client/durations.js";
export { isRateLimitError, type RateLimitErrorData } from "../client/errors.js";
export type { ExposedRateLimit } from "../client/expose.js";
export { hashKey } from "../client/hashKey.js";
export type { InComponent } from "../client/place.js";
export type { RateLimits } from "../client/rateLimits.js";
export type { CancelResult, ScheduleResult } from "../client/schedule.js";
export { projectRateLimit } from "../browser/project.js";
export type { RateLimitAllStatus, RateLimitedJob, RateLimitStatus } from "../wire/answers.js";
export type { RateLimitConfig } from "../wire/configs.js";
export type { RateLimitSnapshot } from "../wire/snapshots.js";

import type { ComponentApi } from "../../convex/_generated/component.js";
import type { RateLimitDefinitions, ThrowChoice } from "../client/args.js";
import { type CalledBucket, type CalledRequest, parseDefinitions } from "../client/definitions.js";
import { functionsOf } from "../client/functions.js";
import { commonFields } from "../client/options.js";
import type { ComponentCalls, InComponent, Place } from "../client/place.js";
import type { KnownFields, RateLimits } from "../client/rateLimits.js";
import type { RateLimitsOptions } from "../client/settings.js";
import { checkField, checkFields, type Fields } from "../engine/fields.js";
import { adjustedField, type AdjustmentArgs } from "../engine/adjustment.js";
import { checkDemand } from "../engine/request.js";
import { checkConfig } from "../engine/kinds/fields.js";
import { show } from "../engine/misuse.js";
import { idOf, inTurn } from "../storage/rows.js";

/**
 * Defines an app's limits, once, and returns the functions that apply them, typed: names autocomplete, a misspelt one does
 * not compile. The limits live in the component, and `ctx` may also be an action's.
 *
 * @throws at module load, so that a deploy fails, when a config is invalid; the error names the limit and the field. A rate that cannot be
 * counted (a third of a token beside a capacity of a million) is refused at the first call.
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
export function defineRateLimits<
  const Limits extends RateLimitDefinitions,
  Default extends ThrowChoice | undefined = false,
  Ctx = InComponent["mutation"],
>(
  limits: Limits & KnownFields<Limits>,
  options: RateLimitsOptions<Ctx, Default> & { component: ComponentApi },
): RateLimits<Limits, InComponent, Default, Ctx>;
export function defineRateLimits(
  limits: RateLimitDefinitions,
  options: RateLimitsOptions & { component: ComponentApi },
): RateLimits<RateLimitDefinitions, InComponent> {
  const definitions = parseDefinitions(limits, (name, { config }) => {
    checkConfig(name, config);
  });
  checkFields("defineRateLimits", "the options", options, optionFields());
  return functionsOf({ definitions, place: inComponent(options.component), options });
}

const optionFields = (): Fields => ({
  ...commonFields(),
  component: { permitted: "a component's api, such as components.rateLimits", holds: isComponent, isRequired: true },
});

/** References are proxies, which have every property. */
function isComponent(value: unknown): boolean {
  const isReference = typeof value === "function" || (typeof value === "object" && value !== null);
  return isReference && Boolean((value as Partial<ComponentApi>).public);
}

/** One hop a call; from a mutation it is a sub-transaction of the caller's. */
function inComponent(api: ComponentApi): Place<InComponent> {
  return {
    component: { api, mutation, query },
    check: ({ name, config }) => {
      checkConfig(name, config);
    },
    consume: async (ctx, request) => await mutation(ctx)(api.public.consume, demandArgs(request)),
    peek: async (ctx, request) => await query(ctx)(api.public.check, demandArgs(request)),
    consumeAll: async (ctx, requests) =>
      await mutation(ctx)(api.public.consumeAll, { requests: requests.map(demandArgs) }),
    peekAll: async (ctx, requests) => await query(ctx)(api.public.checkAll, { requests: requests.map(demandArgs) }),
    adjust: async (ctx, { bucket, ...change }) => await mutation(ctx)(api.public.adjust, adjustArgs(bucket, change)),
    adjustAll: async (ctx, adjustments) =>
      await mutation(ctx)(api.public.adjustAll, {
        adjustments: adjustments.map(({ bucket, renews, ...change }) => ({
          ...adjustArgs(bucket, change),
          ...(renews !== undefined && { renews }),
        })),
      }),
    get: async (ctx, bucket) => await query(ctx)(api.public.get, writtenArgs(bucket)),
    pause: async (ctx, { bucket, until }) => await mutation(ctx)(api.public.pause, { ...bucketArgs(bucket), until }),
    reset: async (ctx, bucket) => await mutation(ctx)(api.public.reset, idOf(bucket)),
    wake: async (ctx, bucket) => await mutation(ctx)(api.queue.wake, idOf(bucket)),
  };
}

function bucketArgs({ name, key, config, definition, overrides, plan }: CalledBucket) {
  // The component's validators only know types; this error names the limit. A definition has been checked.
  if (!definition) checkConfig(name, config);
  return { ...idOf({ name, key }), config, ...(overrides && { overrides }), ...(plan !== undefined && { plan }) };
}

/** The arguments of a call that may use the plan or config in the bucket's rows. */
function writtenArgs(bucket: CalledBucket) {
  const { plans } = bucket;
  return { ...bucketArgs(bucket), ...(plans && { plans: [...plans] }) };
}

function adjustArgs(bucket: CalledBucket, { count, at, takenAt }: AdjustmentArgs) {
  checkField(bucket.name, "count", adjustedField, count);
  return {
    ...writtenArgs(bucket),
    count,
    ...(at !== undefined && { at }),
    ...(takenAt !== undefined && { takenAt }),
  };
}

function demandArgs({ bucket, asked }: CalledRequest) {
  checkDemand(bucket.name, asked);
  const { count, reserve, atLeast, shadow, refundable, renews } = asked;
  return {
    ...bucketArgs(bucket),
    ...(count !== undefined && { count }),
    ...(reserve !== undefined && { reserve }),
    ...(atLeast !== undefined && { atLeast }),
    ...(shadow && { shadow }),
    ...(refundable && { refundable }),
    ...(renews && { renews }),
  };
}

const mutation: ComponentCalls["mutation"] = (ctx) => {
  checkCaller(ctx, "runMutation", "a mutation or action");
  return (...call) => inOrder(ctx, () => ctx.runMutation(...call));
};

const query: ComponentCalls["query"] = (ctx) => {
  checkCaller(ctx, "runQuery", "a query, mutation or action");
  return (...call) => inOrder(ctx, () => ctx.runQuery(...call));
};

/**
 * In a mutation the calls take turns, among themselves and with what cancelling writes in the caller's own database: each sees what
 * those before it have written. An action has no database, and a query writes nothing.
 */
function inOrder<Result>(ctx: object, call: () => Promise<Result>): Promise<Result> {
  return "db" in ctx && "runMutation" in ctx ? inTurn(ctx, call) : call();
}

function checkCaller(ctx: unknown, method: string, whose: string): void {
  if (typeof ctx === "object" && ctx !== null && typeof (ctx as Record<string, unknown>)[method] === "function") return;
  throw new Error(`Rate limits in the component need the ctx of ${whose}, got ${show(ctx)} without ${method}.`);
}
