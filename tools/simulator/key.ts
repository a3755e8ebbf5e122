/** Index keys and the ranges of them that a transaction reads. */
import { compareValues, type Value } from "convex/values";

/** A key: the indexed fields, then creation time and id, so that no two documents share a key. */
export type Key = readonly (Value | undefined)[];

/** An end of a range. `inclusive` says whether the keys that begin with `prefix` are within the range. */
export interface Bound {
  readonly prefix: Key;
  readonly inclusive: boolean;
}

export interface Range {
  readonly lower: Bound;
  readonly upper: Bound;
}

const UNBOUNDED: Bound = { prefix: [], inclusive: true };
export const EVERYTHING: Range = { lower: UNBOUNDED, upper: UNBOUNDED };

function compare(a: Value | undefined, b: Value | undefined): number {
  if (a === b) return 0;
  // Most comparisons are of shard numbers. NaN is the only number that needs Convex's own order.
  const difference = typeof a === "number" && typeof b === "number" ? a - b : 0;
  if (difference) return difference;
  return compareValues(a, b);
}

/** Compares the first fields of the key with `prefix`; 0 if the key begins with it. */
export function comparePrefix(key: Key, prefix: Key): number {
  for (let i = 0; i < prefix.length; i++) {
    const order = compare(key[i], prefix[i]);
    if (order !== 0) return order;
  }
  return 0;
}

export function isAbove(key: Key, { prefix, inclusive }: Bound): boolean {
  const order = comparePrefix(key, prefix);
  return inclusive ? order >= 0 : order > 0;
}

export function isBelow(key: Key, { prefix, inclusive }: Bound): boolean {
  const order = comparePrefix(key, prefix);
  return inclusive ? order <= 0 : order < 0;
}

export function isWithin(key: Key, { lower, upper }: Range): boolean {
  return isAbove(key, lower) && isBelow(key, upper);
}
