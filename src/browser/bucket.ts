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

type ShardSnapshot = RateLimitSnapshot["parts"][number];

/** A bucket under its own config, or under the override in force. */
export interface BucketInForce extends RateLimitSnapshot {
  /** When the override ends. */
  until?: number;
  /** The bucket denies any count. */
  reason?: "blocked";
  /** The bucket allows any count. */
  unlimited?: true;
}

interface BucketDecision {
  /** When the work may start; Infinity for a denial. */
  start: number;
  describe: () => { value: number; remaining: number; resetAt?: number };
}

/** The last time that a JavaScript Date can name: a later time is cut to this one. */
export const END_OF_TIME = 8.64e15;
/** Two units in the last place of a product: 0.29 tokens are not charged as more. */
const SNAP = Number.EPSILON * 2;

type Row = ReturnType<typeof rowAt>;

/**
 * A row at a time: what it holds, what it will hold if nothing is taken, and what it owes. What is owed may be more
 * than a full row: `runs` go on. In a log each unit comes back `lastsMs` after it was taken; what is still missing then
 * was promised.
 */
function rowAt(part: ShardSnapshot, runs: ShardSnapshot["runs"], now: number, lastsMs: number | undefined) {
  const held = heldBy(part, now);
  const ts = Math.max(now, part.ts);
  return {
    held,
    later: (time: number) => (lastsMs ? heldBy(part, time) : held + arrived(runs, ts, time)),
    owed: lastsMs ? part.capacity - heldBy(part, ts + lastsMs) : -held,
    part,
  };
}

/** When a reservation starts on a row, which may owe its share of what the bucket may; Infinity for never. */
function reservedOn(bucket: BucketInForce, { later, owed, part }: Row, units: number, from: number): number {
  const { capacity, maxReserved, lastStart = 0 } = bucket;
  // A bucket of one row may have no capacity at all.
  if (units && owed + units > (part.capacity / capacity || 1) * maxReserved) return Infinity;
  const isThere = (time: number) => (units ? later(time) >= units : heldBy(part, time) >= 0);
  return Math.max(from, units && lastStart, firstTime(from, isThere));
}

/** All rows as one: it owes what comes in until the debts of all are paid. A log has the time of each promise. */
function wholeOf({ capacity, runs, lastsMs }: BucketInForce, rows: readonly Row[], from: number): Row {
  const paidAt = lastsMs ? from : Math.max(...rows.map(({ later }) => firstTime(from, (time) => later(time) >= 0)));
  const value = paidAt > from ? -arrived(runs, from, paidAt) : sum(rows, ({ held }) => held);
  const all = lastsMs ? rows.flatMap(({ part }) => part.runs) : runs;
  return rowAt({ capacity, value, ts: from, runs: all }, all, from, lastsMs);
}

/**
 * A demand.
 *
 * - `units`: Infinity if the bucket can never give them.
 * - `servedFrom`: the first time at or after `from` at which the demand succeeds, whichever rows the call reads.
 * - `decide`: the decision at a time.
 */
export function requestOn(bucket: BucketInForce, count: number, reserve: boolean | undefined) {
  const { parts, unitsPerToken, runs, ts: lastWrite, capacity, maxReserved, windowsFrom, reason, few, tokens } = bucket;
  const { until = END_OF_TIME, lastsMs, unlimited, pausedUntil = 0 } = bucket;
  const bound = reserve && !lastsMs ? capacity + maxReserved : capacity;
  const isAll = Math.abs(count - tokens) <= tokens * 4 * SNAP;
  const asked = isAll ? capacity : Math.ceil(count * unitsPerToken * (1 - SNAP));
  const units = (unlimited ?? (!reason && asked <= bound)) ? asked : Infinity;

  const decide = (now: number): BucketDecision => {
    const from = units ? Math.max(now, pausedUntil) : now;
    const ts = Math.max(from, lastWrite);
    const rows = parts.map((part) => rowAt(part, parts.length === 1 ? runs : part.runs, from, lastsMs));
    const given = sum(rows, ({ held }) => Math.max(0, held));
    // A demand for nothing waits until debts are paid.
    const isThere = unlimited ?? (units ? units <= given : rows.some(({ held }) => held >= 0));
    // Each row promises no more than its share. A count that is larger than each is promised by all as one.
    const able = rows.filter(({ part }) => units <= part.capacity || !rows[1]);
    const reservedFrom = () =>
      Math.min(...(able[0] ? able : [wholeOf(bucket, rows, ts)]).map((row) => reservedOn(bucket, row, units, ts)));
    const start = isThere && (reserve || from === now) ? from : reserve ? reservedFrom() : Infinity;
    const taken = start < Infinity ? units : 0;

    const describe = () => {
      const seen = Math.max(now, lastWrite);
      // Only a log has back what it gave.
      const backAt = Math.max(ts, start) + (lastsMs ?? NaN);
      const resetAt = firstTime(seen, (time) =>
        windowsFrom === undefined
          ? sum(rows, ({ later }) => later(time)) - (time >= backAt ? 0 : taken) >= capacity
          : arrived(runs, seen, time) > 0,
      );
      // A list of windows says nothing about windows before its first or after its last.
      const isListed = windowsFrom === undefined || ts >= (resetAt < END_OF_TIME ? windowsFrom : resetAt);
      return {
        // During a block only its end matters.
        ...(reason && now < until ? decide(until).describe() : isListed && { resetAt }),
        value: sum(rows, ({ held }) => held) / unitsPerToken,
        remaining: reason || now < pausedUntil ? 0 : Math.max(0, Math.floor((given - taken) / unitsPerToken)),
      };
    };
    return { start, describe };
  };
  const servedFrom = (from: number) =>
    firstTime(
      from,
      (time) =>
        decide(time).start < Infinity &&
        (units > few || parts.every((part) => heldBy(part, time) >= Math.min(units, part.capacity)) || reserve),
    );
  return { units, servedFrom, decide };
}

/**
 * The tokens that were used: those that are missing, and in the same window also what was used above a capacity that
 * was lowered.
 */
export function usedOf({ parts, unitsPerToken, capacity, used, runs, ts }: BucketInForce, now: number): number {
  const missing = capacity - sum(parts, (part) => heldBy(part, now));
  return missing / unitsPerToken + (arrived(runs, ts, Math.max(now, ts)) > 0 ? 0 : used);
}

function heldBy({ capacity, value, runs, ts }: ShardSnapshot, time: number): number {
  return Math.min(capacity, value + arrived(runs, ts, time));
}

/** The units that arrive after `from`, up to and including `to`. */
function arrived(runs: ShardSnapshot["runs"], from: number, to: number): number {
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
