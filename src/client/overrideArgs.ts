/** What calls that override a limit say. */
import type { RateLimitConfig } from "../configs.js";
import type { DefinedArgs } from "./args.js";

/** The names of the limits that are defined with `overrides: true`. */
export type OverridableIn<Limits> = {
  [Name in keyof Limits & string]: Limits[Name] extends { overrides?: infer Given }
    ? true extends Given
      ? Name
      : never
    : never;
}[keyof Limits & string];

/** What holds in place of the limit's config: exactly one of these. */
type OverrideWay =
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
export type OverriddenArgs<Limits, Name> = Name extends keyof Limits
  ? { name: Name } & Omit<DefinedArgs<Limits[Name]>, "config">
  : never;

/** What `overrideRateLimit` takes. */
export type OverrideArgs<Limits, Name> = OverriddenArgs<Limits, Name> &
  OverrideWay & {
    /** When it ends by itself: a moment to come, in whole milliseconds since the epoch; without it, when it is cleared. */
    until?: number | undefined;
    /** For the people who look at a list: at most 500 characters. Callers and clients do not get it. */
    note?: string | undefined;
  };
