/** The equal parts of a split bucket, as its rows name them. */

/** In their order; on level 0 the whole. */
export function partsOf(level: number): string[] {
  return level === 0 ? [""] : partsOf(level - 1).flatMap((part) => [`${part}0`, `${part}1`]);
}
