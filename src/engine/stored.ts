/** Tokens as they are stored ↔ units as the engine counts them. */
import { partOf, ROOT } from "./sharding/heap.js";
import { misuse, REMEDY, show } from "./misuse.js";
import { MAX_SHARDS } from "./sharding/shardCount.js";
import { END_OF_TIME } from "./time.js";
import type { Bucket, Limit, Part } from "./types.js";
import { floorUnits, MAX_TOKENS, MAX_UNITS } from "./units.js";

/** A bucket as a row or a snapshot holds it: `value` tokens at `ts`, in ms since the epoch. */
export interface Stored {
  readonly value: number;
  readonly ts: number;
}

/**
 * The bucket that a row holds, at most full: its capacity may have been lowered since. Fails closed.
 * @throws when the row cannot have been written by this package: nothing is let through until the bucket is reset.
 */
function fromStored(limit: Limit, { value, ts }: Stored): Bucket {
  // A token is at least one unit, whatever the config was when the row was written.
  const plausible = Number.isFinite(value) && value <= MAX_TOKENS && value >= -MAX_UNITS;
  if (plausible && Number.isInteger(ts) && ts >= 0 && ts <= END_OF_TIME) {
    return { value: Math.min(limit.capacity, floorUnits(value, limit.unitsPerToken)), ts };
  }
  throw misuse(
    limit.name,
    `the stored state is unusable (value ${show(value)}, ts ${show(ts)}), so nothing is let through. ${REMEDY}`,
  );
}

/** The part that a row of one shard holds. */
export function partFromStored(limit: Limit, shard: number, state: Stored): Part {
  if (!(Number.isInteger(shard) && shard >= ROOT && shard < 2 * MAX_SHARDS)) {
    throw misuse(limit.name, `the stored shard ${show(shard)} is unusable, so nothing is let through. ${REMEDY}`);
  }
  const part = partOf(limit, shard);
  return { node: shard, limit: part, bucket: fromStored(part, state) };
}

export function toStored(limit: Limit, { value, ts }: Bucket): Stored {
  return { value: value / limit.unitsPerToken, ts };
}
