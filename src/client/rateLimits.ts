/** The functions that `defineRateLimits` returns, as their users see them, and what they answer. */
import type { ExactRateLimitStatus, RateLimitAllStatus, RateLimitLease, RateLimitStatus } from "../wire/answers.js";
import type * as args from "./args.js";
import type { ThrowChoice } from "./definitionTypes.js";
import type { InComponent, InTables, LIMIT_SET, LimitSet } from "./place.js";

/**
 * The functions of a set of limits. All of them throw a plain `Error` on misuse: an unknown name, a missing key, a
 * value out of range. The error names the limit, the field and what is permitted. It is thrown before anything is read.
 */
export interface RateLimits<Limits, Contexts extends InTables | InComponent, Default extends ThrowChoice = false> {
  /** With the types of the limits, for `TypesOf`. */
  readonly [LIMIT_SET]: LimitSet & {
    readonly types?: { limits: Limits; contexts: Contexts; throws: Default };
  };

  /**
   * Takes `count` tokens, or says when they will be there. A denial writes nothing. Give it a mutation's ctx, or in the
   * component also an action's.
   */
  rateLimit: <
    Name extends args.NameIn<Limits>,
    Said extends ThrowChoice = undefined,
    Refundable extends args.RefundChoice = undefined,
  >(
    ctx: Contexts["mutation"],
    args: args.RateLimitArgs<Limits, Name, Said, Refundable>,
  ) => Promise<CallAnswer<DatedStatusOf<Limits, Name, Refundable>, Limits, Name, Said, Default>>;

  /** What `rateLimit` would answer now. It reads what `rateLimit` reads, takes nothing, and works in queries. */
  checkRateLimit: <Name extends args.NameIn<Limits>, Said extends ThrowChoice = undefined>(
    ctx: Contexts["query"],
    args: args.RateLimitArgs<Limits, Name, Said>,
  ) => Promise<CallAnswer<StatusOf<Limits, Name>, Limits, Name, Said, Default>>;

  /**
   * Several limits at once, all or nothing: takes from all of them, or from none and says when. Each bucket may be
   * asked once. With `throws`, the denial with the longest wait is thrown. A limit in shadow stops no other.
   */
  rateLimitAll: <const Names extends readonly args.NameIn<Limits>[], Said extends ThrowChoice = undefined>(
    ctx: Contexts["mutation"],
    requests: args.DemandList<Limits, Names>,
    options?: args.ThrowsArg<Said>,
  ) => Promise<
    CallAnswer<RateLimitAllStatus<TakenStatusOf<Limits, Names[number]>>, Limits, Names[number], Said, Default>
  >;

  /** What `rateLimitAll` would answer now. It takes nothing, and works in queries. */
  checkRateLimitAll: <const Names extends readonly args.NameIn<Limits>[], Said extends ThrowChoice = undefined>(
    ctx: Contexts["query"],
    requests: args.DemandList<Limits, Names>,
    options?: args.ThrowsArg<Said>,
  ) => Promise<CallAnswer<RateLimitAllStatus<StatusOf<Limits, Names[number]>>, Limits, Names[number], Said, Default>>;

  /**
   * Settles work whose true count is known only later, such as LLM tokens. A positive `count` is charged without
   * asking, below zero if need be. A negative one is given back, never above capacity. The status is always `ok`; its
   * `retryAt`, if any, is when the debt will be paid.
   */
  adjustRateLimit: <Name extends args.NameIn<Limits>>(
    ctx: Contexts["mutation"],
    args: args.AdjustArgs<Limits, Name>,
  ) => Promise<StatusOf<Limits, Name>>;

  /**
   * The bucket starts nothing before `until`, in milliseconds since the epoch and at most five years ahead: for a
   * provider that has answered 429. At `until` the bucket holds no tokens but gifts, and fills from then on. The
   * longest of several pauses applies. Reservations that were made before keep their times. It holds for all plans of
   * the key.
   */
  pauseRateLimit: <Name extends args.NameIn<Limits>>(
    ctx: Contexts["mutation"],
    args: args.PauseArgs<Limits, Name>,
  ) => Promise<null>;

  /**
   * Forgets the key's buckets, under all plans: they are full again. It ends a pause, and leaves an override. Call it
   * after a successful login, for instance.
   */
  resetRateLimit: <Name extends args.NameIn<Limits>>(
    ctx: Contexts["mutation"],
    args: args.WrittenBucketArgs<Limits, Name>,
  ) => Promise<null>;
}

/** The answer of a call, without the denials if these are thrown. */
export type CallAnswer<Answer, Limits, Name, Said, Default> = [ThrowChoiceIn<Limits, Name, Said, Default>] extends [
  true | { jitter: number },
]
  ? Extract<Answer, { ok: true }>
  : Answer;

/** Whether a denial is thrown, for each name: the call decides before the definition, and that before the options. */
type ThrowChoiceIn<Limits, Name, Said, Default> = [Said] extends [undefined]
  ? Name extends keyof Limits
    ? Limits[Name] extends { throws: infer Own }
      ? Own
      : Default
    : Default
  : Said;

/** The answer: exact for limits without `shards`. The types do not see those of a call's own `config`. */
type StatusOf<Limits, Name> = Name extends keyof Limits
  ? "shards" extends keyof Limits[Name]
    ? RateLimitStatus
    : ExactRateLimitStatus
  : RateLimitStatus;

/** The answer of a call that takes: if it allows and the limit has slots, it has the lease. */
type TakenStatusOf<Limits, Name> =
  Name extends NamesOfSlots<Limits>
    ? Allowing<StatusOf<Limits, Name>, { lease: RateLimitLease }>
    : StatusOf<Limits, Name>;
type NamesOfSlots<Limits> = {
  [Name in keyof Limits]: Limits[Name] extends args.GivesSlots ? Name : never;
}[keyof Limits];
type Allowing<Status, More> = Status extends { ok: true } ? Status & More : Status;

/** The same, and if it allows and is refundable, it has its date. */
type DatedStatusOf<Limits, Name, Refundable> = [Refundable] extends [true]
  ? Allowing<TakenStatusOf<Limits, Name>, { takenAt: number }>
  : TakenStatusOf<Limits, Name>;
