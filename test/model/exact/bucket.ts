/** An exact bucket of any kind. Between the kinds that refill a state means the same; a sliding window has one of its own. */
import { isLess, rational, ZERO } from "../rational.js";
import type { Ask, ExactLimit, Outcome } from "./config.js";
import * as refilling from "./refilling.js";
import * as slidingWindow from "./slidingWindow.js";

/** Undefined is a bucket that was never written, or forgotten: full. */
export type State = refilling.Level | slidingWindow.Log;

/** @param granted - for work that waits, the moment that it was promised, where that may be later than the first possible. */
export function ask(limit: ExactLimit, state: State, now: number, asked: Ask, granted?: number): Outcome<State> {
  return limit.kind === "sliding window"
    ? slidingWindow.ask(limit, state as slidingWindow.Log, now, asked, granted)
    : refilling.ask(limit, state as refilling.Level, now, asked);
}

/** Charges without asking, or gives back when negative. */
export function adjust(limit: ExactLimit, state: State, now: number, count: number): Outcome<State> {
  return limit.kind === "sliding window"
    ? slidingWindow.adjust(limit, state as slidingWindow.Log, now, count)
    : refilling.adjust(limit, state as refilling.Level, now, count);
}

/** The state after a reservation was given up that had been promised a moment. */
export function cancel(limit: ExactLimit, state: State, now: number, count: number, promised: number): State {
  return limit.kind === "sliding window"
    ? slidingWindow.cancel(limit, state as slidingWindow.Log, now, count, promised)
    : refilling.adjust(limit, state as refilling.Level, now, -count).after;
}

export function isFull(limit: ExactLimit, state: State, now: number): boolean {
  if (limit.kind === "sliding window") {
    const taken = slidingWindow.takenAt(limit, state as slidingWindow.Log, now);
    return !isLess(ZERO, taken);
  }
  return !isLess(refilling.levelAt(limit, state as refilling.Level, now), rational(limit.capacity));
}

/** The moments that a sliding window's log tells apart; none for other kinds. */
export function momentsOf(state: State): number {
  return state && "entries" in state ? state.entries.length : 0;
}

/** A text that is the same for equal states and no others. */
export function textOf(state: State): string {
  if (!state) return "-";
  const fraction = ({ numerator, denominator }: { numerator: bigint; denominator: bigint }) =>
    `${numerator}/${denominator}`;
  return "entries" in state
    ? `${state.ts}:${state.entries.map(({ at, count }) => `${at}=${fraction(count)}`).join()}`
    : `${state.ts}:${fraction(state.value)}`;
}
