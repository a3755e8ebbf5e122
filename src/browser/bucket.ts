/**
 * The answers of a bucket to demands under one config, for clients. It is small, because the server brings all kinds of
 * limits into one form. It decides as the engine does; a property test compares the two.
 */
import type { RateLimitSnapshot } from "../wire/snapshots.js";

/** The demand of a client: `count` tokens (default 1), with `reserve` also from the future. */
export interface Demand {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

/** A bucket under its own config, or under the override in force. */
export interface BucketInForce extends RateLimitSnapshot {}

type Row = RateLimitSnapshot["parts"][number];

/** The last time that a JavaScript Date can name: a later time is cut to this one. */
export const END_OF_TIME = 8.64e15;
/** Two units in the last place of a product: 0.29 tokens are not charged as more. */
const SNAP = Number.EPSILON * 2;

/**
 * A demand.
 *
 * - `units`: Infinity if the bucket can never give them.
 * - `servedFrom`: the first time at or after `from` at which the demand succeeds, whichever rows the call reads.
 * - `decide`: the decision at a time, of all rows or of some.
 */
export function requestOn(bucket: BucketInForce, count: number, reserve?: boolean) {
  const { parts, unitsPerToken, ts: lastWrite, tokens, capacity, mostReserved, windowsFrom, reason, few } = bucket;
  const { lastsMs, unlimited, pausedUntil, until = END_OF_TIME } = bucket;
  const isAll = Math.abs(count - tokens) <= tokens * 4 * SNAP;
  const asked = isAll ? capacity : Math.ceil(count * unitsPerToken * (1 - SNAP));
  const wanted = (unlimited ?? (!reason && asked <= (reserve ? mostReserved : capacity))) ? asked : Infinity;

  const decide = (now: number, own = parts, units = wanted) => {
    const from = units ? Math.max(now, pausedUntil) : now;
    const ts = Math.max(from, lastWrite);
    const rows = own.map((part) => ({ ...part, value: heldBy(part, from), ts: Math.max(from, part.ts) }));
    const given = sum(rows, ({ value }) => Math.max(0, value));
    // A demand for nothing waits until debts are paid.
    const isThere = unlimited ?? (units ? units <= given : rows.some(({ value }) => value >= 0));
    const start =
      isThere && (reserve || from === now)
        ? from
        : reserve
          ? reservedFrom(bucket, units ? rows : own, units, ts)
          : Infinity;
    const taken = start < Infinity ? units : 0;

    const describe = () => {
      // During a block only its end matters.
      const seen = Math.max(reason ? until : now, lastWrite);
      // Only a log has back what it gave.
      const backAt = lastsMs ? Math.max(ts, start) + lastsMs : Infinity;
      const resetAt = firstTime(seen, (time) =>
        windowsFrom === undefined
          ? sum(rows, (row) => laterOn(row, time)) - (time >= backAt ? 0 : taken) >= capacity
          : arrived(runsOf(bucket), seen, time) > 0,
      );
      // A list of windows says nothing about windows before its first or after its last.
      const isListed = windowsFrom === undefined || ts >= (resetAt < END_OF_TIME ? windowsFrom : resetAt);
      return {
        ...(isListed && { resetAt }),
        value: sum(own, (row) => heldBy(row, now)) / unitsPerToken,
        remaining: now < pausedUntil ? 0 : Math.max(0, Math.floor((given - taken) / unitsPerToken)),
      };
    };
    return { start, describe };
  };
  const servedFrom = (from: number) =>
    firstTime(
      from,
      (time) =>
        decide(time).start < Infinity &&
        (wanted > few || parts.every((part) => decide(time, [part], Math.min(wanted, part.capacity)).start < Infinity)),
    );
  return { units: wanted, servedFrom, decide };
}

/**
 * When a reservation starts; Infinity for never. Each row promises no more than its share. A count that is larger than
 * each is promised by all as one.
 */
function reservedFrom(bucket: BucketInForce, rows: readonly Row[], units: number, from: number): number {
  const { lastsMs, lastStart } = bucket;
  const whenHas = (row: Row, least: number) => firstTime(from, (time) => laterOn(row, time) >= least);
  const able = rows.filter(({ capacity }) => units <= capacity || !rows[1]);
  if (!able[0]) {
    const runs = runsOf(bucket);
    // All as one owes what comes in until the debts of all are paid. A log has the time of each promise.
    const paidAt = lastsMs ? from : Math.max(...rows.map((row) => whenHas(row, 0)));
    const value = paidAt > from ? -arrived(runs, from, paidAt) : sum(rows, (row) => row.value);
    able.push({ ...bucket, value, ts: from, runs });
  }
  const starts = able.map((row) =>
    units && heldBy(row, row.ts + lastsMs) - units < row.least ? Infinity : whenHas(row, units),
  );
  return Math.max(from, units && lastStart, Math.min(...starts));
}

/** How units arrive in the whole bucket. */
function runsOf({ parts, runs = parts.flatMap((part) => part.runs) }: BucketInForce): Row["runs"] {
  return runs;
}

/**
 * The tokens that were used: those that are missing, and in the same window also what was used above a capacity that
 * was lowered.
 */
export function usedOf(bucket: BucketInForce, now: number): number {
  const { parts, unitsPerToken, capacity, used, ts } = bucket;
  const missing = capacity - sum(parts, (part) => heldBy(part, now));
  return missing / unitsPerToken + (arrived(runsOf(bucket), ts, Math.max(now, ts)) > 0 ? 0 : used);
}

function heldBy(row: Row, time: number): number {
  return Math.min(row.capacity, laterOn(row, time));
}

/** What a row has at a time if nothing is taken, also beyond its capacity: a debt may be more than a full row. */
function laterOn({ value, runs, ts }: Row, time: number): number {
  return value + arrived(runs, ts, time);
}

/** The units that arrive after `from`, up to and including `to`. */
function arrived(runs: Row["runs"], from: number, to: number): number {
  return Math.floor(
    sum(runs, ({ start, units, period, count = Infinity }) => {
      const steps = (time: number) => Math.max(0, Math.min(count, Math.floor((time - start) / period)));
      return units * (steps(to) - steps(from));
    }),
  );
}

function sum<Item>(items: readonly Item[], unitsOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + unitsOf(item), 0);
}

/**
 * The first millisecond at or after `from` at which a condition holds that stays true; the end of time if there is
 * none.
 */
function firstTime(from: number, holds: (time: number) => boolean | undefined): number {
  let before = from - 1;
  let after = END_OF_TIME;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (holds(middle)) after = middle;
    else before = middle;
  }
  return after;
}
