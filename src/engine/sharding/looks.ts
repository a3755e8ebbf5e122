/**
 * How many rows of a window a call looks at before it is denied. Tokens in a window's rows are lost unless they are taken in time,
 * so a denial in vain wastes them. A denial of any other limit may rest on two rows: its tokens are saved for the next call.
 */
import type { Limit } from "../kinds/kind.js";
import type { Demand } from "../request.js";
import { mayDenyOnTwo } from "./pool.js";
import { heldByAll, type Shard } from "./shard.js";

/** A call looks at rows until their shares of the window add up to this: of 2^7 rows with 2 or 3 tokens each these are 17 or 18. */
const TOKENS = 40;
const LEAST_ROWS = 6;
const MOST_ROWS = 20;
/** For a sliding window, a call stops looking when this many rows like those it saw would not hold its count. */
const LIKELY_ROWS = 24;
/**
 * Tokens of a sliding window that others take soon are contended: a call that finds one conflicts in one of three attempts, so it stops
 * looking. At 90 % demand tokens wait 110 ms on average, at three times the rate 15. Wald's sequential test tells the two apart: the
 * waits of the n rows that were read add up to less than (n - DOUBTED_ROWS) × this. A count above one is taken from what several takes
 * brought back, so what came back last has waited less than the others.
 */
const CONTENDED_MS = { one: 40, more: 60 } as const;
const DOUBTED_ROWS = 1.5;

export function looksFurther(limit: Limit, demand: Demand): boolean {
  return limit.kind.lapses?.(limit) !== undefined && mayDenyOnTwo(limit, demand);
}

/**
 * Whether as many rows like a row as a call looks at hold twice the units when they are full. Rows that are half used would never hold a
 * larger count: it is taken from a span of rows, read at once.
 */
export function fitsFew({ limit }: Shard, units: number): boolean {
  const { capacity, unitsPerToken } = limit;
  const rows = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, Math.ceil((TOKENS * unitsPerToken) / capacity)));
  return 2 * units <= rows * capacity;
}

/** Whether rows that do not hold a count together are enough for its denial. */
export function areEnough(limit: Limit, rows: readonly Shard[], now: number, units: number): boolean {
  const { unitsPerToken } = limit;
  if (areAll(rows)) return true;
  if (rows.length >= MOST_ROWS || (rows.length >= LEAST_ROWS && sharesOf(rows) >= TOKENS * unitsPerToken)) return true;
  if (limit.kind.lapses?.(limit) === "together") return false;
  // Rows that are short of one token hold nothing: they say little of others. Those that are short of ten may hold nine.
  const isOne = units <= unitsPerToken;
  if (!isOne && heldByAll(rows, now) * LIKELY_ROWS < units * rows.length) return true;
  return totalWait(rows) < (rows.length - DOUBTED_ROWS) * (isOne ? CONTENDED_MS.one : CONTENDED_MS.more);
}

/** Whether there are no other rows: those of a bucket tile [0, 1). */
function areAll(rows: readonly Shard[]): boolean {
  return rows.reduce((width, { interval }) => width + 2 ** -interval.length, 0) === 1;
}

function totalWait(rows: readonly Shard[]): number {
  return rows.reduce((sum, { limit, state }) => sum + (limit.kind.waitedMs?.(limit, state) ?? Infinity), 0);
}

/** Whether rows say nothing against a count that they do not hold: they are full, so the others may be. */
export function areFull(rows: readonly Shard[], now: number): boolean {
  return heldByAll(rows, now) >= sharesOf(rows);
}

function sharesOf(rows: readonly Shard[]): number {
  return rows.reduce((total, row) => total + row.limit.capacity, 0);
}

/** A call draws points until it has enough rows; some draws find a row again. */
export const MOST_DRAWS = 2 * MOST_ROWS;
