/** `defineRateLimits`: look up the limit, ask its home, throw if asked. */
import type { OptionalRestArgs, SchedulableFunctionReference } from "convex/server";
import type { ComponentApi } from "../convex/_generated/component.js";
import type { AnyBucketArgs, AnyDemandArgs, RateLimitDefinitions, ThrowsArg } from "./args.js";
import { type Definitions, parseDefinitions } from "./definitions.js";
import { badField, misuse } from "./engine/misuse.js";
import { rateLimited } from "./errors.js";
import { type AnyExposeArgs, expose } from "./expose.js";
import { componentHome, type ComponentHome, type Home, tablesHome, type TablesHome } from "./home.js";
import type { RateLimits, SweepOptions } from "./rateLimits.js";
import { type Request, withDemand, withUnits } from "./request.js";
import { cancelPending, checkSpread, scheduleReserved } from "./schedule.js";
import { parseList } from "./upkeep.js";
import type { FixedWindowConfig, RateLimitAllStatus, RateLimitStatus, TokenBucketConfig } from "./validators.js";

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
      const requests = list.map(parse);
      return allOrThrow(requests, checkThrows(options, "rateLimitAll"), await home.consumeAll(ctx, requests));
    },
    checkRateLimitAll: async (ctx, list: readonly AnyDemandArgs[], options: ThrowsArg = {}) => {
      const requests = list.map(parse);
      return allOrThrow(requests, checkThrows(options, "checkRateLimitAll"), await home.checkAll(ctx, requests));
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
      { spread = 0, ...args }: AnyBucketArgs & { count?: number; spread?: number },
      fn: Fn,
      ...fnArgs: OptionalRestArgs<Fn>
    ) => {
      const { count = 1, ...bucket } = args;
      const request = parse({ ...bucket, count, reserve: true });
      checkSpread(args.name, spread);
      const status = await home.consume(ctx, request);
      return await scheduleReserved(ctx, status, { ...bucket, count, spread }, fn, fnArgs);
    },
    cancelRateLimited: async (ctx, job) => {
      const adjustment = withUnits(lookUp(job), -job.count);
      const result = await cancelPending(ctx, job);
      if (result.canceled) await home.adjust(ctx, adjustment);
      return result;
    },
    listRateLimits: async (ctx, args) => {
      const limit = limits.get(args.name);
      if (!limit) throw misuse(args.name, "is not defined, so its keys cannot be listed.");
      return await home.list(ctx, parseList(limit, args));
    },
    sweepRateLimits: async (ctx, options) => await home.sweep(ctx, sweepTargets(limits, options), options),
  };
}

/** Each limit with all the configs under which a row must be full before it goes. */
function sweepTargets(limits: Definitions["limits"], { configs = {} }: SweepOptions) {
  const names = new Set([...limits.keys(), ...Object.keys(configs)]);
  const own = (name: string) => {
    const limit = limits.get(name);
    return limit ? [limit.config] : [];
  };
  return [...names].map((name) => ({
    name,
    configs: [...own(name), ...(Object.hasOwn(configs, name) ? (configs[name] ?? []) : [])],
  }));
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

function allOrThrow(requests: readonly Request[], throws: boolean, status: RateLimitAllStatus): RateLimitAllStatus {
  if (!throws || status.ok) return status;
  const denied = requests.find(
    (_, i) => status.statuses[i]?.ok === false && status.statuses[i].retryAt === status.retryAt,
  );
  throw rateLimited(denied?.limit.name ?? "", denied?.key, status.retryAt);
}
