/**
 * How much comes back when tokens are returned that were taken at a known time: at most what the bucket would hold had
 * they never been taken, and exactly that if no two events share a millisecond. Otherwise a bucket that wasted arrivals
 * while it was full would get them after all.
 *
 * Theorem, for any arrivals: undoing a take of `c` units at `t0` gives back `min(c, R)`. `R` is the least headroom
 * (capacity less level) of the bucket after `t0`, measured before each later take. Proof: the two histories differ by
 * `c` at first. The difference shrinks only while the history without the take is full, and is then the headroom of the
 * other one.
 *
 * A state remembers `R` by time: pairs (`at`, `units`), both rising; `R(t0)` is the least of the pairs later than `t0`.
 * It keeps headroom and not levels, so that a pair stays true when the capacity is lowered. A gift, a pause and a reset
 * may follow a take of the same millisecond, so their pairs are dated one later: takes of that millisecond then give
 * back less, never more. If the last write was before a pause, nothing can have been taken in that millisecond before
 * it, and the pair has the date of the pause. A write during a pause is dated by its end, but takes then are dated by
 * the clock. So is the pair if the pause is extended.
 */
import type { Entry, Limit, Pause, State } from "./kinds/kind.js";
import { merge, shortened } from "./kinds/log.js";
import { END_OF_TIME } from "./time.js";

/** A state whose take at `date` may be undone. A kind that logs its takes needs no pairs. */
export function remembering(state: State, date: number): State {
  return state.recent || state.headroom ? state : { ...state, headroom: [{ at: date, units: 0 }] };
}

/**
 * A bucket that was made full at a time: nothing that was taken until then comes back. @param lastWrite - before that.
 */
export function forgotten({ capacity }: Limit, lastWrite: number, { at, after }: Omit<Pause, "until">): State {
  // A clock ahead may have dated a take: clocks differ by less than this. A time that is further ahead is the end of an
  // earlier pause.
  const CLOCKS_DIFFER_MS = 60_000;
  const isOfPause = lastWrite === after || lastWrite - at > CLOCKS_DIFFER_MS;
  const last = isOfPause ? at : Math.max(at, lastWrite);
  return { value: capacity, ts: at, headroom: [{ at: last + 1, units: 0 }] };
}

/** The date of a pause's pair, for a state that was last written at `ts`. */
export function dateOf({ at, after }: Pause, ts: number): number {
  return ts === after ? at + 1 : Math.max(at, ts + 1);
}

/**
 * The pairs of `ts` at a later time, with the headroom then. Of a full bucket nothing that was taken before comes back.
 */
export function noted(headroom: readonly Entry[], ts: number, now: number, units: number) {
  // No time has passed, so no units have come, and the pairs say all; unless the capacity was lowered meanwhile.
  if (now <= ts) return headroom.some((pair) => units < pair.units) ? since(headroom, ts + 1, units) : headroom;
  return units === 0 ? undefined : since(headroom, now, units);
}

/** Pairs with one more, which is the latest. */
export function since(headroom: readonly Entry[], at: number, units: number): readonly Entry[] {
  const last = headroom.at(-1)?.at ?? 0;
  if (last === END_OF_TIME) return headroom;
  return compact([...headroom.filter((pair) => pair.units < units), { at: Math.max(at, last), units }]);
}

/** The most units that come back of a take at `takenAt`, for any size of the take and any capacity. */
export function headroomSince({ headroom, ts }: State, takenAt: number): number {
  // A time to come is a mistake, such as seconds in the place of ms.
  if (!headroom || takenAt > ts) return 0;
  return Math.min(...headroom.filter(({ at }) => at > takenAt).map(({ units }) => units));
}

/** The pairs after units of a take have come back: since then the bucket has been as much fuller. */
export function returned(headroom: readonly Entry[], takenAt: number, back: number): readonly Entry[] {
  const pairs = headroom.map(({ at, units }) => ({ at, units: at > takenAt ? Math.max(0, units - back) : units }));
  return pairs.filter(({ units }, i) => !pairs.slice(i + 1).some((later) => later.units <= units));
}

/**
 * The pairs of the two parts of a bucket, that of the left one being `share` of it: together no more than those of the
 * whole.
 */
export function halved(headroom: readonly Entry[], share: number): readonly [Entry[], Entry[]] {
  const ofLeft = (units: number) => Math.floor(units * share);
  return [
    headroom.map(({ at, units }) => ({ at, units: ofLeft(units) })),
    headroom.map(({ at, units }) => ({ at, units: units - ofLeft(units) })),
  ];
}

/**
 * The pairs of parts as those of one bucket: at each time the sum of what the parts had. A part without pairs adds
 * nothing. Some tokens may have been taken from one part and come back to another: that is as if they had been moved
 * there before.
 */
export function joined(parts: readonly (readonly Entry[] | undefined)[]): readonly Entry[] | undefined {
  const known = parts.filter((pairs) => pairs !== undefined);
  if (known.length === 0) return undefined;
  let units = known.reduce((sum, [first]) => sum + (first?.units ?? 0), 0);
  // How much more headroom a part has after a time than before it.
  const steps = known.map((pairs) =>
    pairs.map((pair, i) => ({ at: pair.at, units: (pairs[i + 1]?.units ?? pair.units) - pair.units })),
  );
  const sums = merge(steps).map((step) => {
    const pair = { at: step.at, units };
    units += step.units;
    return pair;
  });
  return compact(sums);
}

/**
 * Too many pairs are merged, first those that differ the least in proportion: the later time with the lesser headroom
 * gives back less, never more. So a take may lose a part only if it is large beside what was taken before it.
 */
function compact(pairs: readonly Entry[]): readonly Entry[] {
  // Eight pairs make nearly all refunds exact, and a row grows by at most 400 bytes.
  const MAX_PAIRS = 8;
  return shortened(pairs, MAX_PAIRS, {
    cost: ({ units }, next) => (next.units - units) / Math.max(1, next.units),
    join: ({ units }, { at }) => ({ at, units }),
  });
}
