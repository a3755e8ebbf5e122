/**
 * The units that limits of all kinds are counted in.
 *
 * Invariant: a limit counts in whole units, `unitsPerToken` to a token, chosen so that what accrues in one millisecond
 * (or one window) is a whole number of them. Sums, differences and comparisons of whole numbers below 2^53 are exact in
 * floating point, so nothing drifts, for years and at any rate.
 */
import type { SlidingWindowConfig } from "../wire/configs.js";
import type { Limit } from "./kinds/kind.js";
import { bucketNameOf } from "./kinds/policy.js";
import { misuseError } from "./misuse.js";
import { levelsOf } from "./sharding/levels.js";
import { DAY_MS } from "./time.js";
import { floorUnits, MAX_UNITS, SNAP } from "./units.js";

/** A rate, per ms or per window, and what is saved and owed, in tokens. */
interface Quantities extends Pick<SlidingWindowConfig, "rate" | "maxReserved" | "shards"> {
  /** The rate is per this many ms, or per window, which brings whole units. */
  readonly per: number | "window";
  readonly periodMs: number;
  /** What a full bucket holds. */
  readonly capacity: number;
}

/** How many units make a token, and how many of them arrive per step (a millisecond, or a window). */
type Grain = Pick<Limit, "unitsPerToken" | "refill">;

/**
 * A limit of any kind, as far as all kinds are alike.
 * @throws when a window cannot bring the rate in whole units, because the other quantities leave too few units to a
 * token.
 */
export function limitOf(own: Pick<Limit, "name" | "kind" | "config">, quantities: Quantities): Limit {
  const { rate, per, periodMs, capacity, maxReserved, shards } = quantities;
  const grain = grainFor(quantities);
  if (!grain) throw misuseError(own.name, explainCoarseness(quantities));
  const { unitsPerToken } = grain;
  // A window brings whole tokens to each shard, so each must get some.
  const [steps, most] = per === "window" ? [1, Math.min(capacity, rate)] : [per, capacity];
  const perSecond = (rate / steps / periodMs) * 1000;
  // And each shard owes for itself: without a share of this it could not reserve.
  const shared = maxReserved ? Math.min(most, maxReserved) : most;
  return {
    ...own,
    bucket: bucketNameOf(own.config),
    ...grain,
    periodMs,
    tokens: capacity,
    capacity: floorUnits(capacity, unitsPerToken),
    maxReserved: maxReserved === undefined ? MAX_UNITS : floorUnits(maxReserved, unitsPerToken),
    levels: shards ? levelsOf({ shards, most: shared, perSecond, capacity }) : { most: 0, least: 0, isAuto: false },
  };
}

/** Undefined if a window would lose more of the rate than `RATE_ERROR`. */
function grainFor({ rate, per, periodMs, capacity, maxReserved = 0 }: Quantities): Grain | undefined {
  // The debts of this many full buckets fit, or of a day of the rate if that is more.
  const DEBT_BUCKETS = 1000;
  // The share of a rate that rounding may lose: nobody can notice one part in 10^9.
  const RATE_ERROR = 1e-9;
  const steps = per === "window" ? 1 : per;
  const buckets = DEBT_BUCKETS * capacity;
  const ofADay = (rate / steps) * (DAY_MS / periodMs);
  // A window brings whole units. If a day's debt leaves too few of them for a third of a token, less may be owed.
  for (const debt of [Math.max(buckets, ofADay), buckets, capacity]) {
    const grain = chooseGrain(rate, steps, { exact: Math.max(capacity, maxReserved), debt: Math.max(1, debt) });
    const refill = per === "window" ? Math.floor(grain.refill) : grain.refill;
    if (refill / grain.unitsPerToken >= (rate / steps) * (1 - RATE_ERROR)) return { ...grain, refill };
  }
  return undefined;
}

/**
 * Chooses the grain for `rate / per` tokens per step: so fine that the largest quantity that counts exactly (capacity,
 * rate, reserve) and the largest debt fit. A ratio that is no fraction of decimals (1/3), or too fine for so large
 * quantities, is rounded down to about 15 digits: never up.
 */
export function chooseGrain(rate: number, per: number, { exact, debt }: { exact: number; debt: number }): Grain {
  // The units that a capacity, a rate or a reserve may take up; the rest of MAX_UNITS is room for debts.
  const EXACT_UNITS = 2 ** 48;
  // How finely to cut, finest first. 1000 makes thousandths of a token exact; 1024 besides lets a split bucket (at most
  // 2,048 shards) refill in whole units. Without it a write loses less than a unit.
  const REFINEMENTS = [1000 * 1024, 1000, 100, 10, 1];
  const most = Math.max(1, Math.min(EXACT_UNITS / Math.max(1, exact, rate / per), MAX_UNITS / debt));
  const [above, below] = [toDecimal(rate), toDecimal(per)];
  const numerator = above.digits * below.scale;
  const denominator = below.digits * above.scale;
  if (Math.max(numerator, denominator) <= Number.MAX_SAFE_INTEGER) {
    const divisor = commonDivisor(numerator, denominator);
    // A token is at least one unit, even where the debts do not fit.
    for (const refinement of REFINEMENTS) {
      const unitsPerToken = (denominator / divisor) * refinement;
      if (unitsPerToken <= most) return { unitsPerToken, refill: (numerator / divisor) * refinement };
    }
  }
  const unitsPerToken = 2 ** Math.floor(Math.log2(most));
  return { unitsPerToken, refill: (rate / per) * unitsPerToken * (1 - 4 * SNAP) };
}

/** Euclid's algorithm; exact, since remainders of whole numbers are. */
function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** The number as `digits / scale` with at most nine decimals; `digits` is infinite if it has more. */
function toDecimal(number: number): { digits: number; scale: number } {
  for (let scale = 1; scale <= 1e9; scale *= 10) {
    const digits = Math.round(number * scale);
    if (digits / scale === number) return { digits, scale };
  }
  return { digits: Infinity, scale: 1 };
}

/**
 * Why a rate cannot be counted, and what to change: the rate, or the largest other quantity, to a power of ten that
 * works.
 */
function explainCoarseness(quantities: Quantities): string {
  const { rate, capacity, maxReserved = 0 } = quantities;
  const [field, largest] = maxReserved > capacity ? ["maxReserved", maxReserved] : ["capacity", capacity];
  let most = 10 ** Math.floor(Math.log10(largest));
  const fits = () =>
    grainFor({ ...quantities, capacity: Math.min(capacity, most), maxReserved: Math.min(maxReserved, most) });
  while (most >= 1 && !fits()) most /= 10;
  return (
    `rate ${rate} has too many decimals to be counted with ${field} ${largest}: each window would bring too little. ` +
    "Use a rate with fewer decimals, such as 0.3333 in place of 1/3" +
    (most >= 1 ? `, or ${field} of at most ${most}.` : ".")
  );
}
