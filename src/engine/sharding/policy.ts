/**
 * When a row splits and when it folds: by the time since its last write, which tells how hot it is without any other row. The
 * constants are from simulations of the backend (bench/README.md), whose figures are in docs/benchmarks.md.
 */
import type { Limit } from "../kinds/kind.js";
import type { Demand } from "../request.js";
import type { Shard } from "./shard.js";

/**
 * A row that was written this long ago or less is hot: another call is likely to be under way on it. Calls on one row commit 16 to
 * 20 ms apart at best.
 */
const HOT_MS = 40;
/**
 * A row that was not written for this long is cold: it can be one with its neighbours, if they have been idle for half as long. On a
 * hot bucket with 0.3 rows for each call a second (levels.ts) one gap in a hundred is as long; folds there only cost reads.
 */
const COLD_MS = 1400;
/**
 * The bucket of a limit without keys is hot as a rule: it becomes 2^6 rows at once, and keeps them when it cools down. With 2^4 a step
 * to 1000/s conflicts so much that 16 permits (bench/README.md) are not enough for the attempts, and the bucket stays as it is.
 */
const KEPT_LEVEL = 6;

/**
 * A row is split, and a bucket that is slow to refill is laid anew, so that each part holds this many times the demand: fewer would be
 * gone before they could be split further, and the bucket would run out in many empty rows, which every denial has to read.
 */
const ROOM = 4;

/** A refill that brings a demand within so long is fast: a caller who is denied and comes back finds it. */
const FAST_MS = 50;

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
  { units, reserve }: Pick<Demand, "units" | "reserve">,
  { now, key, random }: { now: number; key: string | undefined; random: () => number },
): Fate {
  const { least, most, isAuto } = whole.levels;
  const { level } = before.interval;
  if (level > most) return { kind: "fold", level: most, mustBeIdle: false };
  const gapMs = now - before.state.ts;
  // The same transaction, or the same millisecond: nothing can be told from it.
  if (gapMs === 0) return STAY;
  const floor = Math.max(least, isAuto && key === undefined ? Math.min(most, KEPT_LEVEL) : 0);
  const deepest = Math.min(most, level + levelsBelow(whole, after, units));
  if (level < deepest) {
    // Reservations are left on few rows: rows that are full while others queue lose what would have come in.
    const isWarm = gapMs < COLD_MS && !reserve;
    if (level < least || (level < floor && isWarm)) return { kind: "split", level: Math.min(floor, deepest) };
    if (random() < splitChance(level, gapMs)) return { kind: "split", level: level + 1 };
  }
  if (level > floor && gapMs >= COLD_MS) {
    const up = 1 + Math.floor(Math.log2(gapMs / COLD_MS));
    return { kind: "fold", level: Math.max(floor, level - up), mustBeIdle: true };
  }
  return STAY;
}

/** How far down a row may be split at once. */
function levelsBelow(whole: Limit, { limit, state }: Shard, units: number): number {
  if (limit.kind.owed(state) > 0) return 0;
  // What a row holds does not matter where it fills again at once: a hot row that runs empty is one with too many callers.
  const isEmptied = isFast(whole, units) && state.value < units;
  return isEmptied ? 1 : levelsFor(state.value, units);
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
  return neighbours.every(({ state }) => now - state.ts >= COLD_MS / 2);
}

/** Whether either of the rows was written this very millisecond: by this transaction, or in a burst; the others may be full. */
export function isJustWritten(shards: readonly Shard[], now: number): boolean {
  return shards.some(({ state }) => state.ts >= now);
}

/** Whether a denial may rest on what two rows say, and a bucket need not save what it holds for later. */
export function isFast(limit: Limit, units: number): boolean {
  return fastUnits(limit) >= units;
}

/** The units that the refill brings within 50 ms. */
export function fastUnits(limit: Limit): number {
  return limit.kind.unitsPerMs(limit) * FAST_MS;
}
