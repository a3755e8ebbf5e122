/** Fixed window: `refill` units arrive at the start of each window, `period` milliseconds long. */
import { END_OF_TIME } from "../time.js";
import type { FixedWindowLimit } from "../types.js";

/** The number of the window that `now` lies in; window 0 starts at `limit.start`. */
function windowAt(limit: FixedWindowLimit, now: number): number {
  return Math.floor((now - limit.start) / limit.period);
}

function startOf(limit: FixedWindowLimit, window: number): number {
  return Math.min(END_OF_TIME, limit.start + window * limit.period);
}

/** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
export function accrued(limit: FixedWindowLimit, from: number, to: number): number {
  return to <= from ? 0 : (windowAt(limit, to) - windowAt(limit, from)) * limit.refill;
}

/** The first millisecond, from `from` on, by which `units` have arrived. */
export function whenAccrued(limit: FixedWindowLimit, from: number, units: number): number {
  const windows = Math.ceil(units / limit.refill);
  return windows <= 0 ? from : startOf(limit, windowAt(limit, from) + windows);
}

/** The start of the window after the one that `now` lies in. */
export function nextWindow(limit: FixedWindowLimit, now: number): number {
  return startOf(limit, windowAt(limit, now) + 1);
}
