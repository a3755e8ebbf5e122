/**
 * The common part of token buckets and fixed windows: units accrue from the last write on, up to the capacity, and
 * debts are paid by what accrues. The rules are those of the token bucket (ITU-T I.371, the leaky bucket as a meter).
 */
import * as refunds from "../headroom.js";
import { END_OF_TIME } from "../time.js";
import { MAX_UNITS } from "../units.js";
import { type Limit, type Pause, type Reservation, type State, type Taking, type Window, withUsed } from "./kind.js";
import { leftHalf, writeOf } from "./shares.js";

/** A kind whose units arrive from the last write on. */
export abstract class RefillingKind<L extends Limit> {
  /** The units that arrive after a state's `ts`, up to and including `to`; none when the clock stepped back. */
  protected abstract accrued(limit: L, state: State, to: number): number;
  abstract whenHolding(limit: L, state: State, units: number): number;

  /**
   * The units that a state holds at its `ts`: it may have been written under another capacity. By default its value.
   */
  protected held?(limit: L, state: State): number;

  /** The window of a state at a later time, when it holds `value`. Only of a kind with windows. */
  protected windowAt?(limit: L, state: State, to: number, value: number): Window;

  /** The units that were used, and may come back: those that are missing, or more. */
  protected usedBy({ capacity }: L, { value }: State): number {
    return capacity - value;
  }

  /** Whether more was used, under a larger capacity, than is missing of a state that holds so many units. */
  private usedBeside(limit: L, state: State, held: number): boolean {
    return this.usedBy(limit, state) > limit.capacity - held;
  }

  /** The units used in a window after units have come back. @param left - what still counts as used. */
  protected usedAfter?(limit: L, used: number, units: number, left: number): number;

  advance(limit: L, state: State, now: number): State {
    const { ts, headroom } = state;
    const held = this.held?.(limit, state) ?? state.value;
    const value = Math.min(limit.capacity, held + this.accrued(limit, state, now));
    const to = Math.max(ts, now);
    const window = this.windowAt?.(limit, state, to, value);
    const advanced = { ...state, value, ts: to, ...(window && { window }) };
    if (!headroom) return advanced;
    // A new window forgives what was used above a capacity that was lowered, and it is not known of which takes.
    const isForgiven = window !== state.window && this.usedBeside(limit, state, held);
    const used = isForgiven ? 0 : this.usedBy(limit, advanced);
    return withHeadroom(advanced, refunds.noted(headroom, ts, to, used));
  }

  take(limit: L, state: State, units: number): State {
    const { value, ts, window } = state;
    // A state that begins to owe may have used more than is missing, under a larger capacity. Undoing that would pay
    // for the debt, which it is not; so no more of what was taken before comes back.
    const isBeside = units > value && this.usedBeside(limit, state, value);
    const headroom = state.headroom && isBeside ? refunds.since(state.headroom, ts, 0) : state.headroom;
    const used = window && { window: withUsed(window, (window.used ?? Infinity) + units) };
    const taken = { ...state, ...used, ...(headroom && { headroom }) };
    if (value - units >= -MAX_UNITS) return { ...taken, value: value - units };
    // A debt beyond what can be counted is cut off there; that of a larger limit before may be more, and stays.
    const cut = { ...taken, value: Math.min(value, -MAX_UNITS) };
    // Nothing comes back of it until the bucket has been full.
    return units > 0 && headroom ? { ...cut, headroom: refunds.since(headroom, END_OF_TIME, 0) } : cut;
  }

  reserve(limit: L, advanced: State, units: number): Reservation {
    const taken = this.take(limit, advanced, units);
    const { window } = taken;
    const state = window && taken.value < 0 ? { ...taken, window: { ...window, isReserved: true as const } } : taken;
    // Not what the state can count: a debt that was cut off has no room for more.
    return { at: this.whenHolding(limit, state, 0), state, owed: units - advanced.value };
  }

  whenReservable(limit: L, state: State, units: number): number {
    return this.whenHolding(limit, state, units - limit.maxReserved);
  }

  giveBack(limit: L, state: State, units: number, taking?: Taking): State {
    const { capacity } = limit;
    const { ts, headroom, window } = state;
    const missing = capacity - state.value;
    const used = this.usedBy(limit, state);
    const most = taking ? refunds.headroomSince(state, taking.takenAt) : Infinity;
    const back = Math.min(units, used, most);
    if (back === 0) return state;
    const left = used - back;
    // What was used after the date stays used.
    const kept = window?.used !== undefined &&
      this.usedAfter && {
        used: Math.max(Math.min(window.used, missing - most), this.usedAfter(limit, window.used, back, left)),
      };
    // A debt first, and what was used beside it, under a larger capacity, before what is missing now.
    const paid = Math.min(back, Math.max(0, -state.value));
    const value = Math.max(state.value + paid, capacity - Math.min(missing, left));
    const after = { ...state, value, ...(kept && { window: { ...window, ...kept } }) };
    if (!headroom) return after;
    const pairs = taking ? refunds.returned(headroom, taking.takenAt, back) : refunds.since(headroom, ts + 1, left);
    return withHeadroom(after, pairs);
  }

  pause(limit: L, state: State, pause: Pause): State {
    const { headroom, ts } = state;
    const advanced = this.advance(limit, state, pause.until);
    const { window } = advanced;
    const value = Math.min(0, advanced.value);
    // Nothing is left of the window, however large it is.
    const paused = { ...advanced, value, ...(window && { window: withUsed(window, Infinity) }) };
    // Earlier takes pay for the debt, and for no more: without them the pause would have taken as much.
    return withHeadroom(paused, headroom && refunds.since(headroom, refunds.dateOf(pause, ts), -value));
  }

  split(left: L, right: L, state: State): readonly [State, State] {
    const { value, headroom, window } = state;
    const values = [leftHalf(value, left, right), value - leftHalf(value, left, right)] as const;
    const share = left.capacity / (left.capacity + right.capacity || 1);
    const pairs = headroom && refunds.halved(headroom, share);
    // The missing units are cut as the value is. Units used beside them, above a capacity that was lowered, make both
    // halves' use as large: under the larger limit their shares are.
    const missing = left.capacity + right.capacity - value;
    const { used = missing } = window ?? {};
    const beside = used - missing;
    const fair = Math.floor(used / 2 / left.unitsPerToken) * left.unitsPerToken;
    const ofLeft = Math.min(beside, Math.max(0, fair - (left.capacity - values[0])));
    const half = (limit: L, own: 0 | 1, more: number): State => ({
      ...state,
      value: values[own],
      ...(pairs && { headroom: pairs[own] }),
      ...(window?.used !== undefined && {
        window: { ...window, used: Math.max(0, limit.capacity - values[own] + more) },
      }),
    });
    return [half(left, 0, ofLeft), half(right, 1, beside - ofLeft)];
  }

  join(_limit: L, states: readonly State[]): State {
    const windows = states.map(({ window }) => window).filter((window) => window !== undefined);
    const used = windows.reduce((sum, window) => sum + (window.used ?? Infinity), 0);
    const reserved = windows.some(({ isReserved }) => isReserved) && { isReserved: true as const };
    const since = Math.max(...windows.map((window) => window.since));
    const isKnown = windows.length === states.length;
    const joined = {
      ...writeOf(states),
      value: states.reduce((sum, { value }) => sum + value, 0),
      ...(isKnown && { window: withUsed({ since, ...reserved }, used) }),
    };
    return withHeadroom(joined, refunds.joined(states.map(({ headroom }) => headroom)));
  }
}

/** A field is absent, not undefined. */
function withHeadroom({ headroom: _, ...state }: State, headroom: State["headroom"]): State {
  return headroom ? { ...state, headroom } : state;
}
