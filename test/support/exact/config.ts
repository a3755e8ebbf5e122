import type { Rational } from "../rational.js";

/** The limits that the exact buckets know: as the public API takes them, with every default filled in. */
interface AnyLimit<Amount = number> {
  readonly rate: Amount;
  /** Undefined for no bound. */
  readonly maxReserved?: Amount | undefined;
}
export interface TokenBucket<Amount = number> extends AnyLimit<Amount> {
  readonly kind: "token bucket";
  readonly period: Amount;
  readonly capacity: Amount;
}
export interface FixedWindow<Amount = number> extends AnyLimit<Amount> {
  readonly kind: "fixed window";
  readonly period: number | "day" | "week" | "month";
  readonly capacity: Amount;
  /** Only for a period in ms. If the limit chooses it, it is undefined until the bucket is known. */
  readonly start?: number | undefined;
  readonly timeZone?: Zone | undefined;
  readonly anchor?: number | undefined;
}
export interface SlidingWindow extends AnyLimit {
  readonly kind: "sliding window";
  readonly period: number;
}
/** A number is the decimal that it is written as; a fraction is what it is. */
export type Amount = number | Rational;
export type RefillingLimit = TokenBucket<Amount> | FixedWindow<Amount>;
export type ExactLimit = TokenBucket | FixedWindow | SlidingWindow;

/** Zones whose clocks never change, in ms before UTC. */
export const ZONES = { UTC: 0, "Etc/GMT+5": -5 * 3_600_000, "Asia/Kolkata": 5.5 * 3_600_000 } as const;
type Zone = keyof typeof ZONES;

/** The last millisecond that a JavaScript Date can name; a limit promises nothing later. */
export const LAST_MOMENT = 8_640_000_000_000_000;

export type Reserve = boolean | { readonly within: number };

export interface Ask {
  readonly count: number;
  readonly reserve: Reserve;
  /** The date that a take got, if its tokens may come back. */
  readonly date?: number | undefined;
}

/** The longest wait that is accepted. */
export function longestWait(reserve: Reserve): number {
  return typeof reserve === "object" ? reserve.within : Infinity;
}

/** A status as the public API words it. */
export interface Answer {
  readonly ok: boolean;
  readonly retryAt?: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
  /** Set on a sliding window if the clock is a whole period behind the last write. Several rows need not answer this. */
  readonly isOfOneRow?: boolean;
}

/** An answer, and the state that it leaves. */
export interface Outcome<State> {
  readonly answer: Answer;
  readonly after: State;
}
