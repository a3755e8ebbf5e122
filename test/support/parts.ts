/** The equal parts of a split bucket, as its rows name them. */

/** In their order; of level 1 and more. */
export function partsOf(level: number): string[] {
  return Array.from({ length: 2 ** level }, (_, index) => index.toString(2).padStart(level, "0"));
}
