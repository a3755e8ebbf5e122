/** Tokens as they are stored ↔ units as the engine counts them. */
import { misuse, show } from "./misuse.js";
import { END_OF_TIME } from "./time.js";
import type { Bucket, Limit } from "./types.js";
import { floorUnits, MAX_UNITS } from "./units.js";

/** A bucket as a row or a snapshot holds it: `value` tokens at `ts`, in ms since the epoch. */
export interface Stored {
  readonly value: number;
  readonly ts: number;
}

/**
 * The bucket that a row holds, at most full: its capacity may have been lowered since. Fails closed.
 * @throws when the row cannot have been written by this package: nothing is let through until the bucket is reset.
 */
export function fromStored(limit: Limit, { value, ts }: Stored): Bucket {
  // A token is at least one unit, whatever the config was when the row was written.
  const plausible = Number.isFinite(value) && Math.abs(value) <= MAX_UNITS;
  if (plausible && Number.isInteger(ts) && ts >= 0 && ts <= END_OF_TIME) {
    return { value: Math.min(limit.capacity, floorUnits(value, limit.unitsPerToken)), ts };
  }
  throw misuse(
    limit.name,
    `the stored state is unusable (value ${show(value)}, ts ${show(ts)}), so nothing is let through. ` +
      "resetRateLimit makes it full again.",
  );
}

export function toStored(limit: Limit, { value, ts }: Bucket): Stored {
  return { value: value / limit.unitsPerToken, ts };
}
