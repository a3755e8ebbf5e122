/** Calls, typed by the limits that are defined: a call that would fail at run time does not compile. */
import type { RateLimitConfig } from "../wire/configs.js";
import type { Mode, ThrowChoice } from "./definitionTypes.js";

/** The names that autocomplete; any other string is a limit defined inline. */
export type NameIn<Limits> = (keyof Limits & string) | (string & {});

/**
 * One bucket: a config if the limit is not defined (one without plans may be given another), a key if any of several
 * names needs one.
 */
type BucketArgs<Limits, Name> = {
  /** A limit that is defined, or any other if the call has its `config`. */
  name: Name;
} & At<ArgsByName<Limits>, Name> & { [One in Name as At<FieldsByName<Limits, { keyed: true }, "key">, One>]: string };

/** The entry for a name in a table by the names of limits. */
type At<Table, Name> = Table[Name & keyof Table];

/** The other arguments of a call, by name: without a condition, so that a function generic over the name can call. */
type ArgsByName<Limits> = {
  [Name in keyof Limits]: ConfigArg<Limits[Name]> & KeyArg<Limits[Name]>;
} & Others<Limits, NotOneOfYourLimits>;

/** The field that limits of some form require: of several names one that does so is enough. */
type FieldsByName<Limits, Form, Field> = {
  [Name in keyof Limits]: Limits[Name] extends Form ? Field : never;
} & Others<Limits, never>;

/** A limit with slots. */
interface OfSlots {
  kind: "concurrency";
}
export type GivesSlots = OfSlots | { plans: Readonly<Record<string, OfSlots>> };
/** A call that no limit with slots has: the compiler shows this name. */
interface NotForSlots {
  readonly "has slots, not tokens": never;
}
type WithoutSlots<Limits, Name> = At<BySlots<Limits, { name: NotForSlots }>, Name>;
/** A further type that the arguments of limits with slots must have. */
type BySlots<Limits, Held> = {
  [Name in keyof Limits]: Limits[Name] extends GivesSlots ? Held : unknown;
} & Others<Limits, unknown>;

/** The entry for all names that are not defined. */
type Others<Limits, Value> = string extends keyof Limits ? unknown : Record<string, Value>;

/** A config in place of the defined one, as itself or as what leads to one; of a limit with plans there is none. */
export type ConfigArg<Definition, Config = RateLimitConfig> = Definition extends { plans: object }
  ? { config?: undefined }
  : { config?: (Definition extends OfSlots ? Extract<Config, OfSlots> : Config) | undefined };

/** One bucket, of calls that follow the plan or config of the bucket's rows unless they name one. */
export type WrittenBucketArgs<Limits, Name> = BucketArgs<Limits, Name> & Partial<At<PlansByName<Limits>, Name>>;

/** Limits whose definitions are not known may have plans. */
type PlansByName<Limits> = {
  [Name in keyof Limits]: string extends keyof Limits ? { plan?: string | undefined } : PlanArg<Limits[Name]>;
} & Others<Limits, unknown>;

/** The plan, by its name or as what leads to one, if the limit has plans. */
export type PlanArg<Definition, Plan = PlanName<Definition>> = Definition extends { plans: object }
  ? {
      /** The plan of the key's owner: its config holds in this call. */
      plan: Plan;
    }
  : unknown;
export type PlanName<Definition> = Definition extends { plans: infer Plans } ? keyof Plans & string : never;

/** A key if the limit has keys, as a text or as what leads to one. */
export type KeyArg<Definition, Key = string> = Definition extends { keyed: true }
  ? KeyField<Key>
  : Partial<KeyField<Definition extends { keyed: false } ? undefined : Key | undefined>>;
interface KeyField<Key> {
  /** Whom the limit counts, such as a user's id: each key has a bucket of its own. */
  key: Key;
}

/** A limit that is not defined: the compiler shows this name when the name of a limit is misspelt. */
interface NotOneOfYourLimits {
  /** Required, since no limit of this name is defined. */
  config: RateLimitConfig;
  key?: string | undefined;
}

export interface CountArg {
  /** Tokens to take: a finite number of at least 0, default 1. */
  count?: number | undefined;
}

/** One bucket, the plan where the limit has plans, and how many tokens are asked for. */
type CountedArgs<Limits, Name> = BucketArgs<Limits, Name> &
  At<PlansByName<Limits>, Name> & {
    [One in Name as At<FieldsByName<Limits, { plans: object }, "plan">, One>]: string;
  } & CountArg & {
    /** Whether the limit is enforced in this call; default what its definition says. */
    mode?: Mode | undefined;
  };

/** Whether tokens may come back. The compiler infers `true` as `boolean` if the choice has nothing but booleans. */
export type RefundChoice = boolean | { readonly not: never } | undefined;

type DemandArgs<Limits, Name, Refundable extends RefundChoice = boolean> = CountedArgs<Limits, Name> & {
  /**
   * Whether the tokens may be taken from the future, up to `maxReserved`: the work must then wait until `retryAt`. With
   * `{ within }` it waits at most this many milliseconds, or is denied.
   */
  reserve?: boolean | { within: number } | undefined;
  /** Whether tokens may come back: the answer then has the `takenAt` that `adjustRateLimit` needs. Default false. */
  refundable?: Refundable | undefined;
} & At<BySlots<Limits, OneSlot>, Name>;
/** A call of a limit with slots takes one, now, and it comes back by its lease. */
interface OneSlot {
  count?: undefined;
  reserve?: undefined;
  refundable?: undefined;
}

/** `Said` is the choice of a call: the type of its answer depends on it. */
export interface ThrowsArg<Said extends ThrowChoice = ThrowChoice> {
  /**
   * Whether a denial is thrown as a `ConvexError` (see `isRateLimitError`) instead of returned; default what the
   * definitions say.
   */
  throws?: Said | undefined;
}

/** The arguments of `rateLimit` and `checkRateLimit`. */
export type RateLimitArgs<
  Limits,
  Name,
  Said extends ThrowChoice,
  Refundable extends RefundChoice = boolean,
> = DemandArgs<Limits, Name, Refundable> & ThrowsArg<Said>;

/** The arguments of `rateLimitAll`: one element for each name in `Names`. */
export type DemandList<Limits, Names extends readonly string[]> = {
  [Index in keyof Names]: DemandArgs<Limits, Names[Index]>;
};

export type AdjustArgs<Limits, Name> = WrittenBucketArgs<Limits, Name> &
  WithoutSlots<Limits, Name> & {
    /** Tokens to charge; negative for a refund. A number from -1e12 to 1e12. */
    count: number;
    /**
     * For tokens that come back: the `takenAt` of the call that took them, which must have been `refundable: true`. The
     * bucket then holds what it would hold had they never been taken. Without it they are a gift, which may let more
     * through than the limit's bound. A charge ignores it. `takenAt: undefined` is an error: leave the field out.
     */
    takenAt?: number | undefined;
  };

export type PauseArgs<Limits, Name> = WrittenBucketArgs<Limits, Name> & {
  /** When work may start again, in milliseconds since the epoch; at most five years ahead. */
  until: number;
};

export type ScheduleArgs<Limits, Name, Said extends ThrowChoice> = CountedArgs<Limits, Name> &
  WithoutSlots<Limits, Name> &
  ThrowsArg<Said> & {
    /** Milliseconds, up to a day: the job starts up to this much later, at random, so that jobs spread. */
    spread?: number | undefined;
  };
