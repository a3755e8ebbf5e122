/** `defineRateLimits`: look up the limit, ask its home, throw if asked. */
import type { ComponentApi } from "../convex/_generated/component.js";
import { checkName } from "./engine/demand.js";
import { parseLimit } from "./engine/limit.js";
import { badField, misuse, show } from "./engine/misuse.js";
import type { Limit } from "./engine/types.js";
import { rateLimited } from "./errors.js";
import { componentHome, type ComponentHome, type Home, tablesHome, type TablesHome } from "./home.js";
import { parsePlace, placeAt, type Place, type Request, withDemand } from "./request.js";
import type {
  FixedWindowConfig,
  RateLimitConfig,
  RateLimitSnapshot,
  RateLimitStatus,
  TokenBucketConfig,
} from "./validators.js";

/**
 * A limit as `defineRateLimits` takes it: a config, and whether it has one bucket per key. With `keyed: true` every call must
 * give a key, with `keyed: false` none may; without it both are allowed.
 */
export type RateLimitDefinition = RateLimitConfig & { keyed?: boolean };
export type RateLimitDefinitions = Record<string, RateLimitDefinition>;

/** The compiler looks for unknown fields in plain types only; this finds them in an inferred one: a `burst` must be never. */
type KnownFields<Limits> = {
  [Name in keyof Limits]: Record<Exclude<keyof Limits[Name], FieldOf<Limits[Name]>>, never>;
};
type FieldOf<Definition> =
  "keyed" | (Definition extends { kind: "fixed window" } ? keyof FixedWindowConfig : keyof TokenBucketConfig);

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
  const parse = (args: AnyArgs): Request => {
    const request = withDemand(lookUp(args), args);
    const throws: unknown = args.throws;
    if (throws === undefined || typeof throws === "boolean") return request;
    throw badField(args.name, "throws", "true or false", throws);
  };
  return {
    rateLimit: async (ctx, args: AnyArgs) => orThrow(args, await home.consume(ctx, parse(args))),
    checkRateLimit: async (ctx, args: AnyArgs) => orThrow(args, await home.check(ctx, parse(args))),
    resetRateLimit: async (ctx, args: AnyBucketArgs) => {
      const { limit, key } = lookUp(args);
      return await home.reset(ctx, { name: limit.name, key });
    },
    getRateLimit: async (ctx, args: AnyBucketArgs) => await home.get(ctx, lookUp(args)),
  };
}

function orThrow({ name, key, throws }: AnyArgs, status: RateLimitStatus): RateLimitStatus {
  if (throws && !status.ok) throw rateLimited(name, key, status.retryAt);
  return status;
}

/** Parses every definition now, and returns the function that finds a call's bucket among them. */
function definePlaces(limits: RateLimitDefinitions): (args: AnyBucketArgs) => Place {
  const defined = new Map<string, { keyed: boolean | undefined; limit: Limit }>();
  for (const [name, definition] of Object.entries(limits)) {
    // The types forbid it, JavaScript does not.
    const given: unknown = definition;
    if (typeof given !== "object" || given === null) throw badField(name, "the definition", "an object", given);
    const { keyed, ...config } = definition;
    if (keyed !== undefined && typeof keyed !== "boolean") throw badField(name, "keyed", "true or false", keyed);
    defined.set(name, { keyed, limit: parseLimit(name, config) });
  }
  return (args) => {
    const { name, key, config } = args;
    checkName(name);
    const definition = defined.get(name);
    if (definition?.keyed === true && key === undefined) {
      throw misuse(name, "key must be a non-empty string, got undefined (the limit is keyed: true).");
    }
    if (definition?.keyed === false && key !== undefined) {
      throw misuse(name, `key must be left out, got ${show(key)} (the limit is keyed: false, one bucket for all).`);
    }
    if (config !== undefined) return parsePlace({ name, key, config });
    if (definition) return placeAt(definition.limit, key);
    const known = [...defined.keys()].map(show).join(", ");
    throw misuse(name, `config must be given, since no limit of that name is defined (${known || "none is"}).`);
  };
}
