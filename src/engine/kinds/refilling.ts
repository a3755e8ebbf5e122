/**
 * The common part of token buckets and fixed windows: units accrue from the last write on, up to the capacity, and debts are paid
 * by what accrues. The rules are those of the token bucket (ITU-T I.371, the leaky bucket as a meter).
 */
import * as refunds from "../headroom.js";
import { MAX_UNITS } from "../units.js";
import { type Limit, type Reservation, type State, type Taking, usedIn, windowOf } from "./kind.js";
import { leftHalf } from "./shares.js";

/** A kind whose units arrive from the last write on. */
export abstract class RefillingKind<L extends Limit> {
  /** The units that arrive after a state's `ts`, up to and including `to`; none when the clock stepped back. */
  protected abstract accrued(limit: L, state: State, to: number): number;
  abstract whenHolding(limit: L, state: State, units: number): number;
  /** The units that a state holds at its `ts`; by default its value, up to the capacity. */
  protected held?(limit: L, state: State): number;
  /** The window of a state at a later time, when it holds `value`. Only of a kind with windows. */
  protected windowAt?(limit: L, state: State, to: number, value: number): State["window"];

  advance(limit: L, state: State, now: number): State {
    const { capacity } = limit;
    const { ts, headroom } = state;
    const before = this.held?.(limit, state) ?? state.value;
    const value = Math.min(capacity, before + this.accrued(limit, state, now));
    const to = Math.max(ts, now);
    const window = this.windowAt?.(limit, state, to, value);
    if (!headroom) return window ? { value, ts: to, window } : { value, ts: to };
    const known = window ? headroom : refunds.withoutWindow(headroom, state.window);
    // Under a lowered capacity more was used than is missing. All of it may come back.
    const most = Math.max(capacity - value, window ? usedIn(window) : 0);
    return stateOf(value, to, refunds.noted(known, ts, to, most), window);
  }

  most({ capacity, maxReserved }: L, reserves: boolean): number {
    return reserves ? capacity + maxReserved : capacity;
  }

  owed({ value }: State): number {
    return Math.max(0, -value);
  }

  take(_limit: Limit, { value, ts, headroom, window }: State, units: number): State {
    if (value - units >= -MAX_UNITS) {
      if (!headroom && !window) return { value: value - units, ts };
      return stateOf(value - units, ts, headroom, using(window, units));
    }
    // A debt beyond what can be counted is cut off there; that of a larger limit before may be more, and stays.
    return stateOf(Math.min(value, -MAX_UNITS), ts, units > 0 ? refunds.UNKNOWN : headroom, undefined);
  }

  reserve(limit: L, advanced: State, units: number): Reservation {
    const state = this.take(limit, advanced, units);
    // Not what the state can count: a debt that was cut off has no room for more.
    return { at: this.whenHolding(limit, state, 0), state, owed: units - advanced.value };
  }

  whenReservable(limit: L, state: State, units: number): number {
    return this.whenHolding(limit, state, units - limit.maxReserved);
  }

  giveBack({ capacity }: Limit, state: State, units: number, taking?: Taking): State {
    const { value, ts, headroom, window } = state;
    const missing = capacity - value;
    const takenAt = taking?.takenAt ?? refunds.dateIn(state);
    // The bucket may have been full since: then the take is forgotten, also where its window was lowered after that. Of a debt that is
    // not known nothing comes back.
    const most = Math.min(units, refunds.headroomSince(state, takenAt));
    // `beyond` was used above a capacity that was lowered since. Without the take it would have been less, and the value as it is.
    const beyond = taking ? Math.min(most, beyondOf(state, missing, takenAt)) : 0;
    const back = Math.max(0, Math.min(most - beyond, missing));
    // Units taken before this window count as its excess first. The window's own use stays, also for a lower capacity.
    const earlier = taking && window && takenAt < window.since ? back : 0;
    const used = lessened(using(window, earlier - back), beyond + earlier, missing - back);
    const pairs =
      headroom &&
      (taking
        ? refunds.returned(headroom, takenAt, back + beyond)
        : refunds.afterGift(headroom, takenAt, missing - back));
    return stateOf(value + back, ts, pairs, used);
  }

  pause(limit: L, state: State, until: number): State {
    const advanced = this.advance(limit, state, until);
    const { value, ts, headroom, window } = advanced;
    if (until <= state.ts && value <= 0 && refunds.isPaused(state)) return state;
    const level = Math.min(0, value);
    const pairs = headroom && refunds.afterPause(headroom, refunds.dateIn(advanced), -level);
    return stateOf(level, ts, pairs, pausedWindow(using(window, value - level), state, limit.capacity));
  }

  split(left: Limit, right: Limit, { value, ts, headroom, window }: State): readonly [State, State] {
    const half = leftHalf(value, left, right);
    const share = left.capacity / (left.capacity + right.capacity);
    const [ofLeft, ofRight] = headroom ? refunds.halved(headroom, share) : [];
    const [leftUsed, rightUsed] = [left.capacity - half, right.capacity - (value - half)];
    // All that counts beside what is missing is cut like the pairs: what may come back of one half pays first for what it used before.
    const excess = window ? usedIn(window) - leftUsed - rightUsed : 0;
    const leftExcess = Math.floor(excess * share);
    const part = (used: number, beside: number) => window && windowOf({ ...window, used, excess: beside });
    return [
      stateOf(half, ts, ofLeft, part(leftUsed, leftExcess)),
      stateOf(value - half, ts, ofRight, part(rightUsed, excess - leftExcess)),
    ];
  }

  join(_limit: L, states: readonly State[]): State {
    return stateOf(
      states.reduce((sum, { value }) => sum + value, 0),
      Math.max(...states.map(({ ts }) => ts)),
      refunds.joined(states.map(({ headroom }) => headroom)),
      joinedWindow(states.map(({ window }) => window)),
    );
  }
}

/** A state of these kinds: a field is absent, not undefined. */
function stateOf(value: number, ts: number, headroom: State["headroom"], window: State["window"]): State {
  return { value, ts, ...(headroom && { headroom }), ...(window && { window }) };
}

/** A window in which more was used, or less. */
function using(window: State["window"], units: number): State["window"] {
  if (!window) return undefined;
  const used = window.used + units;
  // Units come back to the window first, then to the time before it.
  return windowOf({ ...window, used: Math.max(0, used), excess: (window.excess ?? 0) + Math.min(0, used) });
}

/** The window at the end of a pause. What was used beyond a lowered capacity still counts: it may be raised during the pause. */
function pausedWindow(window: State["window"], { value, window: earlier }: State, capacity: number): State["window"] {
  if (!window || !earlier || usedIn(earlier) <= capacity - value) return window;
  return windowOf({ ...window, excess: Math.max(window.excess ?? 0, usedIn(earlier) - window.used) });
}

/** The units that count as used at a time beside those that are missing. */
function beyondOf(state: State, missing: number, takenAt: number): number {
  const { window } = state;
  if (!window) return 0;
  const { since, used, excess = 0, loweredAt = Infinity } = window;
  // The bucket was empty when its capacity was lowered, or owed: what was taken since is owed as well. A later time is a promise.
  if (takenAt > loweredAt && takenAt >= since && takenAt <= refunds.dateIn(state)) return 0;
  return Math.max(0, used + (takenAt < since ? excess : 0) - missing);
}

/** A window of which fewer units count, those first that were used before it. @param missing - what the bucket lacks then. */
function lessened(window: State["window"], units: number, missing: number): State["window"] {
  if (!window) return undefined;
  const { excess = 0, loweredAt } = window;
  const used = window.used - Math.max(0, units - excess);
  return windowOf({ ...window, used, excess: excess - units, loweredAt: used > missing ? loweredAt : undefined });
}

/** The windows of the parts of one bucket as one: it began when the latest did. */
function joinedWindow(windows: readonly State["window"][]): State["window"] {
  const known = windows.filter((window) => window !== undefined);
  if (known.length < windows.length) return undefined;
  const since = Math.max(...known.map((window) => window.since));
  const used = known.reduce((sum, window) => sum + window.used, 0);
  const excess = known.reduce((sum, window) => sum + (window.excess ?? 0), 0);
  // A bucket that was lowered is one row; if it is not, the next write says that it was lowered before that.
  const before = Math.max(...known.map((window) => (window.excess ? (window.before ?? window.since) : -Infinity)));
  return using(windowOf({ since, used, excess, before }), 0);
}
