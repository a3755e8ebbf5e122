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
type Run = Bucket["parts"][number]["runs"][number];
type SpanRun = NonNullable<Bucket["few"]>[number]["runs"][number];

/** A bucket, and what is asked of it. */
interface Request extends Bucket {
  reserve: boolean | undefined;
  /** Infinity for more than the bucket can ever give. */
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
  return { ...bucket, reserve, units: isFree || units <= bound ? units : Infinity };
}

/** All parts as one from a moment on. Where a clock ahead has written one of them, the time of the others moves with it. */
export function wholeAt(
  { parts, runs, ts: lastWrite }: Bucket,
  at: number,
): { value: number; ts: number; runs: Run[] } {
  const ts = Math.max(at, lastWrite);
  return {
    value: sum(parts, (part) => Math.min(part.capacity, part.value + arrived(part.runs, part.ts, at))),
    ts,
    runs:
      runs ??
      parts.flatMap((part) => part.runs.map((run) => ({ ...run, start: run.start + ts - Math.max(at, part.ts) }))),
  };
}

/** When work that asks at `at` may start; Infinity for a denial. */
export function startOf(request: Request, at: number): number {
  const { units, reserve, maxReserved, lastStart } = request;
  const { value, ts, runs } = wholeAt(request, at);
  if (units <= value) return at;
  const owed = request.runs ? -value : sum(runs, (run) => (run.start > ts ? run.units : 0));
  if (!reserve || (units && owed + units > maxReserved)) return Infinity;
  return Math.max(whenArrived(runs, ts, units - value), units && lastStart);
}

/** The first moment from `from` on at which the same demand succeeds, whichever rows it finds. */
export function servedFrom(request: Request, from: number): number {
  const { units, parts, few, reserve } = request;
  const span = !reserve && few?.find(({ upTo }) => units <= upTo);
  if (!span) return firstMoment(from, (at) => startOf(request, at) < Infinity);
  const latest = Math.max(
    ...parts.map((part) => whenArrived(part.runs, part.ts, Math.min(units, part.capacity) - part.value)),
  );
  return latest > from ? Math.max(latest, whenArrived(span.runs, from, units)) : from;
}

/** When the bucket is full again, if `taken` units are taken for `start`; for fixed windows, the start of the next, if known. */
export function resetOf(request: Request, at: number, taken: number, start: number): { resetAt?: number } {
  const { capacity, lastsMs, resetUnits } = request;
  const { value, ts, runs } = wholeAt(request, at);
  const back = { start: Math.max(ts, start), period: lastsMs, count: 1, units: taken };
  const resetAt = whenArrived([...runs, back], ts, resetUnits ?? capacity + taken - value);
  // A list of windows does not say what comes before or after it.
  return resetUnits && ts < (resetAt < END_OF_TIME ? (runs[0]?.start ?? 0) : resetAt) ? {} : { resetAt };
}

/** The units that arrive after `from`, up to and including `to`. */
function arrived(runs: readonly SpanRun[], from: number, to: number): number {
  return Math.floor(
    sum(runs, ({ start = from, count = Infinity, period = 1, units }) => {
      const steps = (at: number) => Math.max(0, Math.min(count, Math.floor((at - start) / period)));
      return units * (steps(to) - steps(from));
    }),
  );
}

function whenArrived(runs: readonly SpanRun[], from: number, units: number): number {
  return firstMoment(from, (at) => arrived(runs, from, at) >= units);
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
