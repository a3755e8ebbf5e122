/** What a call says: typed by the limits that are defined, so that what would fail at run time does not compile. */
import type { FunctionReference } from "convex/server";
import type { RateLimitConfig } from "../configs.js";
import type { ExactRateLimitStatus, RateLimitStatus } from "../validators.js";

/**
 * A limit as `defineRateLimits` takes it: a config, and whether it has one bucket per key. With `keyed: true` every call must
 * give a key, with `keyed: false` none may; without it both are allowed.
 */
export type RateLimitDefinition = RateLimitConfig & { keyed?: boolean };
export type RateLimitDefinitions = Record<string, RateLimitDefinition>;

/** The names that autocomplete; any other string is a limit defined inline. */
export type NameIn<Limits> = (keyof Limits & string) | (string & {});

/**
 * One bucket of a limit. A limit that was not defined needs a config; a defined one may be given another (plans, tiers). For several
 * names it must fit all of them.
 */
export type BucketArgs<Limits, Name> = { name: Name } & (Name extends keyof Limits
  ? { config?: RateLimitConfig | undefined }
  : { config: RateLimitConfig }) &
  KeyOf<Limits, Name>;

/** A key where any of the names demands one, none where any forbids it. */
type KeyOf<Limits, Name> =
  true extends KeyedOf<Limits, Name>
    ? { key: string }
    : false extends KeyedOf<Limits, Name>
      ? { key?: undefined }
      : { key?: string | undefined };

type KeyedOf<Limits, Name> = Name extends keyof Limits
  ? Limits[Name] extends { keyed: infer Keyed }
    ? Keyed
    : undefined
  : undefined;

/** What is asked of a bucket. */
export interface Asked {
  /** Tokens to take: a finite number of at least 0, default 1. */
  count?: number | undefined;
  /**
   * Whether the tokens may be taken from the future, up to `maxReserved`: then the work has to wait until `retryAt`. With
   * `{ within }` it waits at most so many milliseconds, or is denied.
   */
  reserve?: boolean | { within: number } | undefined;
}

/** One bucket, and what is asked of it. */
export type DemandArgs<Limits, Name> = BucketArgs<Limits, Name> & Asked;

export interface ThrowsArg {
  /** Whether a denial is thrown as a `ConvexError` (see `isRateLimitError`) instead of returned. */
  throws?: boolean | undefined;
}

/** What `rateLimit` and `checkRateLimit` take. */
export type RateLimitArgs<Limits, Name> = DemandArgs<Limits, Name> & ThrowsArg;

/** The answer: exact for limits that are defined without `shards`. */
export type StatusOf<Limits, Name> = Name extends keyof Limits
  ? "shards" extends keyof Limits[Name]
    ? RateLimitStatus
    : ExactRateLimitStatus
  : RateLimitStatus;

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
  count?: number | undefined;
  /**
   * Milliseconds, up to a day: the job starts up to this much later than it might, at random, so that jobs do not start all at
   * once.
   */
  spread?: number | undefined;
};

/** What `listRateLimits` takes. */
export type ListArgs<Name> = {
  name: Name;
  /** Where the page before ended; absent for the first. */
  cursor?: string | undefined;
  /** The most keys on a page: a whole number from 1 to 1,000, default 100. */
  limit?: number | undefined;
  /** Only keys that would be denied a token now. A page may then be short, even empty, before the last. */
  onlyLimited?: boolean | undefined;
};

export interface SweepOptions {
  /**
   * The other configs that limits are called with (`config: tiers[plan]`, limits defined inline), by limit. A bucket is swept
   * only when it is full under the definition and all of these; rows of limits that are neither defined nor here stay.
   */
  configs?: Readonly<Record<string, readonly RateLimitConfig[]>> | undefined;
}

/** In your tables the app's own function continues the sweep: an internal mutation that passes its `cursor` on. */
export interface SweepContinuation {
  cursor?: string | undefined;
  next: FunctionReference<"mutation", "internal" | "public", { cursor?: string | undefined }>;
}

/** What every call says of its bucket, whatever the types promised. */
export interface AnyBucketArgs {
  name: string;
  key?: string | undefined;
  config?: RateLimitConfig | undefined;
}
export type AnyDemandArgs = AnyBucketArgs & Asked;
