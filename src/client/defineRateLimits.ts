/** `defineRateLimits`: the definitions are parsed, and the functions that apply them returned. */
import type { ComponentApi } from "../../convex/_generated/component.js";
import type { FixedWindowConfig, SlidingWindowConfig, TokenBucketConfig } from "../configs.js";
import { booleanField, checkFields, type Fields } from "../engine/fields.js";
import type { RateLimitDefinition, RateLimitDefinitions, ThrowChoice } from "./args.js";
import { parseDefinitions, THROWS_FIELDS } from "./definitions.js";
import { functionsIn } from "./functions.js";
import { inComponent, type InComponent, inTables, type InTables } from "./places.js";
import type { RateLimits, RateLimitsOptions } from "./rateLimits.js";

/** The compiler looks for unknown fields in plain types only; this finds them in an inferred one: a `burst` must be never. */
type KnownFields<Limits> = {
  [Name in keyof Limits]: RateLimitDefinition & Record<Exclude<keyof Limits[Name], FieldOf<Limits[Name]>>, never>;
};
type FieldOf<Definition> =
  | "keyed"
  | "throws"
  | "mode"
  | "queue"
  | (Definition extends { kind: infer Kind }
      ? keyof Extract<TokenBucketConfig | FixedWindowConfig | SlidingWindowConfig, { kind: Kind }>
      : never);

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
 * export const { rateLimit, checkRateLimit, resetRateLimit } = defineRateLimits(
 *   {
 *     sendMessage: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 20, keyed: true },
 *     signUp: { kind: "fixed window", rate: 100, period: HOUR },
 *   },
 *   { throws: true },
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
export function defineRateLimits<
  const Limits extends RateLimitDefinitions,
  Default extends ThrowChoice | undefined = false,
  Ctx = InTables["mutation"],
>(
  limits: Limits & KnownFields<Limits>,
  options?: RateLimitsOptions<Ctx, Default> & { component?: undefined },
): RateLimits<Limits, InTables, Default, Ctx>;
export function defineRateLimits(
  limits: RateLimitDefinitions,
  options: RateLimitsOptions & { component?: ComponentApi | undefined } = {},
): RateLimits<RateLimitDefinitions, InTables> | RateLimits<RateLimitDefinitions, InComponent> {
  const definitions = parseDefinitions(limits);
  checkFields("defineRateLimits", "the options", options, OPTION_FIELDS);
  const { component } = options;
  return component
    ? functionsIn(inComponent(component), definitions, options)
    : functionsIn(inTables, definitions, options);
}

const OPTION_FIELDS: Fields = {
  component: { permitted: "a component's api, such as components.rateLimits", holds: isComponent },
  errorKeys: booleanField,
  ...THROWS_FIELDS,
  onDecision: { permitted: "a function of ctx and a decision", holds: (value) => typeof value === "function" },
  queueModule: { permitted: 'the path of a module of yours, such as "limits"', holds: isModulePath },
};

function isModulePath(value: unknown): boolean {
  return typeof value === "string" && /^\w[\w/-]*$/.test(value);
}

/** References are proxies: whatever is read of them is there. */
function isComponent(value: unknown): boolean {
  const isReference = typeof value === "function" || (typeof value === "object" && value !== null);
  return isReference && Boolean((value as Partial<ComponentApi>).public);
}
