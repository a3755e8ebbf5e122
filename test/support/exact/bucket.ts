/** An exact bucket of any kind. */
import type { Rational } from "../rational.js";
import type { Ask, Dates, ExactLimit, Outcome, Written } from "./config.js";
import { refilling } from "./refilling.js";
import { slidingWindow } from "./slidingWindow.js";

/** Undefined is a bucket that was never written, or forgotten: full. */
export type State = Written | undefined;

/** The functions of a kind. Each gets only states that it has made. */
interface Kind {
  ask: (limit: ExactLimit, state: State, now: number, asked: Ask, granted?: number) => Outcome<State>;
  adjust: (limit: ExactLimit, state: State, now: number, count: number) => State;
  pause: (limit: ExactLimit, state: State, now: number, until: number, at: number) => State;
  undo: (limit: ExactLimit, state: State, now: number, count: number, dates: Dates) => State[];
  leftAt: (limit: ExactLimit, state: State, now: number) => Rational;
}

const kindOf = ({ kind }: ExactLimit) => (kind === "sliding window" ? slidingWindow : refilling) as unknown as Kind;

/** @param granted - for work that waits, the time that it was promised, which may be later than the first possible time. */
export const ask: Kind["ask"] = (limit, ...asked) => kindOf(limit).ask(limit, ...asked);

/** Charges without asking, or gives back when negative. */
export function adjust(limit: ExactLimit, state: State, now: number, count: number): { after: State } {
  return { after: kindOf(limit).adjust(limit, state, now, count) };
}

/** Empties the bucket until a time. It still owes what it would owe then. @param at - of what was taken until then nothing comes back. */
export const pause: Kind["pause"] = (limit, ...paused) => kindOf(limit).pause(limit, ...paused);

/**
 * The states that are possible after a take is undone: without the take; or, if a gift or a pause before it is of the same time by the
 * bucket's clock, as if that had come after it. Then no more comes back than was missing after it. If the bucket has forgotten the
 * take, by a reset in the same millisecond, some of its tokens may still come back: those of another take of that millisecond, say.
 */
export const undo: Kind["undo"] = (limit, ...undone) => kindOf(limit).undo(limit, ...undone);

/** The tokens at `now`; below 0 while the bucket owes some. */
export const leftAt: Kind["leftAt"] = (limit, state, now) => kindOf(limit).leftAt(limit, state, now);

/** Whether a bucket may remember less than an exact one. */
export function isJoined(state: State): boolean {
  return state?.isInexact === true;
}
