/** A number in [0, 1) that texts always get, spread evenly over many texts: where windows start, how long a caller waits. */

/** FNV-1a over UTF-16 code units, then the finalizer of MurmurHash3, so that texts that differ in one character lie apart. */
export function hashOf(...texts: readonly string[]): number {
  let hash = 0x811c9dc5;
  for (const text of texts.flatMap((each) => [each, "\u0000"])) {
    for (let i = 0; i < text.length; i++) {
      hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    }
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  return (hash >>> 0) / 2 ** 32;
}
