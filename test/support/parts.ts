/** The equal parts of a split bucket, as its rows name them. */

/** The parts of a level, in order. Level 0 is the whole bucket. */
export function partsOf(level: number): string[] {
  return level === 0 ? [""] : partsOf(level - 1).flatMap((part) => [`${part}0`, `${part}1`]);
}
