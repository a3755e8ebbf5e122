/** `defineRateLimits`: look up the limit, ask its home, throw if asked. */
import type { GenericDataModel } from "convex/server";
import type { ComponentApi } from "../convex/_generated/component.js";
import { checkName } from "./engine/demand.js";
import { parseLimit } from "./engine/limit.js";
import { badField, misuse } from "./engine/misuse.js";
import type { Limit } from "./engine/types.js";
import { rateLimited } from "./errors.js";
import { expose, type AnyExposeArgs, type ExposeArgs, type ExposedRateLimit } from "./expose.js";
import { componentHome, type ComponentHome, type Home, tablesHome, type TablesHome } from "./home.js";
import { parsePlace, placeAt, type Place, withDemand } from "./request.js";
import type { RateLimitConfig, RateLimitSnapshot, RateLimitStatus } from "./validators.js";

/**
 * A limit as `defineRateLimits` takes it: a config, and whether it has one bucket per key. With `keyed: true` every call must
 * give a key, with `keyed: false` none may; without it both are allowed.
 */
export type RateLimitDefinition = RateLimitConfig & { keyed?: boolean };
export type RateLimitDefinitions = Record<string, RateLimitDefinition>;

/** The names that autocomplete; any other string is a limit defined inline. */
type NameIn<Limits> = (keyof Limits & string) | (string & {});

/** One bucket of a limit. A limit that was not defined needs a config; a defined one may be given another (plans, tiers). */
export type BucketArgs<Limits, Name> = { name: Name } & (Name extends keyof Limits
  ? KeyArg<Limits[Name]> & { config?: RateLimitConfig }
  : { key?: string | undefined; config: RateLimitConfig });

type KeyArg<Definition> = Definition extends { keyed: true }
  ? { key: string }
  : Definition extends { keyed: false }
    ? { key?: undefined }
    : { key?: string | undefined };

/** One bucket, and what is asked of it. */
export type RateLimitArgs<Limits, Name> = BucketArgs<Limits, Name> & {
  /** Tokens to take: a finite number of at least 0, default 1. */
  count?: number;
  /** Whether the tokens may be taken from the future, up to `maxReserved`: then the work has to wait until `retryAt`. */
  reserve?: boolean;
  /** Whether a denial is thrown as a `ConvexError` (see `isRateLimitError`) instead of returned. */
  throws?: boolean;
};

/**
 * The functions of a set of limits. All of them throw a plain `Error` on misuse (an unknown name, a missing key, a count that
 * can never be served, a value out of range), naming the limit, the field and what is permitted, before anything is read.
 */
export interface RateLimits<Limits, Contexts extends TablesHome | ComponentHome> {
  /** Takes `count` tokens, or says when they will be there. A denial writes nothing. Give it a mutation's ctx. */
  rateLimit: <Name extends NameIn<Limits>>(
    ctx: Contexts["mutation"],
    args: RateLimitArgs<Limits, Name>,
  ) => Promise<RateLimitStatus>;
  /** The same decision as `rateLimit` would make now, taking nothing; for queries too. */
  checkRateLimit: <Name extends NameIn<Limits>>(
    ctx: Contexts["query"],
    args: RateLimitArgs<Limits, Name>,
  ) => Promise<RateLimitStatus>;
  /** Forgets the bucket: it is full again. For failed logins, on success. */
  resetRateLimit: <Name extends NameIn<Limits>>(
    ctx: Contexts["mutation"],
    args: BucketArgs<Limits, Name>,
  ) => Promise<null>;
  /** The bucket's state, whatever the clock says; for live queries, with `projectRateLimit` in the client. */
  getRateLimit: <Name extends NameIn<Limits>>(
    ctx: Contexts["query"],
    args: BucketArgs<Limits, Name>,
  ) => Promise<RateLimitSnapshot>;
  /**
   * Public functions for the React hook `useRateLimit`: export them from a module. `key` is the server's function from ctx (and
   * the client's wish) to the key; a client can choose neither name nor config nor shards.
   */
  exposeRateLimit: <Name extends NameIn<Limits>, DataModel extends GenericDataModel = GenericDataModel>(
    name: Name,
    args: ExposeArgs<Limits, Name, DataModel>,
  ) => ExposedRateLimit;
}

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
  limits: Limits,
  options?: { component?: undefined },
): RateLimits<Limits, TablesHome>;
export function defineRateLimits<const Limits extends RateLimitDefinitions>(
  limits: Limits,
  options: { component: ComponentApi },
): RateLimits<Limits, ComponentHome>;
export function defineRateLimits(
  limits: RateLimitDefinitions,
  { component }: { component?: ComponentApi | undefined } = {},
): RateLimits<RateLimitDefinitions, TablesHome> | RateLimits<RateLimitDefinitions, ComponentHome> {
  const lookUp = definePlaces(limits);
  return component ? limitsIn(componentHome(component), lookUp) : limitsIn(tablesHome, lookUp);
}

/** What every call says of its bucket, whatever the types promised. */
interface AnyBucketArgs {
  name: string;
  key?: string | undefined;
  config?: RateLimitConfig;
}
type AnyArgs = AnyBucketArgs & { count?: number; reserve?: boolean; throws?: boolean };

function limitsIn<Contexts extends TablesHome | ComponentHome>(
  home: Home<Contexts>,
  lookUp: (args: AnyBucketArgs) => Place,
): RateLimits<RateLimitDefinitions, Contexts> {
  return {
    rateLimit: async (ctx, args: AnyArgs) => orThrow(args, await home.consume(ctx, withDemand(lookUp(args), args))),
    checkRateLimit: async (ctx, args: AnyArgs) => orThrow(args, await home.check(ctx, withDemand(lookUp(args), args))),
    resetRateLimit: async (ctx, args: AnyBucketArgs) => {
      const { limit, key } = lookUp(args);
      return await home.reset(ctx, { name: limit.name, key });
    },
    getRateLimit: async (ctx, args: AnyBucketArgs) => await home.get(ctx, lookUp(args)),
    exposeRateLimit: (name: string, args: AnyExposeArgs) =>
      expose(name, args, { check: lookUp, get: (ctx, bucket) => home.get(ctx, lookUp(bucket)) }),
  };
}

function orThrow({ name, key, throws }: AnyArgs, status: RateLimitStatus): RateLimitStatus {
  if (throws && !status.ok) throw rateLimited(name, key, status.retryAt);
  return status;
}

/** Parses every definition now, and returns the function that finds a call's bucket among them. */
function definePlaces(limits: RateLimitDefinitions): (args: AnyBucketArgs) => Place {
  const defined = new Map<string, { keyed: boolean | undefined; limit: Limit }>();
  for (const [name, { keyed, ...config }] of Object.entries(limits)) {
    if (keyed !== undefined && typeof keyed !== "boolean") throw badField(name, "keyed", "true or false", keyed);
    defined.set(name, { keyed, limit: parseLimit(name, config) });
  }
  return (args) => {
    const { name, key, config } = args;
    checkName(name);
    const definition = defined.get(name);
    if (definition?.keyed === true && key === undefined) {
      throw misuse(name, "is keyed, so key must be a non-empty string, got undefined.");
    }
    if (definition?.keyed === false && key !== undefined) {
      throw misuse(name, `has one bucket for all (keyed: false), so key must be left out, got ${JSON.stringify(key)}.`);
    }
    if (config !== undefined) return parsePlace({ name, key, config });
    if (definition) return placeAt(definition.limit, key);
    throw misuse(name, `is not defined (${[...defined.keys()].join(", ")}), so it needs a config.`);
  };
}
