/**
 * What a bucket under one config says to a demand, for clients: small, since the server has made all kinds of limits one form. It
 * decides as the engine does; a property test holds the two together.
 */
import type { RateLimitSnapshot } from "../wire/snapshots.js";

/** What is asked of a limit: `count` tokens (default 1), if need be from the future. */
export interface Demand {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

type Shard = RateLimitSnapshot["parts"][number];

/** A bucket under its own config, or under what overrides that. */
export interface Bucket extends RateLimitSnapshot {
  /** It denies any number. */
  reason?: "blocked";
  /** It gives any number. */
  unlimited?: true;
}

/** What a bucket says to one demand. */
type Request = [
  /** Infinity for more than may be asked for. */
  units: number,
  /** The first moment from one on at which the demand succeeds, whichever rows it finds. */
  servedFrom: (moment: number) => number,
  /** The most tokens that may be asked for. */
  most: number,
  /** What it says at a moment. */
  at: (moment: number) => [
    /** When what is asked for may start; Infinity for a denial. */
    start: number,
    /** How the bucket stands. */
    outlook: () => { value: number; remaining: number; resetAt?: number },
  ],
];

/** The last moment a JavaScript Date can name: a wait that would end later is cut off here. */
export const END_OF_TIME = 8.64e15;
/** Two units in the last place of a product: 0.29 tokens are not charged as more. */
const SNAP = Number.EPSILON * 2;

/** What a bucket is asked, and what it will say. */
export function requestTo(
  {
    parts,
    unitsPerToken,
    runs,
    ts: lastWrite,
    capacity,
    maxReserved,
    windowsFrom,
    until,
    reason,
    lastsMs,
    few,
    lastStart,
    tokens,
    unlimited,
  }: Bucket,
  count: number,
  reserve: boolean | undefined,
): Request {
  /** Of a sliding window there are none: what is taken comes back. */
  const [arrives] = runs;
  const bound = reserve && arrives ? capacity + maxReserved : capacity;
  const isAll = Math.abs(count - tokens) <= tokens * 4 * SNAP;
  const asked = isAll ? capacity : Math.ceil(count * unitsPerToken * (1 - SNAP));
  const units = (unlimited ?? (!reason && asked <= bound)) ? asked : Infinity;

  const at: Request[3] = (now) => {
    const ts = Math.max(now, lastWrite);
    const value = sum(parts, (part) => heldBy(part, now));
    /** At a later moment, if nobody comes, and nothing is lost for being full. */
    const held = (moment: number) =>
      arrives
        ? value + arrived(runs, ts, moment)
        : // Where a clock ahead has written one of the parts, the time of the others moves with it.
          sum(parts, (part) => heldBy(part, moment - ts + Math.max(now, part.ts)));
    // What a sliding window has promised is still missing when all that was taken until now is back.
    const owed = arrives ? -value : capacity - held(ts + lastsMs);
    const start =
      (unlimited ?? units <= value)
        ? now
        : !reserve || (units && owed + units > maxReserved)
          ? Infinity
          : Math.max(
              firstMoment(ts, (moment) => held(moment) >= units),
              units && lastStart,
            );
    const taken = start < Infinity ? units : 0;
    return [
      start,
      () => {
        const resetAt = firstMoment(ts, (moment) =>
          windowsFrom
            ? held(moment) > value
            : held(moment) - (moment < Math.max(ts, start) + lastsMs ? taken : 0) >= capacity,
        );
        return {
          // While all are denied, nothing but the end of that counts.
          ...(reason && now < until
            ? at(until)[1]()
            : // A list of windows does not say what comes before or after it.
              !(windowsFrom && ts < (resetAt < END_OF_TIME ? windowsFrom : resetAt)) && { resetAt }),
          value: value / unitsPerToken,
          remaining: reason ? 0 : Math.max(0, Math.floor((value - taken) / unitsPerToken)),
        };
      },
    ];
  };
  const servedFrom = (from: number) =>
    firstMoment(
      from,
      (moment) =>
        at(moment)[0] < Infinity &&
        (units > few || parts.every((part) => heldBy(part, moment) >= Math.min(units, part.capacity)) || reserve),
    );
  return [units, servedFrom, bound / unitsPerToken, at];
}

function heldBy({ capacity, value, runs, ts }: Shard, at: number): number {
  return Math.min(capacity, value + arrived(runs, ts, at));
}

/** The units that arrive after `from`, up to and including `to`. */
function arrived(runs: Shard["runs"], from: number, to: number): number {
  return Math.floor(
    sum(runs, ({ start, units, period, count }) => {
      const steps = (at: number) => Math.max(0, Math.min(count, Math.floor((at - start) / period)));
      return units * (steps(to) - steps(from));
    }),
  );
}

function sum<Item>(items: readonly Item[], unitsOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + unitsOf(item), 0);
}

/** The first millisecond from `from` on at which a condition that stays true is true; the end of time if none is. */
function firstMoment(from: number, holds: (moment: number) => boolean | undefined): number {
  let before = from - 1;
  let after = END_OF_TIME;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (holds(middle)) after = middle;
    else before = middle;
  }
  return after;
}
