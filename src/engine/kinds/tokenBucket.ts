/** Token bucket: units arrive continuously, `refill` of them per millisecond. */
import { END_OF_TIME, firstMoment } from "../time.js";
import type { TokenBucketLimit } from "../types.js";

/** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
export function accrued(limit: TokenBucketLimit, from: number, to: number): number {
  return to <= from ? 0 : Math.floor((to - from) * limit.refill);
}

/** The first millisecond, from `from` on, by which `units` have arrived. */
export function whenAccrued(limit: TokenBucketLimit, from: number, units: number): number {
  if (units <= 0) return from;
  // The quotient is rounded, and `accrued` decides, so the search starts a little before the millisecond it names.
  const elapsedMs = Math.floor((units / limit.refill) * (1 - QUOTIENT_ERROR));
  if (!(from + elapsedMs < END_OF_TIME)) return END_OF_TIME;
  return firstMoment(from + elapsedMs, (moment) => accrued(limit, from, moment) >= units);
}

/** Four units in the last place: more than the rounding of a quotient and a product. */
const QUOTIENT_ERROR = 2 ** -50;
