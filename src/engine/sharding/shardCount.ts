/** How many shards a limit has. */
import type { RateLimitConfig } from "../../validators.js";

/** The most rows of one bucket: a single call may have to read all of them, well within the platform's limits. */
export const MAX_SHARDS = 256;

/** How long a call holds its row, from its snapshot to its commit: about 15 ms on the real backend (docs/benchmarks.md). */
const CONFLICT_WINDOW_S = 0.015;
/** Shards per call in flight that keep nine calls in ten free of conflicts. */
const SHARDS_PER_CALL = 10;
/** A full bucket may be emptied faster than it fills: a flash crowd is taken to need three seconds for it. */
const FLASH_CROWD_S = 3;
/** With fewer tokens than this a shard would turn away calls while its neighbours are full. */
const TOKENS_PER_SHARD = 2;

/**
 * The number of leaves: a power of two. `"auto"` sizes it by the calls per second that the limit lets through; either way no
 * shard holds fewer than two tokens.
 */
export function shardCount({ kind, rate, period, capacity = rate, shards = 1 }: RateLimitConfig): number {
  const callsPerSecond = Math.max((rate / period) * 1000, capacity / FLASH_CROWD_S);
  const wanted = shards === "auto" ? SHARDS_PER_CALL * CONFLICT_WINDOW_S * callsPerSecond : shards;
  // A window brings whole tokens to each shard, so each must get some.
  const least = kind === "fixed window" ? Math.min(capacity, rate) : capacity;
  const possible = Math.min(MAX_SHARDS, least / TOKENS_PER_SHARD);
  if (possible < 2) return 1;
  return Math.min(2 ** Math.ceil(Math.log2(Math.max(1, wanted))), 2 ** Math.floor(Math.log2(possible)));
}
