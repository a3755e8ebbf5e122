/** Where the windows of a fixed window start when the config does not say: the same for a bucket for ever, others elsewhere. */
import { hashOf } from "./hash.js";

/** 64 phases spread callers; more bits of the hash would tell a client, who sees the start, which key the server chose. */
const PHASES = 64;

/** A start in [0, period), from a hash of the bucket's name and key. */
export function hashedStart(name: string, key: string | undefined, period: number): number {
  return Math.floor((Math.floor(hashOf(name, key ?? "") * PHASES) / PHASES) * period);
}
