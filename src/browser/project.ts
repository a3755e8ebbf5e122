/**
 * The status of a snapshot at a moment, for clients: small, since the server has parsed the config and counted the units. It decides
 * as the engine does; a property test holds the two together.
 */
import type { RateLimitSnapshot, RateLimitStatus } from "../validators.js";

/** What is asked of a limit: `count` tokens (default 1), if need be from the future. */
export interface Demand {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

/**
 * What `checkRateLimit` answers but `shadow`, and `value`: the tokens held at the moment, before this decision; negative while
 * tokens are owed. Where they lie beyond the windows of the calendar that the snapshot lists, `resetAt` is absent and `retryAt` the
 * last moment that a Date can name. The list begins after the last write: for a bucket without a row, in 1970.
 */
export type ProjectedStatus = RateLimitStatus & { value: number; remaining: number };

/** A shard with the terms that apply to it. */
type Shard = Omit<RateLimitSnapshot, "value" | "ts"> & RateLimitSnapshot["parts"][number];

/** The last moment a JavaScript Date can name: a wait that would end later is cut off here. */
const END_OF_TIME = 8.64e15;
/** Two units in the last place of a product: 0.29 tokens are not charged as more. */
const SNAP = 2 ** -51;

/**
 * The status that `checkRateLimit` would give at `now`, from what `getRateLimit` returned. Pure: no clock, no network.
 *
 * @param options.now - milliseconds since the epoch, on the server's clock.
 * @throws when the snapshot is none, `now` is no moment that a Date can name, or `count` could never be served.
 * @example
 * ```ts
 * import { projectRateLimit, type RateLimitSnapshot } from "convex-rate-limits";
 *
 * function mayPost(snapshot: RateLimitSnapshot): boolean {
 *   return projectRateLimit(snapshot, { now: Date.now() }).ok;
 * }
 * ```
 */
export function projectRateLimit(
  snapshot: RateLimitSnapshot,
  options: { now: number } & Demand,
): RateLimitStatus & { remaining: number } {
  const status: RateLimitStatus & { remaining: number; value?: number } = project(snapshot, options);
  delete status.value;
  return status;
}

/** The same, with `value`. @throws as `projectRateLimit` does. */
export function project(snapshot: RateLimitSnapshot, options: { now: number } & Demand): ProjectedStatus {
  if (!(snapshot as Partial<RateLimitSnapshot> | null | undefined)?.parts) {
    throw new Error("projectRateLimit needs a snapshot.");
  }
  const { now: moment, count = 1, reserve } = options;
  const { name, mode, config, unitsPerToken, capacity, maxReserved, lastsMs, starts, few } = snapshot;
  // The types forbid anything but numbers, JavaScript does not.
  const [exact, now] = [count, moment].every(Number.isFinite)
    ? [count * unitsPerToken, Math.floor(moment)]
    : [NaN, NaN];
  const { capacity: most = config.rate } = config;
  const units = Math.abs(count - most) <= most * 4 * SNAP ? capacity : Math.ceil(exact - exact * SNAP);
  const bound = reserve && !lastsMs ? capacity + maxReserved : capacity;
  if (!(exact >= 0 && units <= bound && Math.abs(now) <= END_OF_TIME)) {
    throw new Error(
      `Rate limit "${name}": count must be from 0 to ${bound / unitsPerToken}, got ${String(count)} at ${String(moment)}.`,
    );
  }

  const parts = snapshot.parts.map((part): Shard => ({ ...snapshot, ...part }));
  const total = (at: number) => sum(parts, (part) => held(part, at));
  const lastWrite = Math.max(...parts.map((part) => part.ts));
  /** What all parts remember, as one: where a clock ahead has written one of them, the time of the others moves with it. */
  const recentAt = (at: number) =>
    parts.flatMap(({ recent = [], ts }) =>
      recent.map((entry) => ({ ...entry, at: entry.at + Math.max(at, lastWrite) - Math.max(at, ts) })),
    );
  /** From when on all parts as one, after `taken` units at `at`, hold so many units. */
  const whenHolding = (at: number, wanted: number, taken = 0) => {
    const from = Math.max(at, lastWrite);
    const recent = recentAt(at);
    return firstMoment(from, (later) =>
      lastsMs
        ? capacity - away(recent, lastsMs, later) >= wanted
        : total(at) - taken + arrived(snapshot, from, later) >= wanted,
    );
  };
  /** When work that asks at `at` may start; undefined for a denial. */
  const startOf = (at: number): number | undefined => {
    if (units <= total(at)) return at;
    if (!reserve) return undefined;
    const from = Math.max(at, lastWrite);
    const recent = recentAt(at);
    const start = lastsMs
      ? Math.max(whenHolding(at, units), ...(units > 0 ? recent.map((entry) => entry.at) : []))
      : whenHolding(at, 0, units);
    const promised = lastsMs
      ? sum(recent, (entry) => (entry.at > from ? entry.units : 0)) + (start > from ? units : 0)
      : units - total(at);
    return units === 0 || promised <= maxReserved ? start : undefined;
  };

  const start = startOf(now);
  const ok = start !== undefined;
  let retryAt = start ?? firstMoment(now + 1, (at) => startOf(at) !== undefined);
  if (few && !ok && !reserve && units <= few.units) {
    const span = few.spans.find((each) => each.capacity >= 2 * units) ?? snapshot;
    const empty = { ...snapshot, ...span, value: 0, ts: now, recent: [{ at: now, units: span.capacity }] };
    for (const part of [empty, ...parts]) {
      retryAt = Math.max(
        retryAt,
        firstMoment(part.ts, (at) => held(part, at) >= Math.min(units, part.capacity)),
      );
    }
  }

  const taken = ok ? units : 0;
  const value = total(now);
  const resetAt = whenReset();
  return {
    // In shadow everybody is let through, at once.
    ok: !!(mode ?? ok),
    ...(!mode && retryAt > now && { retryAt }),
    value: value / unitsPerToken,
    remaining: Math.max(0, Math.floor((value - taken) / unitsPerToken)),
    ...((!starts || resetAt < END_OF_TIME) && { resetAt }),
  } as ProjectedStatus;

  /** When the bucket is full again; for fixed windows, the start of the next. */
  function whenReset(): number {
    const from = Math.max(now, lastWrite);
    if (lastsMs) {
      const leaving = [...recentAt(now).map((entry) => entry.at), ...(taken > 0 ? [Math.max(from, retryAt)] : [])];
      return Math.max(from, ...leaving.map((at) => at + lastsMs));
    }
    if (snapshot.period ?? starts) return firstMoment(from, (at) => arrived(snapshot, from, at) > 0);
    return whenHolding(now, capacity, taken);
  }
}

type Entries = NonNullable<Shard["recent"]>;

/** The units that were taken or promised less than `lastsMs` before a moment. */
function away(recent: Entries, lastsMs: number, moment: number): number {
  return sum(recent, ({ at, units }) => (at + lastsMs > moment ? units : 0));
}

/** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
function arrived(
  { refill, period = 0, start = 0, starts }: Omit<Shard, "ts" | "value">,
  from: number,
  to: number,
): number {
  const arrivals = (at: number) =>
    starts ? sum(starts, (each) => +(each <= at)) : period ? Math.floor((at - start) / period) : at - from;
  return to > from ? Math.floor((arrivals(to) - arrivals(from)) * refill) : 0;
}

/** What a part holds at a moment. Its clock never runs backwards: before `ts` it stands as it did then. */
function held(part: Shard, at: number): number {
  const { capacity, value, ts, recent = [], lastsMs } = part;
  if (lastsMs) return capacity - away(recent, lastsMs, Math.max(ts, at));
  return Math.min(capacity, value + arrived(part, ts, at));
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
