/**
 * How many rows of a window a call looks at before it is denied. Tokens in a window's rows are lost unless they are
 * taken in time, so a denial in vain wastes them. A denial of any other limit may rest on two rows: its tokens are
 * saved for the next call.
 */
import { type Limit, unitsPerMs } from "../kinds/kind.js";
import { logOf } from "../kinds/log.js";
import type { Demand } from "../request.js";
import { mayDenyOnTwo } from "./waits.js";
import { areAll, givenByAll, heldBy, type Shard, sumOf } from "./shard.js";

/**
 * A call looks at rows until their shares of the window add up to this: of 2^7 rows with 2 or 3 tokens each these are
 * 17 or 18.
 */
const TOKENS = 40;
/** And to this many counts: among calls of one token, one of twenty finds rows that hold a few. */
const COUNTS = 8;
const LEAST_ROWS = 6;
const MOST_ROWS = 20;

export function looksFurther(limit: Limit, demand: Demand): boolean {
  return Boolean(limit.kind.lapses?.(limit)) && mayDenyOnTwo(limit, demand);
}

/**
 * Whether as many rows like a row as a call looks at hold twice the units when they are full. Rows that are half used
 * would never hold a larger count: it is taken from a span of rows, read at once.
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
  const enough = Math.max(TOKENS * unitsPerToken, COUNTS * units);
  if (rows.length >= MOST_ROWS || (rows.length >= LEAST_ROWS && sharesOf(rows) >= enough)) return true;
  // Tokens of a sliding window that others take soon are contended: a call that finds some conflicts in one of three
  // attempts, so it stops looking. How long a row's tokens wait is estimated in two ways: by the wait of those that
  // were taken last, and by the time in which as many come back as wait now (Little's law). Wald's sequential test
  // tells contended rows from others: n rows are contended if the first estimate plus twice the second is less than (n
  // - 1) × this. A row that is short of one token holds less than one, so there the second says little. The constants
  // are from simulations of demand at 90 % and at three times the rate.
  const CONTENDED_MS = units <= unitsPerToken ? 30 : 240;
  const waits = sumOf(rows, waitedMs);
  const most = (rows.length - 1) * CONTENDED_MS;
  // The first estimate decides alone for all fixed windows, and where it is too long. The second has to advance every
  // row.
  const comesBackMs = (row: Shard) => heldBy(row, now) / unitsPerMs(row.limit);
  return waits < most && waits + 2 * sumOf(rows, comesBackMs) < most;
}

/** How long the units of a log that came back last had been there when a row was written; without a log for ever. */
function waitedMs({ limit, state }: Shard): number {
  const left = state.ts - limit.periodMs;
  const last = logOf(state).findLast(({ at }) => at <= left);
  return last ? left - last.at : Infinity;
}

/** Whether rows say nothing against a count that they do not hold: they are full, so the others may be. */
export function areFull(rows: readonly Shard[], now: number): boolean {
  return givenByAll(rows, now) >= sharesOf(rows);
}

function sharesOf(rows: readonly Shard[]): number {
  return sumOf(rows, ({ limit }) => limit.capacity);
}

/** A call draws points until it has enough rows; some draws find a row again. */
export const MOST_DRAWS = 2 * MOST_ROWS;
