/** What a call says: typed by the limits that are defined, so that what would fail at run time does not compile. */
import type { RateLimitConfig } from "../validators.js";

/**
 * A limit as `defineRateLimits` takes it: a config, and whether it has one bucket per key. With `keyed: true` every call must
 * give a key, with `keyed: false` none may; without it both are allowed.
 */
export type RateLimitDefinition = RateLimitConfig & { keyed?: boolean };
export type RateLimitDefinitions = Record<string, RateLimitDefinition>;

/** The names that autocomplete; any other string is a limit defined inline. */
export type NameIn<Limits> = (keyof Limits & string) | (string & {});

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
export type DemandArgs<Limits, Name> = BucketArgs<Limits, Name> & {
  /** Tokens to take: a finite number of at least 0, default 1. */
  count?: number;
  /** Whether the tokens may be taken from the future, up to `maxReserved`: then the work has to wait until `retryAt`. */
  reserve?: boolean;
};

export interface ThrowsArg {
  /** Whether a denial is thrown as a `ConvexError` (see `isRateLimitError`) instead of returned. */
  throws?: boolean;
}

/** What `rateLimit` and `checkRateLimit` take. */
export type RateLimitArgs<Limits, Name> = DemandArgs<Limits, Name> & ThrowsArg;

/** What `rateLimitAll` takes: one element for each name in `Names`. */
export type DemandList<Limits, Names extends readonly string[]> = {
  [Index in keyof Names]: DemandArgs<Limits, Names[Index]>;
};

/** What `adjustRateLimit` takes. */
export type AdjustArgs<Limits, Name> = BucketArgs<Limits, Name> & {
  /** Tokens to charge; negative to give back. A number from -1e12 to 1e12. */
  count: number;
};

/** What `scheduleRateLimited` takes. */
export type ScheduleArgs<Limits, Name> = BucketArgs<Limits, Name> & {
  /** Tokens that the job takes: a finite number of at least 0, default 1. */
  count?: number;
  /** Milliseconds: the job starts up to this much later than it might, at random, so that jobs do not start all at once. */
  spread?: number;
};

/** What `listRateLimits` takes. */
export type ListArgs<Name> = {
  name: Name;
  /** Where the page before ended; absent for the first. */
  cursor?: string | undefined;
  /** The most keys on a page: a whole number from 1 to 1,000, default 100. */
  limit?: number;
  /** Only keys that would be denied a token now. A page may then be short, even empty, before the last. */
  onlyLimited?: boolean;
};

/** What every call says of its bucket, whatever the types promised. */
export interface AnyBucketArgs {
  name: string;
  key?: string | undefined;
  config?: RateLimitConfig;
}
export type AnyDemandArgs = AnyBucketArgs & { count?: number; reserve?: boolean };
