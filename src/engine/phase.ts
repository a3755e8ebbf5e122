/**
 * The start of a fixed window's windows if the config does not say it: always the same for a key, spread over the keys.
 */

/**
 * A start in [0, period), from a hash of the key, or of the name for the bucket without a key. The hash of a key is the
 * same for all limits: otherwise each limit that shows its start to a client would tell six more bits of the key.
 */
export function hashedStart(keyOrName: string, period: number): number {
  // 64 phases spread callers. A client sees the start; more bits of the hash would tell which key the server chose.
  const PHASES = 64;
  return Math.floor((Math.floor(hashOf(keyOrName) * PHASES) / PHASES) * period);
}

/**
 * A number in [0, 1) that a text always gets, spread evenly over many texts: FNV-1a over UTF-16 code units and a 0,
 * then the finalizer of MurmurHash3, so that texts that differ in one character lie apart.
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  const ended = `${text}\u0000`;
  for (let i = 0; i < ended.length; i++) hash = Math.imul(hash ^ ended.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  return (hash >>> 0) / 2 ** 32;
}
