/** The functions that administer limits, as their users see them, and what calls to them say. */
import type { Scheduler } from "convex/server";
import type { ListOptions } from "../operations/list.js";
import type { RateLimitPage, SweepResult } from "../wire/answers.js";
import type { RateLimitOverride } from "../wire/configs.js";
import type { KeyArg, PlanArg } from "./args.js";
import type { InComponent, InTables } from "./place.js";

/** What `listRateLimits` takes. */
export type ListArgs<Name, Definition = unknown> = { name: Name } & ListOptions & Partial<PlanArg<Definition>>;

/** For a limit that is not defined with `overrides: true`, a type that no name has: the compiler shows its name. */
type OverridesNeeded<Definition> = true extends (Definition extends { overrides?: infer Given } ? Given : never)
  ? unknown
  : { name: LimitDefinedWithOverridesTrue };

interface LimitDefinedWithOverridesTrue {
  readonly "define the limit with overrides: true": never;
}

/** The override: exactly one of config, block and unlimited, or a plan of the limit. */
type OverrideWay<Definition> =
  | Only<"config">
  | Only<"block">
  | Only<"unlimited">
  | (Definition extends { plans: object } ? PlanArg<Definition> & Without<Way> : never);
type Way = "config" | "block" | "unlimited";
type Only<Chosen extends Way> = Required<Pick<RateLimitOverride, Chosen>> & Without<Exclude<Way, Chosen>>;
type Without<Fields extends string> = Partial<Record<Fields, undefined>>;

/** The bucket of an override. */
type OverriddenArgs<Limits, Name> = Name extends keyof Limits
  ? { name: Name } & OverridesNeeded<Limits[Name]> & KeyArg<Limits[Name]>
  : never;

/** What `overrideRateLimit` takes. */
type OverrideArgs<Limits, Name> = OverriddenArgs<Limits, Name> &
  OverrideWay<Name extends keyof Limits ? Limits[Name] : never> & {
    [Field in keyof Omit<RateLimitOverride, Way>]: RateLimitOverride[Field] | undefined;
  };

/** Administration of a set of limits. Misuse throws as it does from the functions of `defineRateLimits`. */
export interface RateLimitAdmin<Limits, Contexts extends InTables | InComponent> {
  /**
   * Changes a limit at run time for one key (or for the bucket without one): another config, blocked, or unlimited; until a time,
   * or until it is cleared. Replaces an earlier override of the key. Tokens that were taken stay taken. Only for a limit that is
   * defined with `overrides: true`.
   */
  overrideRateLimit: <Name extends keyof Limits & string>(
    ctx: Contexts["mutation"],
    args: OverrideArgs<Limits, Name>,
  ) => Promise<null>;

  /** The limit's own config applies again. Nothing happens if there is no override. */
  clearRateLimitOverride: <Name extends keyof Limits & string>(
    ctx: Contexts["mutation"],
    args: OverriddenArgs<Limits, Name>,
  ) => Promise<null>;

  /**
   * A page of a limit's keys with what they hold, for admin pages. Only for a defined limit. Each key is shown under the plan or
   * config that it was last asked under, or under the plan that this call names. It reads the
   * clock, so a live query that returns it shows the time at which it last ran.
   */
  listRateLimits: <Name extends keyof Limits & string>(
    ctx: Contexts["query"],
    args: ListArgs<Name, Limits[Name]>,
  ) => Promise<RateLimitPage>;

  /**
   * Deletes rows of buckets that have been full for a minute (of a fixed window, for one window more), since they mean the same as no row,
   * and overrides that have ended. Looks at a batch of about 512 rows now, and schedules the next one. Returns what this batch did. For a
   * daily cron.
   */
  sweepRateLimits: (
    ctx: Contexts["mutation"] & { scheduler: Scheduler },
    args: Contexts["sweep"],
  ) => Promise<SweepResult>;
}
