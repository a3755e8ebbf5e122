import type { Rational } from "../rational.js";

/** A number is the decimal that it is written as; a fraction is what it is. */
type Amount = number | Rational;

/**
 * The limits that the exact buckets know: as the public API takes them, with every default filled in. The limit of a bucket never
 * changes: test/oracle plays plans, overrides and deploys.
 */
interface AnyLimit<Amount> {
  readonly rate: Amount;
  /** Undefined for no bound. */
  readonly maxReserved?: Amount | undefined;
}
interface TokenBucket<Amount> extends AnyLimit<Amount> {
  readonly kind: "token bucket";
  readonly period: Amount;
  readonly capacity: Amount;
}
interface FixedWindow<Amount> extends AnyLimit<Amount> {
  readonly kind: "fixed window";
  readonly period: number;
  readonly capacity: Amount;
  readonly start: number;
}
export interface SlidingWindow extends AnyLimit<number> {
  readonly kind: "sliding window";
  readonly period: number;
}
export type RefillingLimit = TokenBucket<Amount> | FixedWindow<Amount>;
export type ExactLimit = TokenBucket<number> | FixedWindow<number> | SlidingWindow;

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

/** What is known of a bucket: when it was written last, and what a kind keeps. Undefined is a bucket that was never written: full. */
export interface Written {
  readonly ts: number;
  /** Whether a bucket that remembers little may have joined times, or undone only a part of a take. */
  readonly isInexact: boolean;
}

/** An answer, and the state that it leaves. If work has to wait, `retryAt` is when it starts. */
export interface Outcome<State> {
  readonly answer: { readonly ok: boolean; readonly retryAt?: number };
  readonly after: State;
}

/** When tokens were taken, and for when. */
export interface Dates {
  readonly takenAt: number;
  readonly promised: number;
}
