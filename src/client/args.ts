/** What a call says: typed by the limits that are defined, so that what would fail at run time does not compile. */
import type { QueueConfig, RateLimitConfig } from "../wire/configs.js";
import type { ExactRateLimitStatus, RateLimitStatus } from "../wire/answers.js";
import type { PlanArg, PlannedConfig } from "./planTypes.js";

/**
 * Whether a denial is thrown as a `ConvexError` (see `isRateLimitError`) instead of returned. With `{ jitter }` it is, and the wait that it
 * names is longer at random, by up to this fraction of itself (0 to 1): so that clients of one limit do not all return at once.
 */
export type ThrowChoice = boolean | { jitter: number };

/** Whether a limit is enforced, or only tried: `"shadow"` decides and counts, and lets everybody through. */
export type Mode = "enforce" | "shadow";

/** A limit as `defineRateLimits` takes it: a config, whether it has keys and overrides, and what becomes of its denials. */
export type RateLimitDefinition = RateLimitConfig & Terms;

/** What a definition says besides its config. */
export interface Terms {
  /** Whether a call must give a key (`true`) or must not (`false`); without it both are allowed. */
  keyed?: boolean;
  /** Whether `overrideRateLimit` may change the limit at run time, key by key; default false. With `shards` a call then reads once more. */
  overrides?: boolean;
  /** Whether denials of this limit are thrown as a `ConvexError`; default what the options of `defineRateLimits` say. */
  throws?: ThrowChoice;
  /**
   * `"shadow"` tries the limit: everything is decided and counted, and the caller is let through; `status.shadow` is the true
   * answer. Default `"enforce"`.
   */
  mode?: Mode;
  /** Gives the limit a queue for jobs that wait for their tokens (`enqueueRateLimited`); `{}` is one with the defaults. */
  queue?: QueueConfig;
}
/** A limit with plans. */
export type PlannedDefinition = PlannedConfig & Terms;
export type RateLimitDefinitions = Record<string, RateLimitDefinition | PlannedDefinition>;

/** The names that autocomplete; any other string is a limit defined inline. */
export type NameIn<Limits> = (keyof Limits & string) | (string & {});

/**
 * One bucket of a limit. A limit that was not defined needs a config; a defined one without plans may be given another. With a key
 * where any of several names demands one.
 */
type BucketArgs<Limits, Name> = { name: Name } & ArgsByName<Limits>[Name & keyof ArgsByName<Limits>] & {
    [One in Name as KeyDemand<Limits>[One & keyof KeyDemand<Limits>]]: string;
  };

/**
 * By name what a call says besides it. Looked up, not computed by a condition: so a function that is generic over the name can
 * call with it.
 */
type ArgsByName<Limits> = { [Name in keyof Limits]: DefinedArgs<Limits[Name]> } & Others<Limits, NotOneOfYourLimits>;

/** By name the field that a call cannot do without: of several names each has its say. */
type KeyDemand<Limits> = { [Name in keyof Limits]: Limits[Name] extends { keyed: true } ? "key" : never } & Others<
  Limits,
  never
>;

/** What holds for all names that are not defined. */
type Others<Limits, Value> = string extends keyof Limits ? unknown : Record<string, Value>;

type DefinedArgs<Definition> = (Definition extends { plans: object }
  ? { config?: undefined }
  : { config?: RateLimitConfig | undefined }) &
  KeyArg<Definition>;

/** One bucket, and the plan where the limit has plans: of calls whose answer depends on it. */
type PlannedBucketArgs<Limits, Name> = BucketArgs<Limits, Name> & PlansByName<Limits>[Name & keyof PlansByName<Limits>];

/** One bucket, of calls that go by the plan or config of the bucket's rows unless they say it. */
export type WrittenBucketArgs<Limits, Name> = BucketArgs<Limits, Name> &
  Partial<PlansByName<Limits>[Name & keyof PlansByName<Limits>]>;

/** Limits whose definitions are not known may have plans. */
type PlansByName<Limits> = {
  [Name in keyof Limits]: string extends keyof Limits ? { plan?: string | undefined } : PlanArg<Limits[Name]>;
} & Others<Limits, unknown>;

/** A key if the limit has keys, as a text or as what leads to one. */
export type KeyArg<Definition, Key = string> = Definition extends { keyed: true }
  ? { key: Key }
  : Definition extends { keyed: false }
    ? { key?: undefined }
    : { key?: Key | undefined };

/** A limit that is not defined: the compiler shows this name when the name of a limit is misspelt. */
interface NotOneOfYourLimits {
  /** Since no limit of this name is defined, the call has to say how it behaves. */
  config: RateLimitConfig;
  key?: string | undefined;
}

/** What is asked of a bucket. */
interface Asked {
  /** Tokens to take: a finite number of at least 0, default 1. */
  count?: number | undefined;
  /**
   * Whether the tokens may be taken from the future, up to `maxReserved`: then the work has to wait until `retryAt`. With
   * `{ within }` it waits at most so many milliseconds, or is denied.
   */
  reserve?: boolean | { within: number } | undefined;
  /** Whether tokens may come back: the answer then says `takenAt`, which `adjustRateLimit` takes. Default false. */
  refundable?: boolean | undefined;
}

interface ModeArg {
  /** Whether the limit is enforced in this call; default what its definition says. */
  mode?: Mode | undefined;
}

/** One bucket, and what is asked of it. */
type DemandArgs<Limits, Name> = PlannedBucketArgs<Limits, Name> & Asked & ModeArg;

/** `Said` is what a call says, so that its answer's type can follow from it. */
export interface ThrowsArg<Said extends ThrowChoice | undefined = ThrowChoice | undefined> {
  /** Whether a denial is thrown as a `ConvexError` (see `isRateLimitError`) instead of returned; default what the definitions say. */
  throws?: Said | undefined;
}

/** What `rateLimit` and `checkRateLimit` take. */
export type RateLimitArgs<
  Limits,
  Name,
  Said extends ThrowChoice | undefined = ThrowChoice | undefined,
  Least extends number | undefined = number | undefined,
> = DemandArgs<Limits, Name> &
  ThrowsArg<Said> & {
    /**
     * As much as there is: takes `count` tokens if they are there, or else this many and as many more whole tokens as there are; the
     * status says how many (`taken`). A number from 0 to `count`, not beside `reserve`; `count` may then be above the capacity.
     */
    atLeast?: Least | undefined;
  };

/** Whether a denial is thrown: what is nearest to the call decides. Of several names each has its say. */
export type ThrowChoiceIn<Limits, Name, Said, Default> = [Said] extends [undefined]
  ? Name extends keyof Limits
    ? Limits[Name] extends { throws: infer Own }
      ? Own
      : Default
    : Default
  : Said;

/** An answer, without the denials if these are thrown. */
export type ReturnedAnswer<Answer, Thrown> = [Thrown] extends [true | { jitter: number }]
  ? Extract<Answer, { ok: true }>
  : Answer;

/** A call with `atLeast` is told how many tokens it has. */
export type TakenStatus<Status, Least> = [Least] extends [number]
  ? (Extract<Status, { ok: true }> & { taken: number }) | Extract<Status, { ok: false }>
  : Status;

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
export type AdjustArgs<Limits, Name> = WrittenBucketArgs<Limits, Name> & {
  /** Tokens to charge; negative to give back. A number from -1e12 to 1e12. */
  count: number;
  /**
   * Of tokens that come back: the `takenAt` of the call that took them, which must have been `refundable: true`. The bucket then holds what
   * it would hold had they never been taken. Without it they are a gift, which may let more through than the limit's bound. A charge
   * ignores it.
   */
  takenAt?: number | undefined;
};

/** What `pauseRateLimit` takes. */
export type PauseArgs<Limits, Name> = PlannedBucketArgs<Limits, Name> & {
  /** When work may start again, in milliseconds since the epoch; at most five years ahead. */
  until: number;
};

/** What `scheduleRateLimited` takes. */
export type ScheduleArgs<
  Limits,
  Name,
  Said extends ThrowChoice | undefined = ThrowChoice | undefined,
> = PlannedBucketArgs<Limits, Name> & {
  /** Tokens that the job takes: a finite number of at least 0, default 1. */
  count?: number | undefined;
  /**
   * Milliseconds, up to a day: the job starts up to this much later than it might, at random, so that jobs do not start all at
   * once.
   */
  spread?: number | undefined;
} & ModeArg &
  ThrowsArg<Said>;
