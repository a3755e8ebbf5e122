/**
 * The answers of a bucket to demands under one config, for clients. It is small, because the server brings all kinds of limits into
 * one form. It decides as the engine does; a property test compares the two.
 */
import type { RateLimitSnapshot } from "../wire/snapshots.js";

/** The demand of a client: `count` tokens (default 1), with `reserve` also from the future. */
export interface Demand {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

type Shard = RateLimitSnapshot["parts"][number];

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

/**
 * A demand.
 *
 * - `units`: Infinity if the bucket can never give them.
 * - `most`: the most tokens that a call may ask for.
 * - `servedFrom`: the first time at or after `from` at which the demand succeeds, whichever rows the call reads.
 * - `decide`: the decision at a time.
 */
export function requestOn(bucket: BucketInForce, count: number, reserve: boolean | undefined) {
  const { parts, unitsPerToken, runs, ts: lastWrite, capacity, maxReserved, windowsFrom, reason, few, tokens } = bucket;
  const { until = END_OF_TIME, lastsMs = END_OF_TIME, lastStart = 0, unlimited } = bucket;
  /** A sliding window has no runs: its units come back one by one. */
  const [refills] = runs;
  const bound = reserve && refills ? capacity + maxReserved : capacity;
  const isAll = Math.abs(count - tokens) <= tokens * 4 * SNAP;
  const asked = isAll ? capacity : Math.ceil(count * unitsPerToken * (1 - SNAP));
  const units = (unlimited ?? (!reason && asked <= bound)) ? asked : Infinity;

  const decide = (now: number): BucketDecision => {
    const ts = Math.max(now, lastWrite);
    const value = sum(parts, (part) => heldBy(part, now));
    // If a server whose clock is ahead wrote one part, the time of the others moves with it.
    const stored = (time: number) => sum(parts, (part) => heldBy(part, time - ts + Math.max(now, part.ts)));
    /** The units at a later time, if nobody calls and a full bucket loses nothing. */
    const held = refills ? (time: number) => value + arrived(runs, ts, time) : stored;
    // The debt of a sliding window is what is still missing after everything taken until now has come back.
    const debt = refills ? -value : capacity - held(ts + lastsMs);
    const start =
      (unlimited ?? units <= value)
        ? now
        : !reserve || (units && debt + units > maxReserved)
          ? Infinity
          : Math.max(
              // A demand for nothing writes nothing: no part of a unit is lost now.
              firstTime(ts, (time) => (units ? held : stored)(time) >= units),
              units && lastStart,
            );
    const taken = start < Infinity ? units : 0;
    return {
      start,
      describe: () => {
        const resetAt = firstTime(ts, (time) =>
          windowsFrom === undefined
            ? held(time) - (time < Math.max(ts, start) + lastsMs ? taken : 0) >= capacity
            : held(time) > value,
        );
        return {
          // During a block only its end matters.
          ...(reason && now < until
            ? decide(until).describe()
            : // A list of windows says nothing about windows before its first or after its last.
              !(windowsFrom !== undefined && ts < (resetAt < END_OF_TIME ? windowsFrom : resetAt)) && { resetAt }),
          value: value / unitsPerToken,
          remaining: reason ? 0 : Math.max(0, Math.floor((value - taken) / unitsPerToken)),
        };
      },
    };
  };
  const servedFrom = (from: number) =>
    firstTime(
      from,
      (time) =>
        decide(time).start < Infinity &&
        (units > few || parts.every((part) => heldBy(part, time) >= Math.min(units, part.capacity)) || reserve),
    );
  return { units, most: bound / unitsPerToken, servedFrom, decide };
}

function heldBy({ capacity, value, runs, ts }: Shard, time: number): number {
  return Math.min(capacity, value + arrived(runs, ts, time));
}

/** The units that arrive after `from`, up to and including `to`. */
function arrived(runs: Shard["runs"], from: number, to: number): number {
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

/** The first millisecond at or after `from` at which a condition holds that stays true; the end of time if there is none. */
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
