/** Where the windows of a fixed window start when the config does not say: the same for a bucket for ever, others elsewhere. */

/** 64 phases spread callers; more bits of the hash would tell a client, who sees the start, which key the server chose. */
const PHASE_BITS = 6;

/**
 * A start in [0, period), from a hash of the bucket's name and key: FNV-1a over UTF-16 code units, then the finalizer of
 * MurmurHash3, which spreads keys that differ in their last character over the whole period.
 */
export function hashedStart(name: string, key: string | undefined, period: number): number {
  let hash = 0x811c9dc5;
  for (const text of [name, "\u0000", key ?? ""]) {
    for (let i = 0; i < text.length; i++) {
      hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    }
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  return Math.floor(((hash >>> (32 - PHASE_BITS)) / 2 ** PHASE_BITS) * period);
}
