/**
 * What a bucket under one config says to a demand, for clients: small, since the server has made all kinds of limits one form. It
 * decides as the engine does; a property test holds the two together.
 */
import type { RateLimitSnapshot } from "../snapshots.js";

/** What is asked of a limit: `count` tokens (default 1), if need be from the future. */
export interface Demand {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

type Bucket = Omit<RateLimitSnapshot, "mode" | "override">;
type Shard = Bucket["parts"][number];
type SpanRun = NonNullable<Bucket["few"]>[number]["runs"][number];

/** A bucket, and what is asked of it. */
interface Request extends Bucket {
  reserve: boolean | undefined;
  /** The most units that it may ask for. */
  bound: number;
  /** Infinity for more than that. */
  units: number;
}

/** The last moment a JavaScript Date can name: a wait that would end later is cut off here. */
export const END_OF_TIME = 8.64e15;
/** Two units in the last place of a product: 0.29 tokens are not charged as more. */
const SNAP = 2 ** -51;

/** @param isFree - the bucket gives any number. */
export function requestTo(bucket: Bucket, count: number, reserve: boolean | undefined, isFree?: boolean): Request {
  const { tokens, unitsPerToken, capacity, reservable } = bucket;
  const isAll = Math.abs(count - tokens) <= tokens * 4 * SNAP;
  const units = isAll ? capacity : Math.ceil(count * unitsPerToken * (1 - SNAP));
  const bound = reserve ? reservable : capacity;
  return { ...bucket, reserve, bound, units: isFree || units <= bound ? units : Infinity };
}

/** All parts as one. */
interface Whole {
  /** What they hold at `ts`: the moment that was asked for, or the last write by a clock that is ahead. */
  value: number;
  ts: number;
  /** What they hold at a later moment if nobody comes, and nothing is lost for being full. */
  held: (moment: number) => number;
}

export function wholeAt({ parts, runs, ts: lastWrite }: Bucket, at: number): Whole {
  const ts = Math.max(at, lastWrite);
  const value = sum(parts, (part) => heldBy(part, at));
  return {
    value,
    ts,
    held: (moment) =>
      runs
        ? value + arrived(runs, ts, moment)
        : // Where a clock ahead has written one of the parts, the time of the others moves with it.
          sum(parts, (part) => heldBy(part, moment - ts + Math.max(at, part.ts))),
  };
}

/** When work that asks at `at` may start; Infinity for a denial. */
export function startOf(request: Request, at: number): number {
  const { units, reserve, capacity, maxReserved, lastStart, lastsMs } = request;
  const { value, ts, held } = wholeAt(request, at);
  if (units <= value) return at;
  // What a sliding window has promised is still missing when all that was taken until now is back.
  const owed = request.runs ? -value : capacity - held(ts + lastsMs);
  if (!reserve || (units && owed + units > maxReserved)) return Infinity;
  return Math.max(
    firstMoment(ts, (moment) => held(moment) >= units),
    units && lastStart,
  );
}

/** The first moment from `from` on at which the same demand succeeds, whichever rows it finds. */
export function servedFrom(request: Request, from: number): number {
  const { units, parts, few, reserve } = request;
  const span = !reserve && few?.find(({ upTo }) => units <= upTo);
  if (!span) return firstMoment(from, (at) => startOf(request, at) < Infinity);
  const isFound = (at: number) => parts.every((part) => heldBy(part, at) >= Math.min(units, part.capacity));
  return isFound(from) ? from : firstMoment(from, (at) => isFound(at) && arrived(span.runs, from, at) >= units);
}

/** When the bucket is full again, if `taken` units are taken for `start`; for fixed windows, the start of the next, if known. */
export function resetOf(request: Request, at: number, taken: number, start: number): { resetAt?: number } {
  const { capacity, lastsMs, windowsFrom } = request;
  const { value, ts, held } = wholeAt(request, at);
  const resetAt = firstMoment(ts, (moment) =>
    windowsFrom
      ? held(moment) > value
      : held(moment) - (moment < Math.max(ts, start) + lastsMs ? taken : 0) >= capacity,
  );
  // A list of windows does not say what comes before or after it.
  return windowsFrom && ts < (resetAt < END_OF_TIME ? windowsFrom : resetAt) ? {} : { resetAt };
}

function heldBy({ value, ts, capacity, runs }: Shard, at: number): number {
  return Math.min(capacity, value + arrived(runs, ts, at));
}

/** The units that arrive after `from`, up to and including `to`. */
function arrived(runs: readonly SpanRun[], from: number, to: number): number {
  return Math.floor(
    sum(runs, ({ start = from, count = Infinity, period, units }) => {
      const steps = (at: number) => Math.max(0, Math.min(count, Math.floor((at - start) / period)));
      return units * (steps(to) - steps(from));
    }),
  );
}

/** The first millisecond from `from` on at which a condition that stays true is true; the end of time if none is. */
function firstMoment(from: number, holds: (moment: number) => boolean): number {
  let before = from - 1;
  let after = END_OF_TIME;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (holds(middle)) after = middle;
    else before = middle;
  }
  return after;
}

function sum<Item>(items: readonly Item[], unitsOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + unitsOf(item), 0);
}
