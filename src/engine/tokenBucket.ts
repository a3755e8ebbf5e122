/** Token bucket: units arrive continuously, `refill` of them per millisecond. */
import { END_OF_TIME } from "./time.js";
import type { TokenBucketLimit } from "./types.js";

/** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
export function accrued(limit: TokenBucketLimit, from: number, to: number): number {
  return to <= from ? 0 : Math.floor((to - from) * limit.refill);
}

/** The first millisecond, from `from` on, by which `units` have arrived. */
export function whenAccrued(limit: TokenBucketLimit, from: number, units: number): number {
  let elapsedMs = Math.max(0, Math.ceil(units / limit.refill));
  if (!(from + elapsedMs < END_OF_TIME)) return END_OF_TIME;
  // The quotient is rounded; `accrued` decides, so it must also decide what counts as the first millisecond.
  while (accrued(limit, from, from + elapsedMs) < units) elapsedMs++;
  while (elapsedMs > 0 && accrued(limit, from, from + elapsedMs - 1) >= units) elapsedMs--;
  return from + elapsedMs;
}
