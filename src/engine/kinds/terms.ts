/** The units that limits of several kinds are counted in. */
import { misuseError } from "../misuse.js";
import { chooseGrain, type Grain } from "../grain.js";
import { floorUnits, MAX_UNITS } from "../units.js";

const DAY_MS = 86_400_000;

/** Debts of so many full buckets fit, or of a day of the rate, whichever is more. */
const DEBT_BUCKETS = 1000;

/** What a rate may lose to rounding: nobody can tell one part in 10^9. */
const RATE_ERROR = 1e-9;

/** A rate, per ms or per window, and what is saved and owed. */
interface Quantities {
  readonly rate: number;
  /** What the rate is per: milliseconds, or one window, which brings whole units. */
  readonly per: number | "window";
  readonly stepMs: number;
  readonly capacity: number;
  readonly maxReserved: number | undefined;
}

/** @throws when the rate cannot be counted beside so large quantities. */
export function countIn(name: string, quantities: Quantities): Grain & { capacity: number; maxReserved: number } {
  const { rate, stepMs, capacity, maxReserved } = quantities;
  const isWindow = quantities.per === "window";
  const per = quantities.per === "window" ? 1 : quantities.per;
  const exact = Math.max(capacity, maxReserved ?? 0);
  const buckets = DEBT_BUCKETS * capacity;
  const ofADay = (rate / per) * (DAY_MS / stepMs);
  // A window brings whole units: where a day's debt would leave too few of them for a third of a token, less may be owed.
  for (const debt of [Math.max(buckets, ofADay), buckets, capacity]) {
    const { unitsPerToken, refill: given } = chooseGrain(rate, per, { exact, debt: Math.max(1, debt) });
    const refill = isWindow ? Math.floor(given) : given;
    if (refill / unitsPerToken < (rate / per) * (1 - RATE_ERROR)) continue;
    return {
      unitsPerToken,
      refill,
      capacity: floorUnits(capacity, unitsPerToken),
      maxReserved: maxReserved === undefined ? MAX_UNITS : floorUnits(maxReserved, unitsPerToken),
    };
  }
  throw misuseError(
    name,
    `rate ${rate} cannot be counted beside a capacity of ${capacity}: give a whole number, or a smaller capacity.`,
  );
}
