/** The start of a fixed window's windows if the config does not say it: always the same for a key, spread over the keys. */
import { hashOf } from "./hash.js";

/**
 * A start in [0, period), from a hash of the key, or of the name for the bucket without a key. The hash of a key is the same for all
 * limits: otherwise each limit that shows its start to a client would tell six more bits of the key.
 */
export function hashedStart(keyOrName: string, period: number): number {
  // 64 phases spread callers. A client sees the start; more bits of the hash would tell which key the server chose.
  const PHASES = 64;
  return Math.floor((Math.floor(hashOf(keyOrName) * PHASES) / PHASES) * period);
}
