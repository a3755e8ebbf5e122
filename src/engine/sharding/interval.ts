/**
 * Which part of a bucket a row stands for: an interval of [0, 1), of length 2^-level. The rows of a bucket are none (it is full) or
 * tile [0, 1), so exactly one row covers each point.
 */

/** Intervals start at multiples of 1/1024: enough rows for several thousand calls a second. */
export const MAX_LEVEL = 10;
export const POINTS = 2 ** MAX_LEVEL;

export interface Interval {
  /** In 1/1024ths. */
  readonly start: number;
  readonly level: number;
}

/** The whole bucket. */
export const WHOLE: Interval = { start: 0, level: 0 };

/** A row's `shard` holds start and level, ordered by start: absent for the whole. */
const LEVELS = 16;

/** The `shard` of the row that overrides a bucket's limit: after those of all its parts, and no part itself. */
export const OVERRIDE_SHARD = LEVELS * POINTS;

export function toShard({ start, level }: Interval): number | undefined {
  return level === 0 ? undefined : LEVELS * start + level;
}

/** The interval that a row's `shard` names; undefined when it names none. */
export function fromShard(shard: number | undefined): Interval | undefined {
  if (shard === undefined) return WHOLE;
  const interval = { start: Math.floor(shard / LEVELS), level: shard % LEVELS };
  const { start, level } = interval;
  const isOurs = Number.isInteger(shard) && level >= 1 && level <= MAX_LEVEL;
  return isOurs && start % width(interval) === 0 && start < POINTS ? interval : undefined;
}

/** The length in 1/1024ths. */
export function width({ level }: Interval): number {
  return POINTS / 2 ** level;
}

export function covers({ start, level }: Interval, point: number): boolean {
  return point >= start && point < start + width({ start, level });
}

export function halves({ start, level }: Interval): [Interval, Interval] {
  const left = { start, level: level + 1 };
  return [left, { ...left, start: start + width(left) }];
}

/** The interval of a shallower level around this one. */
export function around({ start }: Interval, level: number): Interval {
  return { start: start - (start % width({ start, level })), level };
}

/** The largest `shard` of a row that may cover the point: the last of those up to it covers it. */
export function lastShardAt(point: number): number {
  return LEVELS * point + LEVELS - 1;
}

/** The `shard`s of the rows within an interval that is not the whole. */
export function shardsWithin(interval: Interval): { first: number; last: number } {
  return { first: LEVELS * interval.start, last: lastShardAt(interval.start + width(interval) - 1) };
}

/** Whether the intervals, in order, cover an interval exactly once. */
export function tile(whole: Interval, parts: readonly Interval[]): boolean {
  let next = whole.start;
  for (const part of parts) {
    if (part.start !== next) return false;
    next += width(part);
  }
  return next === whole.start + width(whole);
}
