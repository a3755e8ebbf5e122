/**
 * What token buckets and fixed windows have in common: units accrue from the last write on, up to the capacity, and debts are
 * paid by what accrues. The rules are those of the token bucket (ITU-T I.371, the leaky bucket as a meter).
 */
import { halved, headroomSince, joined, noted, returned, UNKNOWN } from "../headroom.js";
import { MAX_UNITS } from "../units.js";
import type { Entry, Kind, Limit, State } from "./kind.js";
import { leftHalf } from "./shares.js";

/** How units arrive. */
interface Accrual<L> {
  /** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
  accrued: (limit: L, from: number, to: number) => number;
  /** The first ms, from `from` on, by which `units` have arrived. */
  whenAccrued: (limit: L, from: number, units: number) => number;
}

/** A state of these kinds: a field is absent, not undefined. */
function stateOf(value: number, ts: number, headroom: readonly Entry[] | undefined): State {
  return headroom ? { value, ts, headroom } : { value, ts };
}

type Common =
  | "most"
  | "advance"
  | "whenHolding"
  | "take"
  | "reserve"
  | "whenReservable"
  | "owed"
  | "giveBack"
  | "pause"
  | "split"
  | "join";

export function refilling<L extends Limit>({ accrued, whenAccrued }: Accrual<L>): Pick<Kind<L>, Common> {
  function whenHolding(limit: L, { value, ts }: State, units: number): number {
    return whenAccrued(limit, ts, units - Math.min(limit.capacity, value));
  }
  function take(_limit: L, { value, ts, headroom }: State, units: number): State {
    if (value - units >= -MAX_UNITS) {
      return headroom ? { value: value - units, ts, headroom } : { value: value - units, ts };
    }
    // A debt beyond what can be counted is cut off there; that of a larger limit before may be more, and stays.
    return stateOf(Math.min(value, -MAX_UNITS), ts, units > 0 ? UNKNOWN : headroom);
  }
  function advance(limit: L, { value, ts, headroom }: State, now: number): State {
    const held = Math.min(limit.capacity, value + accrued(limit, ts, now));
    const to = Math.max(ts, now);
    if (!headroom) return { value: held, ts: to };
    return stateOf(held, to, noted(headroom, to, limit.capacity - held));
  }
  return {
    whenHolding,
    take,
    advance,
    most: ({ capacity, maxReserved }, reserve) => (reserve ? capacity + maxReserved : capacity),
    reserve(limit, advanced, units) {
      const state = take(limit, advanced, units);
      // Not what the state can count: a debt that was cut off has no room for more.
      return { at: whenHolding(limit, state, 0), state, owed: units - advanced.value };
    },
    whenReservable: (limit, state, units) => whenHolding(limit, state, units - limit.maxReserved),
    owed: ({ value }) => Math.max(0, -value),
    giveBack({ capacity }, state, units, taking) {
      const { value, ts, headroom } = state;
      const { takenAt } = taking ?? { takenAt: ts };
      const back = Math.max(0, Math.min(units, capacity - value, headroomSince(state, takenAt)));
      return stateOf(value + back, ts, headroom && returned(headroom, takenAt, back));
    },
    pause(limit, state, until) {
      const { value, ts, headroom } = advance(limit, state, until);
      const level = Math.min(0, value);
      // What comes back pays what is still owed then, and no more.
      return stateOf(level, ts, headroom && noted(headroom, ts, -level));
    },
    split(left, right, { value, ts, headroom }) {
      const half = leftHalf(value, left.unitsPerToken, left.capacity, right.capacity);
      const [ofLeft, ofRight] = headroom ? halved(headroom, left.capacity / (left.capacity + right.capacity)) : [];
      return [stateOf(half, ts, ofLeft), stateOf(value - half, ts, ofRight)];
    },
    join: (_limit, states) =>
      stateOf(
        states.reduce((sum, { value }) => sum + value, 0),
        Math.max(...states.map(({ ts }) => ts)),
        joined(states.map(({ headroom }) => headroom)),
      ),
  };
}
