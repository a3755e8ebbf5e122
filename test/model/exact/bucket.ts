/** An exact bucket of any kind, and what its state means to another kind. */
import { floorOf, isLess, minus, type Rational, rational, ZERO } from "../rational.js";
import type { Ask, ExactLimit, Outcome, SlidingWindow } from "./config.js";
import * as refilling from "./refilling.js";
import * as slidingWindow from "./slidingWindow.js";

/** Undefined is a bucket that was never written, or forgotten: full. */
export type State = refilling.Level | slidingWindow.Log;

/** @param granted - for work that waits, the moment that it was promised, where that may be later than the first possible. */
export function ask(limit: ExactLimit, state: State, now: number, asked: Ask, granted?: number): Outcome<State> {
  // Where nothing is written, the state stays that of the kind that wrote it.
  if (limit.kind === "sliding window") {
    const log = logOf(limit, state);
    const outcome = slidingWindow.ask(limit, log, now, asked, granted);
    return outcome.after === log ? { ...outcome, after: state } : outcome;
  }
  const level = levelOf(state);
  const outcome = refilling.ask(limit, level, now, asked);
  return outcome.after === level ? { ...outcome, after: state } : outcome;
}

/** What a call gets that takes as much as there is: all, or what suffices and as many more whole tokens as there are. */
export function partOf(
  limit: ExactLimit,
  state: State,
  now: number,
  { count, atLeast }: { count: number; atLeast: number },
): number {
  const left = leftAt(limit, state, now);
  if (!isLess(left, rational(count))) return count;
  const more = isLess(left, rational(atLeast)) ? 0 : Number(floorOf(minus(left, rational(atLeast))));
  return Math.round((atLeast + more) * 1000) / 1000;
}

/** Charges without asking, or gives back when negative. */
export function adjust(limit: ExactLimit, state: State, now: number, count: number): Outcome<State> {
  return limit.kind === "sliding window"
    ? slidingWindow.adjust(limit, logOf(limit, state), now, count)
    : refilling.adjust(limit, levelOf(state), now, count);
}

/** Empty until a time, and owing what it would still owe then. */
export function pause(limit: ExactLimit, state: State, until: number): State {
  return limit.kind === "sliding window"
    ? slidingWindow.pause(limit, logOf(limit, state), until)
    : refilling.pause(limit, levelOf(state), until);
}

/** The state that a clock behind the last write leaves of several rows: of a sliding window, what was taken is as old as the clock says. */
export function takenBehind(limit: ExactLimit, before: State, after: State, clock: number, count: number): State {
  if (limit.kind !== "sliding window" || !after || !("entries" in after) || after === before) return after;
  const atLastWrite = (log: State) =>
    log && "entries" in log ? (log.entries.find(({ at }) => at === log.ts)?.count ?? ZERO) : ZERO;
  const added = minus(atLastWrite(after), atLastWrite(logOf(limit, before)));
  return isLess(added, rational(count)) ? after : slidingWindow.takenByClock(limit, after, clock, count);
}

/**
 * The states that a take may leave which is undone, and which was promised a moment. Of one that the bucket has forgotten, by a reset in the
 * same millisecond or by being of another kind meanwhile, some may come back all the same.
 */
export function undo(
  limit: ExactLimit,
  state: State,
  now: number,
  count: number,
  { takenAt, promised }: { takenAt: number; promised: number },
): State[] {
  if (limit.kind === "sliding window") return [slidingWindow.cancel(limit, logOf(limit, state), now, count, promised)];
  const level = levelOf(state);
  const undone = refilling.undo(limit, level, now, count, takenAt);
  return undone.length > 0 ? undone : [refilling.adjust(limit, level, now, -count).after, state];
}

/** What is left at `now`; below 0 while tokens are owed. */
export function leftAt(limit: ExactLimit, state: State, now: number): Rational {
  if (limit.kind !== "sliding window") return refilling.levelAt(limit, levelOf(state), now);
  const log = logOf(limit, state);
  return minus(rational(limit.rate), slidingWindow.takenAt(limit, log, Math.max(now, log?.ts ?? now)));
}

export function isFull(limit: ExactLimit, state: State, now: number): boolean {
  const size = limit.kind === "sliding window" ? limit.rate : limit.capacity;
  return !isLess(leftAt(limit, state, now), rational(size));
}

/** Whether a log may have had more moments than it tells apart. */
export function isJoined(state: State): boolean {
  return state !== undefined && ("entries" in state ? state.isJoined : state.isInexact === true);
}

/** What a state of any kind means to a kind that refills: what it held at its last write. */
export function levelOf(state: State): refilling.Level {
  return state && ("entries" in state ? { value: state.value, ts: state.ts, isInexact: state.isJoined } : state);
}

function logOf(limit: SlidingWindow, state: State): slidingWindow.Log {
  return state && !("entries" in state) ? slidingWindow.fromLevel(limit, state) : state;
}

/** A text that is the same for equal states and no others. */
export function textOf(state: State): string {
  if (!state) return "-";
  const fraction = ({ numerator, denominator }: Rational) => `${numerator}/${denominator}`;
  const level = `${state.ts}:${fraction(state.value)}`;
  if (!("entries" in state)) {
    const events = (state.history ?? []).map(({ ts, before, taken }) => `${ts}=${fraction(before)}-${fraction(taken)}`);
    const window = state.window && `:${state.window.since}=${fraction(state.window.used)}`;
    return `${level}:${events.join()}${state.isInexact ? "~" : ""}${window ?? ""}`;
  }
  return `${level}:${state.entries.map(({ at, count }) => `${at}=${fraction(count)}`).join()}${state.isJoined ? "~" : ""}`;
}
