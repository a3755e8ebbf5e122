/** The functions that administer limits, as their users see them, and what calls to them say. */
import type { Scheduler } from "convex/server";
import type { RateLimitPage, SweepResult } from "../wire/answers.js";
import type { RateLimitConfig } from "../wire/configs.js";
import type { KeyArg } from "./args.js";
import type { AnyPlanArg, PlanArg } from "./planTypes.js";
import type { InComponent, InTables } from "./place.js";

/** What `listRateLimits` takes. */
export type ListArgs<Name, Definition = unknown> = {
  name: Name;
  /** The `cursor` of the page before; absent for the first. */
  cursor?: string | undefined;
  /** The most keys on a page: a whole number from 1 to 1,000, default 100. */
  limit?: number | undefined;
  /** Only keys that would be denied a token now. A page may then be short, even empty, before the last. */
  onlyLimited?: boolean | undefined;
  /** Only keys whose limit is overridden now. A page may then be short, even empty, before the last. */
  onlyOverridden?: boolean | undefined;
} & AnyPlanArg<Definition>;

/** For a limit that is not defined with `overrides: true`, a type that no name has: the compiler shows its name. */
type OverridesNeeded<Definition> = Definition extends { overrides?: infer Given }
  ? true extends Given
    ? unknown
    : { name: LimitDefinedWithOverridesTrue }
  : { name: LimitDefinedWithOverridesTrue };

interface LimitDefinedWithOverridesTrue {
  readonly "define the limit with overrides: true": never;
}

/** The override: exactly one of these. */
type OverrideWay<Definition> =
  | (Definition extends { plans: object }
      ? PlanArg<Definition> & { config?: undefined; block?: undefined; unlimited?: undefined }
      : never)
  | {
      /** Another config; the rows of a bucket stay what the limit's own `shards` says. */
      config: RateLimitConfig;
      block?: undefined;
      unlimited?: undefined;
    }
  | {
      /** Nothing is let through: denials say `reason: "blocked"`, and as `retryAt` when calls succeed once `until` is over. */
      block: true;
      config?: undefined;
      unlimited?: undefined;
    }
  | {
      /** Everything is let through, and counted still: more than there is becomes a debt. */
      unlimited: true;
      config?: undefined;
      block?: undefined;
    };

/** The bucket of an override. */
type OverriddenArgs<Limits, Name> = Name extends keyof Limits
  ? { name: Name } & OverridesNeeded<Limits[Name]> & KeyArg<Limits[Name]>
  : never;

/** What `overrideRateLimit` takes. */
type OverrideArgs<Limits, Name> = OverriddenArgs<Limits, Name> &
  OverrideWay<Name extends keyof Limits ? Limits[Name] : never> & {
    /** When the override ends by itself: a future time, in whole milliseconds since the epoch. Without it, it ends when it is cleared. */
    until?: number | undefined;
    /** For the people who look at a list: at most 500 characters. Callers and clients do not get it. */
    note?: string | undefined;
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
   * Deletes rows that have been full for a minute, since they mean the same as no row, and overrides that have ended. Deletes a batch
   * of about 512 rows now. Each batch schedules the next one, in a transaction of its own. For a daily cron.
   */
  sweepRateLimits: (
    ctx: Contexts["mutation"] & { scheduler: Scheduler },
    args: Contexts["sweep"],
  ) => Promise<SweepResult>;
}
