/** `defineRateLimits`: look up the limit, ask its home, throw if asked. */
import type { OptionalRestArgs, SchedulableFunctionReference } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import type { AnyBucketArgs, AnyDemandArgs, RateLimitDefinitions, ThrowsArg } from "./args.js";
import { bundle } from "../engine/bundle.js";
import { type Definitions, parseDefinitions } from "./definitions.js";
import { checkName } from "../engine/demand.js";
import { badField, misuse, show } from "../engine/misuse.js";
import { rateLimited } from "./errors.js";
import { type AnyExposeArgs, expose } from "./expose.js";
import { componentHome, type ComponentHome, type Home, tablesHome, type TablesHome } from "./places.js";
import { parseList } from "../operations/list.js";
import type { RateLimits } from "./rateLimits.js";
import { type Request, withDemand, withRefund, withUnits } from "../engine/request.js";
import { cancelPending, checkSpread, scheduleReserved } from "./schedule.js";
import { sweepTargets } from "../operations/sweep.js";
import type { FixedWindowConfig, RateLimitAllStatus, RateLimitStatus, TokenBucketConfig } from "../validators.js";

/** The compiler looks for unknown fields in plain types only; this finds them in an inferred one: a `burst` must be never. */
type KnownFields<Limits> = {
  [Name in keyof Limits]: Record<Exclude<keyof Limits[Name], FieldOf<Limits[Name]>>, never>;
};
type FieldOf<Definition> =
  "keyed" | (Definition extends { kind: "fixed window" } ? keyof FixedWindowConfig : keyof TokenBucketConfig);

/**
 * Defines an app's limits, once, and returns the functions that apply them, typed: names autocomplete, a misspelt one does
 * not compile.
 *
 * Without a component the limits live in the app's own `rateLimits` table (see `rateLimitTables`), and `ctx` must be that of
 * a function whose schema has it. With one they live in the component, and `ctx` may also be an action's.
 *
 * @throws at module load, so that a deploy fails, when a config is invalid; the error names the limit and the field.
 * @example
 * ```ts
 * import { defineRateLimits, HOUR, MINUTE } from "convex-rate-limits";
 *
 * export const { rateLimit, checkRateLimit, resetRateLimit } = defineRateLimits({
 *   sendMessage: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 20, keyed: true },
 *   signUp: { kind: "fixed window", rate: 100, period: HOUR },
 * });
 * ```
 */
export function defineRateLimits<const Limits extends RateLimitDefinitions>(
  limits: Limits & KnownFields<Limits>,
  options: { component: ComponentApi },
): RateLimits<Limits, ComponentHome>;
export function defineRateLimits<const Limits extends RateLimitDefinitions>(
  limits: Limits & KnownFields<Limits>,
  options?: { component?: undefined },
): RateLimits<Limits, TablesHome>;
export function defineRateLimits(
  limits: RateLimitDefinitions,
  { component }: { component?: ComponentApi | undefined } = {},
): RateLimits<RateLimitDefinitions, TablesHome> | RateLimits<RateLimitDefinitions, ComponentHome> {
  const definitions = parseDefinitions(limits);
  return component ? limitsIn(componentHome(component), definitions) : limitsIn(tablesHome, definitions);
}

function limitsIn<Contexts extends TablesHome | ComponentHome>(
  home: Home<Contexts>,
  { limits, lookUp }: Definitions,
): RateLimits<RateLimitDefinitions, Contexts> {
  const parse = (args: AnyDemandArgs): Request => withDemand(lookUp(args), args);
  const parseAll = (list: readonly AnyDemandArgs[]) => {
    // The types forbid anything else, JavaScript does not.
    const given: unknown = list;
    if (!Array.isArray(given)) throw new Error(`Several rate limits must be an array of requests, got ${show(given)}.`);
    return bundle(list.map(parse));
  };
  return {
    rateLimit: async (ctx, args: AnyDemandArgs & ThrowsArg) => {
      const request = parse(args);
      return orThrow(request, checkThrows(args, args.name), await home.consume(ctx, request));
    },
    checkRateLimit: async (ctx, args: AnyDemandArgs & ThrowsArg) => {
      const request = parse(args);
      return orThrow(request, checkThrows(args, args.name), await home.check(ctx, request));
    },
    rateLimitAll: async (ctx, list: readonly AnyDemandArgs[], options: ThrowsArg = {}) => {
      const requested = parseAll(list);
      return allOrThrow(
        requested.requests,
        checkThrows(options, "rateLimitAll"),
        await home.consumeAll(ctx, requested),
      );
    },
    checkRateLimitAll: async (ctx, list: readonly AnyDemandArgs[], options: ThrowsArg = {}) => {
      const requested = parseAll(list);
      return allOrThrow(
        requested.requests,
        checkThrows(options, "checkRateLimitAll"),
        await home.checkAll(ctx, requested),
      );
    },
    adjustRateLimit: async (ctx, args: AnyBucketArgs & { count: number }) =>
      await home.adjust(ctx, withUnits(lookUp(args), args.count)),
    resetRateLimit: async (ctx, args: AnyBucketArgs) => {
      const { limit, key } = lookUp(args);
      return await home.reset(ctx, { name: limit.name, key });
    },
    getRateLimit: async (ctx, args: AnyBucketArgs) => await home.get(ctx, lookUp(args)),
    exposeRateLimit: (name: string, args: AnyExposeArgs) =>
      expose(name, args, { check: lookUp, get: (ctx, bucket) => home.get(ctx, lookUp(bucket)) }),
    scheduleRateLimited: async <Fn extends SchedulableFunctionReference>(
      ctx: Parameters<typeof scheduleReserved>[0] & Contexts["mutation"],
      { name, key, config, count = 1, spread = 0 }: AnyBucketArgs & { count?: number; spread?: number },
      fn: Fn,
      ...fnArgs: OptionalRestArgs<Fn>
    ) => {
      // The handle is stored in documents: only its own fields, and none that is undefined.
      const reserved = {
        name,
        count,
        ...(key === undefined ? {} : { key }),
        ...(config === undefined ? {} : { config }),
      };
      const request = parse({ ...reserved, reserve: true });
      checkSpread(name, spread);
      const status = await home.consume(ctx, request);
      return await scheduleReserved(ctx, status, { ...reserved, spread }, fn, fnArgs);
    },
    cancelRateLimited: async (ctx, job) => {
      const refund = withRefund(lookUp(job), job.count);
      const result = await cancelPending(ctx, job);
      if (result.canceled) await home.adjust(ctx, refund);
      return result;
    },
    listRateLimits: async (ctx, args) => {
      checkName(args.name);
      const limit = limits.get(args.name);
      if (!limit) throw misuse(args.name, "is not defined, so its keys cannot be listed.");
      return await home.list(ctx, parseList(limit, args));
    },
    sweepRateLimits: async (ctx, options) => await home.sweep(ctx, sweepTargets(limits, options.configs), options),
  };
}

function checkThrows({ throws }: ThrowsArg, name: string): boolean {
  const given: unknown = throws;
  if (given === undefined || typeof given === "boolean") return given ?? false;
  throw badField(name, "throws", "true or false", given);
}

function orThrow({ limit, key }: Request, throws: boolean, status: RateLimitStatus): RateLimitStatus {
  if (throws && !status.ok) throw rateLimited(limit.name, key, status.retryAt);
  return status;
}

/** Of several denials the one that takes longest is thrown: it is the one to wait for. */
function allOrThrow(requests: readonly Request[], throws: boolean, all: RateLimitAllStatus): RateLimitAllStatus {
  requests.forEach((request, i) => {
    const own = all.statuses[i];
    if (own?.retryAt === all.retryAt && own !== undefined) orThrow(request, throws, own);
  });
  return all;
}
