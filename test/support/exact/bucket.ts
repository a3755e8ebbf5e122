/** An exact bucket of any kind. Its state has a meaning for the other kinds. */
import { minus, type Rational, rational } from "../rational.js";
import type { Ask, ExactLimit, Outcome, SlidingWindow } from "./config.js";
import { mostTaken } from "./history.js";
import * as refilling from "./refilling.js";
import * as slidingWindow from "./slidingWindow.js";

/** Undefined is a bucket that was never written, or forgotten: full. */
export type State = refilling.Level | slidingWindow.Log;

/** @param granted - for work that waits, the time that it was promised, which may be later than the first possible time. */
export function ask(limit: ExactLimit, state: State, now: number, asked: Ask, granted?: number): Outcome<State> {
  // A call that writes nothing leaves the state of the kind that wrote it.
  if (limit.kind === "sliding window") {
    const log = logOf(limit, state);
    const outcome = slidingWindow.ask(limit, log, now, asked, granted);
    return outcome.after === log ? { ...outcome, after: state } : outcome;
  }
  const level = levelOf(state);
  const outcome = refilling.ask(limit, level, now, asked);
  return outcome.after === level ? { ...outcome, after: state } : outcome;
}

/** Charges without asking, or gives back when negative. */
export function adjust(limit: ExactLimit, state: State, now: number, count: number): Outcome<State> {
  return limit.kind === "sliding window"
    ? slidingWindow.adjust(limit, logOf(limit, state), now, count)
    : refilling.adjust(limit, levelOf(state), now, count);
}

/** Empties the bucket until a time. It still owes what it would owe then. @param at - of what was taken until then nothing comes back. */
export function pause(limit: ExactLimit, state: State, now: number, until: number, at: number): State {
  return limit.kind === "sliding window"
    ? slidingWindow.pause(limit, logOf(limit, state), now, until, at)
    : refilling.pause(limit, levelOf(state), now, until, at);
}

/**
 * The states that are possible after a take is undone: without the take; or, if a gift or a pause before it is of the same time by the
 * bucket's clock, as if that had come after it. Then no more comes back than was missing after it. If the bucket has forgotten the
 * take, by a reset in the same millisecond, some of its tokens may still come back: those of another take of that millisecond, say.
 */
export function undo(
  limit: ExactLimit,
  state: State,
  now: number,
  count: number,
  { takenAt, promised }: { takenAt: number; promised: number },
): State[] {
  if (limit.kind === "sliding window") {
    return slidingWindow.undo(limit, logOf(limit, state), now, count, { takenAt, promised });
  }
  const level = levelOf(state);
  const undone = refilling.undo(limit, level, now, rational(count), takenAt);
  if (undone.length > 0) return undone;
  const others = refilling.undo(limit, level, now, mostTaken(level?.history ?? [], takenAt), takenAt);
  return [...others, refilling.adjust(limit, level, now, -count).after, state];
}

/** The tokens at `now`; below 0 while the bucket owes some. */
export function leftAt(limit: ExactLimit, state: State, now: number): Rational {
  if (limit.kind !== "sliding window") return refilling.levelAt(limit, levelOf(state), now);
  const log = logOf(limit, state);
  return minus(rational(limit.rate), slidingWindow.takenAt(limit, log, Math.max(now, log?.ts ?? now)));
}

/** Whether a log may have had more times than it distinguishes. */
export function isJoined(state: State): boolean {
  return state !== undefined && ("entries" in state ? state.isJoined : state.isInexact === true);
}

/** A kind that refills reads any state as the tokens at the last write. */
function levelOf(state: State): refilling.Level {
  return state && ("entries" in state ? { value: state.value, ts: state.ts, isInexact: state.isJoined } : state);
}

function logOf(limit: SlidingWindow, state: State): slidingWindow.Log {
  return state && ("entries" in state ? slidingWindow.raised(limit, state) : slidingWindow.fromLevel(limit, state));
}
