/** The units that limits of all kinds are counted in, and how far their buckets may be split. */
import type { SlidingWindowConfig } from "../../wire/configs.js";
import { misuseError } from "../misuse.js";
import { chooseGrain, finestGrain, type Grain } from "../grain.js";
import { levelsOf } from "../sharding/levels.js";
import { floorUnits, MAX_UNITS } from "../units.js";
import { DAY_MS } from "./civil.js";
import type { Limit } from "./kind.js";

/** A rate, per ms or per window, and what is saved and owed. */
interface Quantities extends Pick<SlidingWindowConfig, "rate" | "maxReserved" | "shards"> {
  /** The rate is per this many ms, or per window, which brings whole units. */
  readonly per: number | "window";
  readonly periodMs: number;
  readonly capacity: number;
}

/**
 * The quantities of a limit, as each kind's `parse` puts them into it. @param quantities - `capacity`: what a full
 * bucket holds, in tokens.
 * @throws when a window cannot bring the rate in whole units, because the other quantities leave too few units to a
 * token.
 */
export function countIn(name: string, quantities: Quantities): Omit<Limit, "name" | "kind" | "bucket" | "config"> {
  const { rate, per, periodMs, capacity, maxReserved, shards } = quantities;
  const grain = grainFor(quantities);
  if (!grain) throw misuseError(name, explainCoarseness(quantities));
  const { unitsPerToken } = grain;
  // A window brings whole tokens to each shard, so each must get some.
  const [steps, most] = per === "window" ? [1, Math.min(capacity, rate)] : [per, capacity];
  const perSecond = (rate / steps / periodMs) * 1000;
  // And each shard owes for itself: without a share of this it could not reserve.
  const shared = maxReserved ? Math.min(most, maxReserved) : most;
  const units = floorUnits(capacity, unitsPerToken);
  const reserved = maxReserved === undefined ? MAX_UNITS : floorUnits(maxReserved, unitsPerToken);
  return {
    ...grain,
    periodMs,
    tokens: capacity,
    capacity: units,
    maxReserved: reserved,
    mostReserved: units + reserved,
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
  const exact = Math.max(capacity, maxReserved);
  const buckets = DEBT_BUCKETS * capacity;
  const ofADay = (rate / steps) * (DAY_MS / periodMs);
  const most = Math.max(1, buckets, ofADay);
  const counting = (debt: number): Grain | undefined => {
    const { unitsPerToken, refill: given } = chooseGrain(rate, steps, { exact, debt: Math.max(1, debt) });
    const refill = per === "window" ? Math.floor(given) : given;
    return refill / unitsPerToken >= (rate / steps) * (1 - RATE_ERROR) ? { unitsPerToken, refill } : undefined;
  };
  // A window brings whole units. If a day's debt leaves too few of them for a third of a token, less may be owed.
  return finestGrain(rate, steps, { exact, debt: most }) ?? counting(most) ?? counting(buckets) ?? counting(capacity);
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
