/** Tokens as they are stored ↔ units as the engine counts them. */
import { misuse } from "./misuse.js";
import { END_OF_TIME } from "./time.js";
import type { Bucket, Limit } from "./types.js";
import { floorUnits, MAX_TOKENS, MAX_UNITS } from "./units.js";

/** A bucket as a row or a snapshot holds it: `value` tokens at `ts`, in ms since the epoch. */
export interface Stored {
  readonly value: number;
  readonly ts: number;
}

/**
 * The bucket that a row holds. Fails closed.
 * @throws when the row cannot have been written by this package: nothing is let through until the bucket is reset.
 */
export function fromStored(limit: Limit, { value, ts }: Stored): Bucket {
  const units = floorUnits(value, limit.unitsPerToken);
  if (value <= MAX_TOKENS && units >= -MAX_UNITS && Number.isInteger(ts) && ts >= 0 && ts <= END_OF_TIME) {
    // A row written under a larger capacity may hold more than these finer units can count; tokens above the capacity are cut.
    return { value: Math.min(MAX_UNITS, units), ts };
  }
  throw misuse(
    limit.name,
    `the stored state is unusable (value ${value}, ts ${ts}), so nothing is let through. resetRateLimit makes it full again.`,
  );
}

export function toStored(limit: Limit, { value, ts }: Bucket): Stored {
  return { value: value / limit.unitsPerToken, ts };
}
