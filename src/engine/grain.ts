/**
 * Invariant: a limit counts in whole units, `unitsPerToken` to a token, chosen so that what accrues in one millisecond
 * (or one window) is a whole number of them. Sums, differences and comparisons of whole numbers below 2^53 are exact in
 * floating point, so nothing drifts, for years and at any rate.
 */
import { MAX_UNITS, SNAP } from "./units.js";

/** The units that a capacity, a rate or a reserve may take up; the rest of MAX_UNITS is room for debts. */
const EXACT_UNITS = 2 ** 48;

/**
 * How finely to cut, finest first. 1000 makes thousandths of a token exact; 1024 besides lets a split bucket (at most
 * 2,048 shards) refill in whole units. Without it a write loses less than a unit.
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
 * The finest grain, if rate and period are whole numbers and it counts all quantities: what `chooseGrain` chooses for
 * most limits. A run that parses one of them compiles no more than this.
 */
export function finestGrain(rate: number, per: number, { exact, debt }: Quantities): Grain | undefined {
  if (!Number.isInteger(rate) || !Number.isInteger(per)) return undefined;
  const divisor = commonDivisor(rate, per);
  const unitsPerToken = (per / divisor) * FINEST;
  const refill = (rate / divisor) * FINEST;
  const isCounted = Math.max(refill, unitsPerToken, unitsPerToken * exact) <= EXACT_UNITS;
  return isCounted && unitsPerToken * debt <= MAX_UNITS ? { unitsPerToken, refill } : undefined;
}

/**
 * Chooses the grain for `rate / per` tokens per step. A ratio that is no fraction of decimals (1/3), or too fine for so
 * large quantities, is rounded down to about 15 digits: never up.
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

/** `dividend / divisor` as a fraction of whole numbers in lowest terms; undefined when they are no short decimals. */
function toFraction(dividend: number, divisor: number): readonly [number, number] | undefined {
  const above = toDecimal(dividend);
  const below = toDecimal(divisor);
  if (!above || !below) return undefined;
  const numerator = above.digits * below.scale;
  const denominator = below.digits * above.scale;
  if (numerator > Number.MAX_SAFE_INTEGER || denominator > Number.MAX_SAFE_INTEGER) return undefined;
  const common = commonDivisor(numerator, denominator);
  return [numerator / common, denominator / common];
}

/** Euclid's algorithm; exact, since remainders of whole numbers are. */
function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** The number as `digits / scale` with at most nine decimals, if it is one. */
function toDecimal(number: number): { digits: number; scale: number } | undefined {
  for (let scale = 1; scale <= 1e9; scale *= 10) {
    const digits = Math.round(number * scale);
    if (digits / scale === number) return { digits, scale };
  }
  return undefined;
}
