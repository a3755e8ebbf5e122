/** The tokens that a bucket lost by being full between two writes. A clock behind the second write may still take them. */
import { greatest, isLess, least, minus, plus, type Rational, rational, ZERO } from "../rational.js";
import type { RefillingLimit } from "./config.js";
import * as refilling from "./refilling.js";

/** A bucket from one write, with its tokens, until the next. */
export interface Spill {
  readonly value: Rational;
  readonly ts: number;
  readonly until: number;
  /** The tokens that the write at `until` gave back, if there was room. */
  readonly given: Rational;
  /** The lost tokens that were taken since. */
  readonly used: Rational;
}

/** Takes at most `wanted` of the tokens that were lost after `now`. */
export function regain(limit: RefillingLimit, spills: readonly Spill[], now: number, wanted: Rational) {
  let regained = ZERO;
  const left = spills.map((spill) => {
    if (spill.until <= now) return spill;
    const total = lostUntil(limit, spill, spill.until, spill.given);
    const later = minus(total, lostUntil(limit, spill, Math.max(spill.ts, now)));
    const available = greatest(ZERO, least(later, minus(total, spill.used)));
    const taken = least(available, minus(wanted, regained));
    regained = plus(regained, taken);
    return { ...spill, used: plus(spill.used, taken) };
  });
  return { regained, left };
}

function lostUntil(limit: RefillingLimit, { value, ts }: Spill, time: number, given = ZERO): Rational {
  const capacity = rational(limit.capacity);
  const start = isLess(capacity, value) ? capacity : value;
  return greatest(ZERO, minus(plus(plus(start, refilling.gained(limit, ts, time)), given), capacity));
}

/** Distinguishes what was taken again. Two histories of which nothing was taken count as one. */
export function textOfSpills(spills: readonly Spill[]): string {
  return spills
    .filter(({ used }) => isLess(ZERO, used))
    .map(({ until, used }) => `${until}=${used.numerator}/${used.denominator}`)
    .join();
}
