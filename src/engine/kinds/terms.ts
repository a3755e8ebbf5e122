/** The fields that limits of several kinds have, and the units that they are counted in. */
import { type Field, type Fields, numberField, required } from "../fields.js";
import { misuseError } from "../misuse.js";
import { shardsField } from "../sharding/levels.js";
import { chooseGrain, type Grain } from "../grain.js";
import { floorUnits, MAX_TOKENS, MAX_UNITS } from "../units.js";

/** Milliseconds: 31,000 years. */
export const MAX_PERIOD_MS = 1e15;

const DAY_MS = 86_400_000;

/** Debts of so many full buckets fit, or of a day of the rate, whichever is more. */
const DEBT_BUCKETS = 1000;

/** What a rate may lose to rounding: nobody can tell one part in 10^9. */
const RATE_ERROR = 1e-9;

const tokens = numberField({ atLeast: 0, atMost: MAX_TOKENS });
export const rateField: Field = required(numberField({ above: 0, atMost: MAX_TOKENS }));
export const reservingFields: Fields = { maxReserved: tokens, shards: shardsField };
export const savingFields: Fields = { capacity: tokens, ...reservingFields };

/** A rate, per ms or per window, and what is saved and owed. */
interface Quantities {
  readonly rate: number;
  /** What the rate is per: milliseconds, or one window, which brings whole units. */
  readonly per: number | "window";
  readonly stepsPerDay: number;
  readonly capacity: number;
  readonly maxReserved: number | undefined;
}

/** @throws when a window cannot bring the rate in whole units, because the other quantities leave too few units to a token. */
export function countIn(name: string, quantities: Quantities): Grain & { capacity: number; maxReserved: number } {
  const { capacity, maxReserved } = quantities;
  const grain = grainFor(quantities);
  if (!grain) throw misuseError(name, explainCoarseness(quantities));
  const { unitsPerToken } = grain;
  return {
    ...grain,
    capacity: floorUnits(capacity, unitsPerToken),
    maxReserved: maxReserved === undefined ? MAX_UNITS : floorUnits(maxReserved, unitsPerToken),
  };
}

/** Undefined if a window would lose more of the rate than `RATE_ERROR`. */
function grainFor({ rate, per, stepsPerDay, capacity, maxReserved = 0 }: Quantities): Grain | undefined {
  const steps = per === "window" ? 1 : per;
  const exact = Math.max(capacity, maxReserved);
  const buckets = DEBT_BUCKETS * capacity;
  const ofADay = (rate / steps) * stepsPerDay;
  // A window brings whole units. If a day's debt leaves too few of them for a third of a token, less may be owed.
  return [Math.max(buckets, ofADay), buckets, capacity]
    .map((debt) => chooseGrain(rate, steps, { exact, debt: Math.max(1, debt) }))
    .map(({ unitsPerToken, refill }) => ({ unitsPerToken, refill: per === "window" ? Math.floor(refill) : refill }))
    .find(({ unitsPerToken, refill }) => refill / unitsPerToken >= (rate / steps) * (1 - RATE_ERROR));
}

/** Why a rate cannot be counted, and what to change: the rate, or the largest other quantity, to a power of ten that works. */
function explainCoarseness(quantities: Quantities): string {
  const { rate, capacity, maxReserved = 0 } = quantities;
  const [field, largest] = maxReserved > capacity ? ["maxReserved", maxReserved] : ["capacity", capacity];
  let most = 10 ** Math.floor(Math.log10(largest));
  const fits = () =>
    grainFor({ ...quantities, capacity: Math.min(capacity, most), maxReserved: Math.min(maxReserved, most) });
  while (most >= 1 && !fits()) most /= 10;
  return (
    `rate ${rate} has too many decimals to be counted with ${field} ${largest}: each window would bring too little. ` +
    `Use a rate with fewer decimals, such as 0.3333 in place of 1/3${most >= 1 ? `, or ${field} of at most ${most}` : ""}.`
  );
}

export function stepsPerDay(stepMs: number): number {
  return DAY_MS / stepMs;
}
