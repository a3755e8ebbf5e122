/** What a config lets in, counted exactly and apart from the engine: the measure of the laws. */
import type { RateLimitConfig } from "convex-rate-limits";
import { floorOf, fraction, over, type Rational, rational, times } from "../model/rational.js";

/** The tokens of one step: of a millisecond, or of a window. */
export function perStep({ kind, rate, period }: RateLimitConfig): Rational {
  return kind === "token bucket" ? over(rational(rate), rational(period)) : rational(rate);
}

/** Which millisecond, or which window, a moment lies in. */
export function stepAt(config: RateLimitConfig, moment: number): bigint {
  if (config.kind === "token bucket") return BigInt(moment);
  return floorOf(fraction(BigInt(moment) - BigInt(config.start ?? 0), BigInt(config.period)));
}

/** The tokens that arrive after `from`, up to and including `to`. */
export function accrued(config: RateLimitConfig, from: number, to: number): Rational {
  const steps = to <= from ? 0n : stepAt(config, to) - stepAt(config, from);
  return times(perStep(config), fraction(steps, 1n));
}

export function capacityOf({ rate, capacity = rate }: RateLimitConfig): number {
  return capacity;
}
