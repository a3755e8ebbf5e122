/** How far the bucket of a limit may be split: from what the config says of `shards`, and from the limit itself. */
import type { RateLimitConfig } from "../../wire/configs.js";
import { MAX_SHARDS } from "./interval.js";

/** Depths of splitting: a bucket on level n has up to 2^n rows. */
export interface Levels {
  /** No row is split beyond this. 0 for a bucket that is always one row. */
  readonly most: number;
  /** Rows are split down to this at every write, and not folded above it. */
  readonly least: number;
  /** Whether the number of rows is the limit's own choice. */
  readonly isAuto: boolean;
}

/** The quantities that decide the levels: tokens to share, arrivals a second, and tokens that can be saved up. */
interface Size {
  readonly shards: RateLimitConfig["shards"];
  readonly most: number;
  readonly perSecond: number;
  readonly capacity: number;
}

export function levelsOf({ shards = 1, most: tokens, perSecond, capacity }: Size): Levels {
  // With fewer tokens than this a shard would turn away calls while its neighbours are full.
  const TOKENS_PER_SHARD = 2;
  // Rows for each call a second. A call holds its row for about 16 ms (docs/benchmarks.md), so with 0.3 rows for each
  // call a second one call in twenty meets another. Rounded up to a power of two it is the most; the policy keeps a
  // steady load near 0.3 itself.
  const SHARDS_PER_CALL_A_SECOND = 0.3;
  // A full bucket may be emptied faster than it fills: a flash crowd is taken to need three seconds for it.
  const SHARDS_PER_SAVED_TOKEN = 0.1;
  const isAuto = shards === "auto";
  const { atLeast = 1, atMost = MAX_SHARDS } = typeof shards === "object" ? shards : isAuto ? {} : { atMost: shards };
  // If no power of two lies between the bounds, the upper bound holds.
  const possible = Math.floor(Math.log2(Math.min(atMost, Math.max(1, tokens / TOKENS_PER_SHARD))));
  const least = Math.min(possible, Math.ceil(Math.log2(atLeast)));
  const useful = Math.max(atLeast, SHARDS_PER_CALL_A_SECOND * perSecond, SHARDS_PER_SAVED_TOKEN * capacity);
  const most = typeof shards === "number" ? possible : Math.min(possible, Math.ceil(Math.log2(useful)));
  return { most, least, isAuto };
}
