/**
 * Invariant: a limit counts in whole units, `unitsPerToken` to a token, chosen so that what accrues in one millisecond (or
 * one window) is a whole number of them. Sums, differences and comparisons of whole numbers below 2^53 are exact in
 * floating point, so nothing drifts, for years and at any rate.
 */
import { MAX_UNITS, SNAP } from "./units.js";

/** The units that a capacity, a rate or a reserve may take up; the rest of MAX_UNITS is room for debts. */
const EXACT_UNITS = 2 ** 48;

/**
 * How finely to cut, finest first. 1000 makes thousandths of a token exact; 1024 besides lets a split bucket (at most 2,048
 * shards) refill in whole units. Without it a write loses less than a unit.
 */
const FINEST = 1000 * 1024;

/** How many units make a token, and how many of them arrive per step (a millisecond, or a window). */
export interface Grain {
  readonly unitsPerToken: number;
  readonly refill: number;
}

/** The quantities that a limit must be able to count, in tokens. */
interface Quantities {
  /** The largest quantity that counts exactly: capacity, rate, reserve. */
  readonly exact: number;
  /** The largest debt that fits. */
  readonly debt: number;
}

/**
 * Chooses the grain for `rate / per` tokens per step. A ratio that is no fraction of decimals (1/3), or too fine for so large
 * quantities, is rounded down to about 15 digits: never up.
 */
export function chooseGrain(rate: number, per: number, { exact, debt }: Quantities): Grain {
  const most = Math.min(EXACT_UNITS / Math.max(1, exact, rate / per), MAX_UNITS / debt);
  const fraction = toFraction(rate, per);
  if (fraction) {
    const [numerator, denominator] = fraction;
    // A token is at least one unit, even where the debts do not fit.
    for (const refinement of [FINEST, 1000, 100, 10, 1]) {
      if (denominator * refinement > Math.max(1, most)) continue;
      return { unitsPerToken: denominator * refinement, refill: numerator * refinement };
    }
  }
  const unitsPerToken = Math.max(1, 2 ** Math.floor(Math.log2(most)));
  return { unitsPerToken, refill: (rate / per) * unitsPerToken * (1 - 4 * SNAP) };
}

/** `dividend / divisor` as a fraction of whole numbers in lowest terms; undefined unless both are decimals of at most nine places. */
function toFraction(dividend: number, divisor: number): readonly [number, number] | undefined {
  for (let scale = 1; scale <= 1e9; scale *= 10) {
    const numerator = Math.round(dividend * scale);
    const denominator = Math.round(divisor * scale);
    if (Math.max(numerator, denominator) > Number.MAX_SAFE_INTEGER) break;
    if (numerator / scale !== dividend || denominator / scale !== divisor) continue;
    const common = commonDivisor(numerator, denominator);
    return [numerator / common, denominator / common];
  }
  return undefined;
}

/** Euclid's algorithm; exact, since remainders of whole numbers are. */
function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
