/** The functions in their free form: the config comes with the call, and so may the component. */
import type { GenericDataModel } from "convex/server";
import type { ComponentApi } from "../convex/_generated/component.js";
import { type BucketArgs, defineRateLimits, type RateLimitArgs, type RateLimits } from "./client.js";
import type { ExposeArgs, ExposedRateLimit } from "./expose.js";
import { componentHome, type ComponentHome, type Home, tablesHome, type TablesHome } from "./home.js";
import type { RateLimitSnapshot, RateLimitStatus } from "./validators.js";

type InlineBucket = BucketArgs<object, string>;
type InlineArgs = RateLimitArgs<object, string>;
/** With a component the limit lives there, without one in the app's own tables. */
type InComponent = { component: ComponentApi };
type AnyHome = { component?: ComponentApi | undefined };
type AnyContexts = TablesHome & ComponentHome;
type Some<Kind extends "query" | "mutation"> = TablesHome[Kind] | ComponentHome[Kind];
/** The overloads have paired the context with the home, so it may pass for one that fits both. */
type Both<Kind extends "query" | "mutation"> = AnyContexts[Kind];

/** `rateLimit` of `defineRateLimits`, with the config (and the component) in the call. */
export function rateLimit(ctx: TablesHome["mutation"], args: InlineArgs): Promise<RateLimitStatus>;
export function rateLimit(ctx: ComponentHome["mutation"], args: InlineArgs & InComponent): Promise<RateLimitStatus>;
export function rateLimit(ctx: Some<"mutation">, args: InlineArgs & AnyHome): Promise<RateLimitStatus> {
  return limitsAt(args).rateLimit(ctx as Both<"mutation">, args);
}

/** `checkRateLimit` of `defineRateLimits`, with the config (and the component) in the call. */
export function checkRateLimit(ctx: TablesHome["query"], args: InlineArgs): Promise<RateLimitStatus>;
export function checkRateLimit(ctx: ComponentHome["query"], args: InlineArgs & InComponent): Promise<RateLimitStatus>;
export function checkRateLimit(ctx: Some<"query">, args: InlineArgs & AnyHome): Promise<RateLimitStatus> {
  return limitsAt(args).checkRateLimit(ctx as Both<"query">, args);
}

/** `getRateLimit` of `defineRateLimits`, with the config (and the component) in the call. */
export function getRateLimit(ctx: TablesHome["query"], args: InlineBucket): Promise<RateLimitSnapshot>;
export function getRateLimit(ctx: ComponentHome["query"], args: InlineBucket & InComponent): Promise<RateLimitSnapshot>;
export function getRateLimit(ctx: Some<"query">, args: InlineBucket & AnyHome): Promise<RateLimitSnapshot> {
  return limitsAt(args).getRateLimit(ctx as Both<"query">, args);
}

/** `resetRateLimit` of `defineRateLimits`, for any name: it needs no config. */
export function resetRateLimit(ctx: TablesHome["mutation"], bucket: Omit<InlineBucket, "config">): Promise<null>;
export function resetRateLimit(
  ctx: ComponentHome["mutation"],
  bucket: Omit<InlineBucket, "config"> & InComponent,
): Promise<null>;
export function resetRateLimit(
  ctx: Some<"mutation">,
  { component, ...bucket }: Omit<InlineBucket, "config"> & AnyHome,
): Promise<null> {
  const home: Home<AnyContexts> = component ? componentHome(component) : tablesHome;
  return home.reset(ctx as Both<"mutation">, bucket);
}

/** `exposeRateLimit` of `defineRateLimits`, with the config (and the component) in the call. */
export function exposeRateLimit<DataModel extends GenericDataModel = GenericDataModel>(
  name: string,
  { component, ...args }: ExposeArgs<object, string, DataModel> & AnyHome,
): ExposedRateLimit {
  return limitsAt({ component }).exposeRateLimit<string, DataModel>(name, args);
}

/** The functions of a set without definitions: every call brings its config. */
function limitsAt({ component }: AnyHome): RateLimits<object, AnyContexts> {
  return component ? defineRateLimits({}, { component }) : inTables;
}

const inTables = defineRateLimits({});
