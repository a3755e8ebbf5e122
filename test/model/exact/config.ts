/** The limits that the exact buckets know: as the public API takes them, with every default filled in. */
interface AnyLimit {
  readonly rate: number;
  readonly period: number;
  /** Undefined for no bound. */
  readonly maxReserved?: number | undefined;
}
export interface TokenBucket extends AnyLimit {
  readonly kind: "token bucket";
  readonly capacity: number;
}
export interface FixedWindow extends AnyLimit {
  readonly kind: "fixed window";
  readonly capacity: number;
  readonly start: number;
}
export interface SlidingWindow extends AnyLimit {
  readonly kind: "sliding window";
}
export type RefillingLimit = TokenBucket | FixedWindow;
export type ExactLimit = RefillingLimit | SlidingWindow;

/** The most that a limit can hold: what a count may not exceed. */
export function sizeOf(limit: ExactLimit): number {
  return limit.kind === "sliding window" ? limit.rate : limit.capacity;
}

export interface Ask {
  readonly count: number;
  readonly reserve: boolean;
}

/** A status as the public API words it. */
export interface Answer {
  readonly ok: boolean;
  readonly retryAt?: number | undefined;
  readonly remaining: number;
  readonly resetAt: number;
}

/** An answer, and the state that it leaves. */
export interface Outcome<State> {
  readonly answer: Answer;
  readonly after: State;
}
