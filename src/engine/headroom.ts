/**
 * How much comes back when tokens are returned that were taken at a known time: exactly what the bucket would hold had they never
 * been taken. Otherwise a bucket that wasted arrivals while it was full would get them after all.
 *
 * Theorem, for any arrivals: undoing a take of `c` units at `t0` gives back `min(c, R)`. `R` is the least headroom (capacity less
 * level) of the bucket after `t0`, measured before each later take. Proof: the two histories differ by `c` at first. The difference
 * shrinks only while the history without the take is full, and is then the headroom of the other one.
 *
 * A state remembers `R` by time: pairs (`at`, `units`), both rising; `R(t0)` is the least of the pairs later than `t0`. It keeps
 * headroom and not levels, so that a pair stays true when the capacity changes. Without pairs nothing that was taken before the
 * last write comes back: so the rows of limits whose tokens are never returned stay as they are.
 */
import type { Entry, State } from "./kinds/kind.js";
import { merge, shortened } from "./kinds/log.js";
import { END_OF_TIME } from "./time.js";

/** For a bucket with a debt too large to count: nothing comes back until it has been full. */
export const UNKNOWN: readonly Entry[] = [{ at: END_OF_TIME, units: 0 }];

/** A state whose last take may be undone. A kind that logs its takes needs no pairs. */
export function remembering(state: State): State {
  return state.recent || state.headroom ? state : { ...state, headroom: [{ at: state.ts, units: 0 }] };
}

/**
 * The date of what is taken from a state: its time, or later. A gift or a pause lies between takes of one ms, so those after it are dated
 * later than those before it, as a logical clock does (Lamport). Without that a refund could not tell them apart.
 */
export function dateIn({ ts, headroom = [] }: Pick<State, "ts" | "headroom">): number {
  const last = Math.ceil(headroom.at(-1)?.at ?? 0);
  return last < END_OF_TIME ? Math.max(ts, last) : ts;
}

/** The pairs of `ts` at `now`, with the headroom then. A full bucket has forgotten all: nothing that was taken before comes back. */
export function noted(headroom: readonly Entry[], ts: number, now: number, units: number) {
  const date = dateIn({ ts, headroom });
  const at = now > ts ? Math.max(now, date + 1) : date;
  if (units === 0) return at > now ? [{ at, units }] : undefined;
  // No time has passed, so no units have come: the pairs say all.
  return now > ts ? since(headroom, at, units) : headroom;
}

/** Pairs with one more, which is the latest. */
function since(headroom: readonly Entry[], at: number, units: number): readonly Entry[] {
  if (isUnknown(headroom)) return headroom;
  return compact([...headroom.filter((pair) => pair.units < units), { at, units }]);
}

function isUnknown(headroom: readonly Entry[]): boolean {
  return headroom.at(-1)?.at === END_OF_TIME;
}

/** The most units that come back of a take at `takenAt`, for any size of the take and any capacity. */
export function headroomSince({ headroom, ts }: State, takenAt: number): number {
  if (!headroom) return takenAt < ts ? 0 : Infinity;
  return Math.min(...headroom.filter(({ at }) => at > takenAt).map(({ units }) => units));
}

/** The pairs after units of a take have come back: since then the bucket has been as much fuller. */
export function returned(headroom: readonly Entry[], takenAt: number, back: number): readonly Entry[] {
  const pairs = headroom.map(({ at, units }) => ({ at, units: at > takenAt ? units - back : units }));
  return pairs.filter(({ units }, i) => !pairs.slice(i + 1).some((later) => later.units <= units));
}

/**
 * The pairs of a window that is a bucket now. Units taken before a window was lowered paid for use that the window has forgiven, or
 * count as its excess. A bucket has nothing to count that against, so none of it comes back.
 */
export function withoutWindow(headroom: readonly Entry[], window: State["window"]): readonly Entry[] {
  const { since = 0, excess = 0, loweredAt = -1 } = window ?? {};
  const upTo = Math.max(loweredAt, excess > 0 ? since - 1 : -1);
  return upTo < 0 ? headroom : [{ at: upTo + 1, units: 0 }, ...headroom.filter(({ at }) => at > upTo + 1)];
}

/** The pairs after a gift, which leaves a bucket `units` of headroom: no more comes back of what was taken up to `date`. */
export function afterGift(headroom: readonly Entry[], date: number, units: number): readonly Entry[] {
  return since(headroom, date + 1, units);
}

/**
 * The pairs of a bucket after a pause, at the end of which it owes `units`: later refunds may pay those, and no more. Only the pair of a
 * pause lies between two ms, so the same pause says nothing new until a gift, or units that come in time.
 */
export function afterPause(headroom: readonly Entry[], date: number, units: number): readonly Entry[] {
  const at = date + 0.5;
  return units === 0 ? [{ at, units }] : since(headroom, at, units);
}

/** Whether a pause is the last that a bucket remembers, or there is nothing that may come back. */
export function isPaused({ headroom }: State): boolean {
  return !headroom || isUnknown(headroom) || !Number.isInteger(headroom.at(-1)?.at);
}

/** The pairs of the two parts of a bucket, that of the left one being `share` of it: together no more than those of the whole. */
export function halved(headroom: readonly Entry[], share: number): readonly [Entry[], Entry[]] {
  const ofLeft = (units: number) => Math.floor(units * share);
  return [
    headroom.map(({ at, units }) => ({ at, units: ofLeft(units) })),
    headroom.map(({ at, units }) => ({ at, units: units - ofLeft(units) })),
  ];
}

/**
 * The pairs of parts as those of one bucket: at each time the sum of what the parts had. A part without pairs adds nothing. Some tokens may
 * have been taken from one part and come back to another: that is as if they had been moved there before.
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

/** Too many pairs are merged, first those that differ the least: the later time with the lesser headroom gives back less, never more. */
function compact(pairs: readonly Entry[]): readonly Entry[] {
  // Eight pairs make nearly all refunds exact, and a row grows by at most 400 bytes.
  const MAX_PAIRS = 8;
  return shortened(pairs, MAX_PAIRS, {
    cost: ({ units }, next) => next.units - units,
    join: ({ units }, { at }) => ({ at, units }),
  });
}
