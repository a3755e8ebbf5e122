/** An exact token bucket's refill: `rate / period` tokens a millisecond, evenly. */
import { ceilOf, fraction, over, type Rational, rational, times } from "../rational.js";
import { type Amount, LAST_MOMENT, type TokenBucket } from "./config.js";

/** The tokens that arrive after `from`, up to and including `to`. */
export function gained({ rate, period }: TokenBucket<Amount>, from: number, to: number): Rational {
  return times(over(rational(rate), rational(period)), fraction(BigInt(to - from), 1n));
}

/** The first millisecond by which `tokens` have arrived after `from`. */
export function whenGained({ rate, period }: TokenBucket<Amount>, from: number, tokens: Rational): number {
  return Math.min(LAST_MOMENT, from + Number(ceilOf(over(times(tokens, rational(period)), rational(rate)))));
}
