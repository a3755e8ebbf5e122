/**
 * When a row splits and when it folds: by the time since its last write, which tells how hot it is without any other row. The
 * constants are from simulations of the backend (docs/hot-limits.md).
 */
import type { Limit } from "../kinds/kind.js";
import type { Shard } from "./shard.js";

/** A row that was written this long ago or less is hot: another call is likely to be under way on it. */
const HOT_MS = 40;
/** A row that was not written for this long is cold: it can be one with its neighbours. */
const COLD_MS = 700;
/** Neighbours must have been idle for half as long before they are folded. */
const NEIGHBOURS_IDLE_MS = 350;
/** A split bucket of a limit without keys, which is hot as a rule, keeps 2^4 rows when it cools down. */
const KEPT_LEVEL = 4;

/**
 * A row is split, and a bucket that is slow to refill is laid anew, so that each part holds this many times the demand: fewer would be
 * gone before they could be split further, and the bucket would run out in many empty rows, which every denial has to read.
 */
const ROOM = 4;

/** What to do with a row once its new state is known. */
export type Fate =
  | { readonly kind: "stay" }
  /** Becomes equal rows on this level. */
  | { readonly kind: "split"; readonly level: number }
  /** Becomes one with all rows around it on this level. */
  | { readonly kind: "fold"; readonly level: number; readonly mustBeIdle: boolean };

const STAY: Fate = { kind: "stay" };

/**
 * @param before - the row as it was read.
 * @param after - the row with the units taken, advanced.
 * @param random - numbers in [0, 1).
 */
export function fateOf(
  whole: Limit,
  before: Shard,
  after: Shard,
  { units, now, key, random }: { units: number; now: number; key: string | undefined; random: () => number },
): Fate {
  const { least, most, isAuto } = whole.levels;
  const { level } = before.interval;
  if (level > most) return { kind: "fold", level: most, mustBeIdle: false };
  const gapMs = now - before.state.ts;
  // The same transaction, or the same millisecond: nothing can be told from it.
  if (gapMs === 0) return STAY;
  const floor = Math.max(least, isAuto && key === undefined ? Math.min(most, KEPT_LEVEL) : 0);
  const deepest = Math.min(most, level + levelsFor(after.state.value, units));
  if (level < deepest && after.limit.kind.owed(after.state) === 0) {
    if (level < least || (level < floor && gapMs < COLD_MS)) return { kind: "split", level: Math.min(floor, deepest) };
    if (random() < splitChance(level, gapMs)) return { kind: "split", level: level + 1 };
  }
  if (level > floor && gapMs >= COLD_MS && random() < (level <= 2 ? 1 : 1 / 4)) {
    const up = 1 + Math.floor(Math.log2(gapMs / COLD_MS));
    return { kind: "fold", level: Math.max(floor, level - up), mustBeIdle: true };
  }
  return STAY;
}

/** Rarely while there are few rows, more often further down; less often the longer ago the row was written. */
function splitChance(level: number, gapMs: number): number {
  const gap = gapMs < 0 ? HOT_MS : gapMs;
  return Math.min(1 / 2, 2 ** Math.max(1, level) / 16) * Math.min(1, (HOT_MS / gap) ** 2);
}

/** How many levels units may be split down, so that each part holds ROOM times the demand; negative when they do not. */
export function levelsFor(held: number, units: number): number {
  return Math.floor(Math.log2(held / (ROOM * units)));
}

/** Whether the neighbours of a row may become one with it: they have been idle. */
export function areIdle(neighbours: readonly Shard[], now: number): boolean {
  return neighbours.every(({ state }) => now - state.ts >= NEIGHBOURS_IDLE_MS);
}

/** Whether either of the rows was written this very millisecond: by this transaction, or in a burst; the others may be full. */
export function isJustWritten(shards: readonly Shard[], now: number): boolean {
  return shards.some(({ state }) => state.ts >= now);
}
