/** The functions in their free form: the config comes with the call, and so may the component. */
import type { GenericDataModel, OptionalRestArgs, SchedulableFunctionReference } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import type { AdjustArgs, BucketArgs, DemandArgs, ListArgs, RateLimitArgs, ScheduleArgs, ThrowsArg } from "./args.js";
import { defineRateLimits } from "./defineRateLimits.js";
import type { ExposeArgs, ExposedRateLimit } from "./expose.js";
import { componentHome, type ComponentHome, type Home, tablesHome, type TablesHome } from "./places.js";
import type { RateLimits } from "./rateLimits.js";
import type { CancellingCtx, CancelResult, ScheduleResult, SchedulingCtx } from "./schedule.js";
import type {
  RateLimitAllStatus,
  RateLimitConfig,
  RateLimitedJob,
  RateLimitPage,
  RateLimitSnapshot,
  RateLimitStatus,
} from "../validators.js";

type InlineBucket = BucketArgs<object, string>;
type InlineArgs = RateLimitArgs<object, string>;
type InlineDemand = DemandArgs<object, string>;
/** With a component the limit lives there, without one in the app's own tables. */
type InComponent = { component: ComponentApi };
type AnyHome = { component?: ComponentApi };
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

/** `rateLimitAll` of `defineRateLimits`, with the configs (and the component) in the call. */
export function rateLimitAll(
  ctx: TablesHome["mutation"],
  requests: readonly InlineDemand[],
  options?: ThrowsArg,
): Promise<RateLimitAllStatus>;
export function rateLimitAll(
  ctx: ComponentHome["mutation"],
  requests: readonly InlineDemand[],
  options: ThrowsArg & InComponent,
): Promise<RateLimitAllStatus>;
export function rateLimitAll(
  ctx: Some<"mutation">,
  requests: readonly InlineDemand[],
  options: ThrowsArg & AnyHome = {},
): Promise<RateLimitAllStatus> {
  return limitsAt(options).rateLimitAll(ctx as Both<"mutation">, requests, options);
}

/** `checkRateLimitAll` of `defineRateLimits`, with the configs (and the component) in the call. */
export function checkRateLimitAll(
  ctx: TablesHome["query"],
  requests: readonly InlineDemand[],
  options?: ThrowsArg,
): Promise<RateLimitAllStatus>;
export function checkRateLimitAll(
  ctx: ComponentHome["query"],
  requests: readonly InlineDemand[],
  options: ThrowsArg & InComponent,
): Promise<RateLimitAllStatus>;
export function checkRateLimitAll(
  ctx: Some<"query">,
  requests: readonly InlineDemand[],
  options: ThrowsArg & AnyHome = {},
): Promise<RateLimitAllStatus> {
  return limitsAt(options).checkRateLimitAll(ctx as Both<"query">, requests, options);
}

type InlineAdjust = AdjustArgs<object, string>;

/** `adjustRateLimit` of `defineRateLimits`, with the config (and the component) in the call. */
export function adjustRateLimit(ctx: TablesHome["mutation"], args: InlineAdjust): Promise<RateLimitStatus>;
export function adjustRateLimit(
  ctx: ComponentHome["mutation"],
  args: InlineAdjust & InComponent,
): Promise<RateLimitStatus>;
export function adjustRateLimit(ctx: Some<"mutation">, args: InlineAdjust & AnyHome): Promise<RateLimitStatus> {
  return limitsAt(args).adjustRateLimit(ctx as Both<"mutation">, args);
}

/** `getRateLimit` of `defineRateLimits`, with the config (and the component) in the call. */
export function getRateLimit(ctx: TablesHome["query"], args: InlineBucket): Promise<RateLimitSnapshot>;
export function getRateLimit(ctx: ComponentHome["query"], args: InlineBucket & InComponent): Promise<RateLimitSnapshot>;
export function getRateLimit(ctx: Some<"query">, args: InlineBucket & AnyHome): Promise<RateLimitSnapshot> {
  return limitsAt(args).getRateLimit(ctx as Both<"query">, args);
}

/** `exposeRateLimit` of `defineRateLimits`, with the config (and the component) in the call. */
export function exposeRateLimit<DataModel extends GenericDataModel = GenericDataModel>(
  name: string,
  { component, ...args }: ExposeArgs<object, string, DataModel> & AnyHome,
): ExposedRateLimit {
  return limitsAt(component ? { component } : {}).exposeRateLimit<string, DataModel>(name, args);
}

type BucketName = Omit<InlineBucket, "config">;

/** `resetRateLimit` of `defineRateLimits`, for any name: it needs no config. */
export function resetRateLimit(ctx: TablesHome["mutation"], bucket: BucketName): Promise<null>;
export function resetRateLimit(ctx: ComponentHome["mutation"], bucket: BucketName & InComponent): Promise<null>;
export function resetRateLimit(ctx: Some<"mutation">, { component, ...bucket }: BucketName & AnyHome): Promise<null> {
  const home: Home<AnyContexts> = component ? componentHome(component) : tablesHome;
  return home.reset(ctx as Both<"mutation">, bucket);
}

type InlineSchedule = ScheduleArgs<object, string>;

/** `scheduleRateLimited` of `defineRateLimits`, with the config (and the component) in the call. */
export function scheduleRateLimited<Fn extends SchedulableFunctionReference>(
  ctx: TablesHome["mutation"] & SchedulingCtx,
  args: InlineSchedule,
  fn: Fn,
  ...fnArgs: OptionalRestArgs<Fn>
): Promise<ScheduleResult>;
export function scheduleRateLimited<Fn extends SchedulableFunctionReference>(
  ctx: ComponentHome["mutation"] & SchedulingCtx,
  args: InlineSchedule & InComponent,
  fn: Fn,
  ...fnArgs: OptionalRestArgs<Fn>
): Promise<ScheduleResult>;
export function scheduleRateLimited<Fn extends SchedulableFunctionReference>(
  ctx: Some<"mutation"> & SchedulingCtx,
  { component, ...args }: InlineSchedule & AnyHome,
  fn: Fn,
  ...fnArgs: OptionalRestArgs<Fn>
): Promise<ScheduleResult> {
  const both = ctx as Both<"mutation"> & SchedulingCtx;
  return limitsAt(component ? { component } : {}).scheduleRateLimited(both, args, fn, ...fnArgs);
}

/** `cancelRateLimited` of `defineRateLimits`, for jobs that were scheduled with an inline config. */
export function cancelRateLimited(
  ctx: TablesHome["mutation"] & CancellingCtx,
  job: RateLimitedJob,
): Promise<CancelResult>;
export function cancelRateLimited(
  ctx: ComponentHome["mutation"] & CancellingCtx,
  job: RateLimitedJob,
  options: InComponent,
): Promise<CancelResult>;
export function cancelRateLimited(
  ctx: Some<"mutation"> & CancellingCtx,
  job: RateLimitedJob,
  options: AnyHome = {},
): Promise<CancelResult> {
  return limitsAt(options).cancelRateLimited(ctx as Both<"mutation"> & CancellingCtx, job);
}

type InlineList = ListArgs<string> & { config: RateLimitConfig };

/** `listRateLimits` of `defineRateLimits`, with the config (and the component) in the call. */
export function listRateLimits(ctx: TablesHome["query"], args: InlineList): Promise<RateLimitPage>;
export function listRateLimits(ctx: ComponentHome["query"], args: InlineList & InComponent): Promise<RateLimitPage>;
export function listRateLimits(
  ctx: Some<"query">,
  { component, config, ...args }: InlineList & AnyHome,
): Promise<RateLimitPage> {
  const limits = { [args.name]: config };
  const { listRateLimits: listing }: RateLimits<typeof limits, AnyContexts> = component
    ? defineRateLimits(limits, { component })
    : defineRateLimits(limits);
  return listing(ctx as Both<"query">, args);
}

/** The functions of a set without definitions: every call brings its config. */
function limitsAt({ component }: AnyHome): RateLimits<object, AnyContexts> {
  return component ? defineRateLimits({}, { component }) : inTables;
}

const inTables = defineRateLimits({});
