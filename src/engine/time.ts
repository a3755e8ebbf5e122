/**
 * The last time that a JavaScript Date can represent. A wait that would end later is cut off here, 270,000 years from
 * now.
 */
export const END_OF_TIME = 8.64e15;

export const DAY_MS = 86_400_000;

/** The scheduler refuses a start further away than five years of 366 days. */
export const FURTHEST_MS = 5 * 366 * DAY_MS;

/**
 * The first millisecond from `from` on at which a condition that stays true becomes true; END_OF_TIME if it never does.
 * It searches twice as far ahead each time, then halves: quick when that is near.
 * @param likely - is tried first: where the condition becomes true there, three questions are enough.
 */
export function firstTime(from: number, holds: (time: number) => boolean, likely = from): number {
  if (likely > from && !holds(likely - 1) && holds(likely)) return likely;
  let before = 0;
  let after = 0;
  while (!holds(from + after)) {
    if (!(from + after < END_OF_TIME)) return END_OF_TIME;
    before = after;
    after = 2 * after + 1;
  }
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (holds(from + middle)) after = middle;
    else before = middle;
  }
  return Math.min(END_OF_TIME, from + after);
}
