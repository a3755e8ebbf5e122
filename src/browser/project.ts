/**
 * The status of a snapshot at a moment. It decides as the engine does, without what the server has worked out already; a
 * property test holds the two together.
 */
import type { ReadyPart, ReadySnapshot } from "./snapshot.js";

/** What is asked of a limit: `count` tokens (default 1), if need be from the future. */
export interface Demand {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

/**
 * What `checkRateLimit` answers, and `value`: the tokens held at the moment, before this decision, with fractions; negative while
 * tokens are owed. `resetAt` is absent where it depends on which of several rows pays, or lies beyond what the snapshot knows.
 */
export type ProjectedStatus = { value: number; remaining: number; resetAt?: number } & (
  { ok: true; retryAt?: number } | { ok: false; retryAt: number }
);

/** A part with the terms that apply to it. */
type Part = ReadySnapshot & ReadyPart;

/** The last moment a JavaScript Date can name: a wait that would end later is cut off here. */
const END_OF_TIME = 8.64e15;
/** Two units in the last place of a product: 0.29 tokens are not charged as more. */
const SNAP = 2 ** -51;

/**
 * The status that `checkRateLimit` would give at `now`.
 *
 * @param options.now - milliseconds since the epoch, on the server's clock.
 * @throws when `now` is no moment that a Date can name, or `count` could never be served.
 */
export function project(
  snapshot: ReadySnapshot,
  { now: moment, count = 1, reserve }: { now: number } & Demand,
): ProjectedStatus {
  const { name, unitsPerToken, capacity, maxReserved, few } = snapshot;
  const now = Math.floor(moment);
  const exact = count * unitsPerToken;
  const units = Math.ceil(exact - exact * SNAP);
  const most = reserve ? capacity + maxReserved : capacity;
  if (!(count >= 0 && units <= most && Math.abs(now) <= END_OF_TIME)) {
    throw new Error(
      `Rate limit "${name}": count must be from 0 to ${most / unitsPerToken}, got ${count} (now: ${moment}).`,
    );
  }

  const parts = snapshot.parts.map((part): Part => ({ ...snapshot, ...part }));
  /** Units that the parts can give at `at` and have paid for by `until`. One that is in debt takes nothing from the others. */
  const pooled = (at: number, until: number) => {
    const offers = parts.map((part) => {
      // All debts count as paid at the end of time.
      const paid = until < END_OF_TIME ? arrived(part, Math.max(part.ts, at), until) : Infinity;
      return held(part, at) + Math.min(part.maxReserved, paid);
    });
    const largest = Math.max(...offers);
    return largest > 0 ? sum(offers, (offer) => Math.max(0, offer)) : largest;
  };
  const canServe = (at: number) => pooled(at, reserve ? END_OF_TIME : at) >= units;

  const ok = canServe(now);
  let retryAt = firstMoment(now, ok ? (at) => pooled(now, at) >= units : canServe);
  if (few && !ok && !reserve && units <= few.units) {
    const share = Math.ceil(units / Math.max(1, Math.ceil((2 * units) / few.capacity)));
    for (const part of [{ ...snapshot, ...few, value: 0, ts: now }, ...parts]) {
      retryAt = Math.max(
        retryAt,
        firstMoment(part.ts, (at) => held(part, at) >= share),
      );
    }
  }

  const value = sum(parts, (part) => held(part, now));
  const taken = ok ? units : 0;
  const resets = parts.map((part) => {
    const { period, starts, recent } = part;
    const from = Math.max(now, part.ts);
    if (starts || (period && !recent)) return firstMoment(from, (at) => arrived(part, from, at) > 0);
    // Which of several rows pays is the server's choice.
    if (taken > 0 && parts.length > 1) return END_OF_TIME;
    const spent = [...(recent ?? []), [retryAt, taken]] as const;
    const left = taken > 0 ? { ...part, value: value - taken, ts: from, recent: recent && spent } : part;
    return firstMoment(from, (at) => held(left, at) >= part.capacity);
  });
  const resetAt = Math.max(now, ...resets);
  return {
    ok,
    ...(retryAt > now && { retryAt }),
    value: value / unitsPerToken,
    remaining: Math.max(0, Math.floor((value - taken) / unitsPerToken)),
    ...(resetAt < END_OF_TIME && { resetAt }),
  } as ProjectedStatus;
}

/** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
function arrived({ refill, period = 0, start = 0, starts, recent }: Part, from: number, to: number): number {
  const arrivals = (at: number) =>
    recent
      ? sum(recent, ([taken, units]) => (taken + period > at ? 0 : units))
      : starts
        ? sum(starts, (start) => (start > at ? 0 : 1))
        : period
          ? Math.floor((at - start) / period)
          : at - from;
  return to > from ? Math.floor((arrivals(to) - arrivals(from)) * refill) : 0;
}

/** What a part holds at a moment. Its clock never runs backwards: before `ts` it stands as it did then. */
function held(part: Part, at: number): number {
  return Math.min(part.capacity, part.value + arrived(part, part.ts, at));
}

/** The first millisecond from `from` on at which a condition that stays true is true; the end of time if none is. */
function firstMoment(from: number, holds: (moment: number) => boolean): number {
  let before = from - 1;
  let after = END_OF_TIME;
  while (after - before > 1) {
    const middle = before + Math.floor((after - before) / 2);
    if (holds(middle)) after = middle;
    else before = middle;
  }
  return after;
}

function sum<Item>(items: readonly Item[], unitsOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + unitsOf(item), 0);
}
