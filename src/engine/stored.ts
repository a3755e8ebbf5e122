/** Tokens as they are stored ↔ units as the engine counts them. */
import { MAX_TOKENS } from "./limit.js";
import { misuse } from "./misuse.js";
import { END_OF_TIME } from "./time.js";
import type { Bucket, Limit } from "./types.js";
import { floorUnits, MAX_UNITS } from "./units.js";

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
  // Saved up under a config with a larger capacity, tokens may be more units than now count exactly; they end at capacity.
  const units = value <= MAX_TOKENS ? Math.min(MAX_UNITS, floorUnits(value, limit.unitsPerToken)) : NaN;
  if (units >= -MAX_UNITS && Number.isInteger(ts) && ts >= 0 && ts <= END_OF_TIME) return { value: units, ts };
  throw misuse(
    limit.name,
    `the stored state is unusable (value ${value}, ts ${ts}), so nothing is let through. resetRateLimit makes it full again.`,
  );
}

export function toStored(limit: Limit, { value, ts }: Bucket): Stored {
  return { value: value / limit.unitsPerToken, ts };
}
