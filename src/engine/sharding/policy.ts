/**
 * When a row splits and when it folds. Both depend on the time since its last write, which shows how hot it is without
 * reading other rows, and on what it runs out of. The constants are from simulations of the backend (bench/README.md),
 * whose figures are in docs/benchmarks.md.
 */
import { type Limit, unitsPerMs } from "../kinds/kind.js";
import type { Demand } from "../request.js";
import type { Bucket } from "../bucket.js";
import type { Interval } from "./interval.js";
import type { Shard } from "./shard.js";

/**
 * A row that was written this long ago or less is hot: another call is likely to be under way on it. Calls on one row
 * commit 16 to 20 ms apart at best.
 */
const HOT_MS = 40;
/**
 * A row that was not written for this long is cold: it becomes one with its neighbours. On a hot bucket with 0.3 rows
 * for each call a second (levels.ts) one gap in a thousand is as long, so folds there hardly conflict.
 */
export const COLD_MS = 2000;
/**
 * The bucket of a limit without keys is hot as a rule: it becomes 2^6 rows at once, and keeps them when it cools down.
 * With 2^4, a step to 1000/s causes too many conflicts: 16 permits (bench/README.md) are too few for the attempts, and
 * the bucket does not grow.
 */
const KEPT_LEVEL = 6;
/**
 * The same for a window whose rows all fill up when it begins: most calls find a full row then. With 2^6 rows 1000
 * calls/s took 1.14 to 1.16 attempts, with 2^8 1.11 to 1.12.
 */
const KEPT_LEVEL_OF_WINDOWS = 8;

/**
 * A row is split, or a slow bucket rearranged, so that each part holds this many times the demand. Smaller parts would
 * be empty before they could be split further. A count for which no row is large enough is taken from a span that can
 * hold as much.
 */
const ROOM = 4;
/**
 * A row of a fast limit that is emptied by a call which found another row short has too many callers: it splits in one
 * of four such writes. Its gap is the time in which a token comes, so it does not tell how hot the row is. If demand is
 * below the refill, one call in fifteen finds a row short. Such rows must not split, since smaller ones are short more
 * often.
 */
const CROWDED_CHANCE = 1 / 4;

/** A refill that brings a demand within this time is fast: a caller who retries finds the tokens. */
const FAST_MS = 50;

/** The demand of a call on one row. */
interface ShardDemand extends Pick<Demand, "units" | "reserve"> {
  /** Whether other rows were short of it. */
  readonly wasShort?: boolean;
}

/** A demand's change of a row: the row as it was read, and advanced, with the units taken. */
export interface ShardChange<Row extends Shard = Shard> {
  readonly before: Row;
  readonly after: Shard;
  readonly demand: ShardDemand;
}

/**
 * The level on which a row goes on: its own, a deeper one in equal parts, or a higher one with all rows around it.
 * @param random - numbers in [0, 1).
 */
export function levelAfter(
  { limit, key }: Bucket,
  { before, after, demand: { units, reserve, wasShort = false } }: ShardChange,
  { now, random }: { now: number; random: () => number },
): number {
  const { least, most, isAuto } = limit.levels;
  const level = before.interval.length;
  const isEmptied = after.state.value < units;
  const owes = after.state.value < 0;
  // A slow bucket thus runs out on one row, and denials read only that. One that owes stays where its debt is.
  if (isEmptied && !owes && !isFast(limit, units)) return Math.max(0, level - 1);
  const gapMs = now - before.state.ts;
  // The same transaction, or the same millisecond: nothing can be told from it.
  if (gapMs === 0) return level;
  const lapses = limit.kind.lapses?.(limit);
  // All rows of a window get their units back together; those of a log come back one by one.
  const kept = lapses && limit.kind.runsFrom ? KEPT_LEVEL_OF_WINDOWS : KEPT_LEVEL;
  const floor = Math.max(least, isAuto && key === undefined ? Math.min(most, kept) : 0);
  // A window's rows are short of large counts because their shares are small: smaller ones would be short more often.
  const hasCrowd = wasShort && (!lapses || units <= limit.unitsPerToken);
  const isCrowded = isEmptied && (hasCrowd || level === 0);
  // A debt is cut in halves that are paid at the same time as the whole.
  const held = isCrowded || owes ? 1 : levelsFor(after.state.value, units);
  // A full part loses what comes in while others owe, the more often the smaller it is.
  const useful = reserve ? Math.max(least, levelsFor(limit.capacity, units)) : most;
  const deepest = Math.min(most, useful, level + held);
  if (level < deepest) {
    if (level < least || (level < floor && gapMs < COLD_MS)) return Math.min(floor, deepest);
    if (random() < (isCrowded && hasCrowd ? CROWDED_CHANCE : splitChance(level, gapMs))) return level + 1;
  }
  if (owes || level <= floor || gapMs < COLD_MS) return level;
  return Math.max(floor, level - 1 - Math.floor(Math.log2(gapMs / COLD_MS)));
}

/** Rarely while there are few rows, more often further down; less often the longer ago the row was written. */
function splitChance(level: number, gapMs: number): number {
  return Math.min(1 / 2, 2 ** Math.max(1, level) / 16) * (HOT_MS / Math.max(HOT_MS, gapMs)) ** 2;
}

/**
 * How many levels down units may be split so that each part holds `ROOM` times the demand; 0 if they do not hold that
 * themselves.
 */
export function levelsFor(held: number, units: number): number {
  return Math.floor(Math.log2(Math.max(1, held / (ROOM * units))));
}

/**
 * The interval around a row, itself not included, from which a count that is large for the row is taken, or any if the
 * row is too small.
 */
export function spanFor({ capacity }: Limit, interval: Interval, units: number): Interval {
  return interval.slice(0, Math.min(interval.length - 1, levelsFor(capacity, units)));
}

/**
 * Whether a denial may rest on what two of several rows say, and a bucket need not save what it holds for later. A
 * demand for nothing is as fast as one for a token.
 */
export function isFast(limit: Limit, units: number): boolean {
  return (units || limit.unitsPerToken) <= fastUnits(limit);
}

/** The most units that are fast; 0 for a bucket of one row, which is exact. */
export function fastUnits(limit: Limit): number {
  return limit.levels.most === 0 ? 0 : unitsPerMs(limit) * FAST_MS;
}
