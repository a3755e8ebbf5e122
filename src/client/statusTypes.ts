/** The types of answers, by the limits that are defined and by what a call says. */
import type { ExactRateLimitStatus, RateLimitLease, RateLimitStatus } from "../wire/answers.js";
import type { GivesSlots } from "./args.js";

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
export type StatusOf<Limits, Name> = Name extends keyof Limits
  ? "shards" extends keyof Limits[Name]
    ? RateLimitStatus
    : ExactRateLimitStatus
  : RateLimitStatus;

/** The answer of a call that takes: if it allows and the limit has slots, it has the lease. */
export type TakenStatusOf<Limits, Name> = Name extends keyof Limits
  ? Limits[Name] extends GivesSlots
    ? Leased<StatusOf<Limits, Name>>
    : StatusOf<Limits, Name>
  : StatusOf<Limits, Name>;
type Leased<Status> = Status extends { ok: true } ? Status & { lease: RateLimitLease } : Status;

/** The same, and if it allows and is refundable, it has its date. */
export type DatedStatusOf<Limits, Name, Refundable> = [Refundable] extends [true]
  ? Dated<TakenStatusOf<Limits, Name>>
  : TakenStatusOf<Limits, Name>;
type Dated<Status> = Status extends { ok: true } ? Status & { takenAt: number } : Status;
