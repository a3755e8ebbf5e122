/**
 * What token buckets and fixed windows have in common: units accrue from the last write on, up to the capacity, and debts are
 * paid by what accrues. The rules are those of the token bucket (ITU-T I.371, the leaky bucket as a meter).
 */
import { MAX_UNITS } from "../units.js";
import type { Kind, Limit, State } from "./kind.js";
import { leftHalf } from "./shares.js";

/** How units arrive. */
interface Accrual<L> {
  /** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
  accrued: (limit: L, from: number, to: number) => number;
  /** The first ms, from `from` on, by which `units` have arrived. */
  whenAccrued: (limit: L, from: number, units: number) => number;
}

type Common =
  "most" | "advance" | "whenHolding" | "take" | "reserve" | "whenReservable" | "owed" | "giveBack" | "split" | "join";

export function refilling<L extends Limit>({ accrued, whenAccrued }: Accrual<L>): Pick<Kind<L>, Common> {
  function whenHolding(limit: L, { value, ts }: State, units: number): number {
    return whenAccrued(limit, ts, units - Math.min(limit.capacity, value));
  }
  function take(_limit: L, { value, ts }: State, units: number): State {
    // A debt beyond what can be counted is cut off there; that of a larger limit before may be more, and stays.
    return { value: Math.min(value, Math.max(-MAX_UNITS, value - units)), ts };
  }
  return {
    whenHolding,
    take,
    most: ({ capacity, maxReserved }, reserve) => (reserve ? capacity + maxReserved : capacity),
    advance(limit, { value, ts }, now) {
      return { value: Math.min(limit.capacity, value + accrued(limit, ts, now)), ts: Math.max(ts, now) };
    },
    reserve(limit, advanced, units) {
      const state = take(limit, advanced, units);
      // Not what the state can count: a debt that was cut off has no room for more.
      return { at: whenHolding(limit, state, 0), state, owed: units - advanced.value };
    },
    whenReservable: (limit, state, units) => whenHolding(limit, state, units - limit.maxReserved),
    owed: ({ value }) => Math.max(0, -value),
    giveBack: ({ capacity }, { value, ts }, units) => ({ value: Math.min(capacity, value + units), ts }),
    split(left, right, { value, ts }) {
      const half = leftHalf(value, left.unitsPerToken, left.capacity, right.capacity);
      return [
        { value: half, ts },
        { value: value - half, ts },
      ];
    },
    join: (_limit, states) => ({
      value: states.reduce((sum, { value }) => sum + value, 0),
      ts: Math.max(...states.map(({ ts }) => ts)),
    }),
  };
}
