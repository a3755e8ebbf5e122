/** An exact fixed window's refill: `rate` tokens at the start of each window, `period` ms after the one before. */
import { ceilOf, floorOf, fraction, over, type Rational, rational, times } from "../rational.js";
import type { FixedWindow } from "./config.js";

export function windowAt({ start, period }: FixedWindow, moment: number): bigint {
  return floorOf(fraction(BigInt(moment - start), BigInt(period)));
}

export function startOf({ start, period }: FixedWindow, window: bigint): number {
  return start + Number(window) * period;
}

/** The tokens that arrive after `from`, up to and including `to`. */
export function gained(limit: FixedWindow, from: number, to: number): Rational {
  return times(rational(limit.rate), fraction(windowAt(limit, to) - windowAt(limit, from), 1n));
}

/** The first millisecond by which so many tokens have arrived after `from`. */
export function whenGained(limit: FixedWindow, from: number, tokens: Rational): number {
  return startOf(limit, windowAt(limit, from) + ceilOf(over(tokens, rational(limit.rate))));
}
