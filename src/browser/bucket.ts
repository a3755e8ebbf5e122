/**
 * The status of a bucket under one config at a moment, for clients: small, since the server has parsed the config and counted the
 * units. It decides as the engine does; a property test holds the two together.
 */
import type { RateLimitSnapshot } from "../snapshots.js";
import type { RateLimitStatus } from "../validators.js";

/** What is asked of a limit: `count` tokens (default 1), if need be from the future. */
export interface Demand {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

/**
 * What `checkRateLimit` answers but `shadow`, and `value`: the tokens held at the moment, before this decision; negative while
 * tokens are owed. Where they lie beyond the windows of the calendar that the snapshot knows, `resetAt` is absent and `retryAt` the
 * last moment that a Date can name.
 */
export type ProjectedStatus = RateLimitStatus & { value: number; remaining: number };

/** A shard with the terms that apply to it. */
type Shard = Omit<OwnSnapshot, "parts">;
/** A bucket under one config. */
type OwnSnapshot = Omit<RateLimitSnapshot, "override">;

/** The last moment a JavaScript Date can name: a wait that would end later is cut off here. */
export const END_OF_TIME = 8.64e15;
/** Two units in the last place of a product: 0.29 tokens are not charged as more. */
const SNAP = 2 ** -51;

/** What a projection differs in from that of a call: by what an override says, and beyond its end. */
interface Beyond {
  /** Whether the tokens are taken whatever is there. */
  isFree?: boolean | undefined;
  /** Whether a count that can never be served is one that has to wait for ever. */
  isLate?: boolean | undefined;
  /** Whether the moment is one to come, when the call may find other rows than those that hold the most. */
  isNext?: boolean | undefined;
}

/** By the config of the snapshot itself. */
export function projectBucket(
  snapshot: OwnSnapshot,
  options: { now: number } & Demand,
  { isFree, isLate, isNext }: Beyond = {},
): ProjectedStatus {
  const { now: moment, count = 1, reserve } = options;
  const { name, config, unitsPerToken, capacity, maxReserved, lastsMs, few } = snapshot;
  // The types forbid anything but numbers, JavaScript does not.
  const [exact, now] = [count, moment].every(Number.isFinite)
    ? [count * unitsPerToken, Math.floor(moment)]
    : [NaN, NaN];
  const { capacity: most = config.rate } = config;
  const units = Math.abs(count - most) <= most * 4 * SNAP ? capacity : Math.ceil(exact - exact * SNAP);
  const bound = reserve && !lastsMs ? capacity + maxReserved : capacity;
  if (!(exact >= 0 && (isFree || isLate || units <= bound) && Math.abs(now) <= END_OF_TIME)) {
    throw new Error(
      `Rate limit "${name}": count must be from 0 to ${bound / unitsPerToken}, got ${String(count)} at ${String(moment)}.`,
    );
  }

  const parts = snapshot.parts.map((part): Shard => ({ ...snapshot, ...part }));
  const lastWrite = Math.max(...parts.map((part) => part.ts));
  /**
   * All parts as one, `taken` units less. Where a clock ahead has written one of them, the time of the others moves with it, and
   * what they have taken leaves later.
   */
  const wholeAt = (at: number, taken = 0): Shard => ({
    ...snapshot,
    value: sum(parts, (part) => held(part, at)) - taken,
    ts: Math.max(at, lastWrite),
    ...(lastsMs && {
      runs: parts.flatMap(({ runs = [], ts }) =>
        runs.map((run) => ({ ...run, start: run.start + Math.max(at, lastWrite) - Math.max(at, ts) })),
      ),
    }),
  });
  /** When work that asks at `at` may start; undefined for a denial. */
  const startOf = (at: number): number | undefined => {
    const { value, ts, runs = [] } = wholeAt(at);
    if (units <= value) return at;
    if (!reserve || units > bound) return undefined;
    const start = Math.max(
      lastsMs ? whenHolding(wholeAt(at), units) : whenHolding(wholeAt(at, units), 0),
      ...runs.map((run) => (lastsMs && units ? run.start - lastsMs : 0)),
    );
    const promised = lastsMs
      ? sum(runs, (run) => (run.start - lastsMs > ts ? (run.units ?? 0) : 0)) + (start > ts ? units : 0)
      : units - value;
    return units === 0 || promised <= maxReserved ? start : undefined;
  };

  const start = isFree ? now : startOf(now);
  const ok = start !== undefined;
  let retryAt = start ?? firstMoment(now + 1, (at) => startOf(at) !== undefined);
  const isFound = ok && (!isNext || parts.every((part) => held(part, now) >= Math.min(units, part.capacity)));
  if (few && !isFound && !reserve && units <= few.units) {
    const span = few.spans.find((each) => each.capacity >= 2 * units) ?? snapshot;
    const empty = { ...snapshot, ...span, value: 0, ts: now };
    if (lastsMs) empty.runs = [{ start: now + lastsMs, count: 1, units: span.capacity }];
    for (const part of [empty, ...parts]) {
      retryAt = Math.max(retryAt, whenHolding(part, Math.min(units, part.capacity)));
    }
  }

  const taken = ok ? units : 0;
  const { value, ts } = wholeAt(now);
  const [window] = (lastsMs ? undefined : snapshot.runs) ?? [];
  // When the bucket is full again; for fixed windows, the start of the next.
  const resetAt = window
    ? firstMoment(ts, (at) => ts >= window.start && arrived(snapshot, ts, at) > 0)
    : Math.max(
        whenHolding(wholeAt(now, lastsMs ? 0 : taken), capacity),
        lastsMs && taken ? Math.max(ts, retryAt) + lastsMs : 0,
      );
  return {
    ...(ok && retryAt <= now ? { ok } : { ok, retryAt }),
    value: value / unitsPerToken,
    remaining: Math.max(0, Math.floor((value - taken) / unitsPerToken)),
    ...((resetAt < END_OF_TIME || !window) && { resetAt }),
  };
}

/** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
function arrived({ refill, runs }: Shard | OwnSnapshot, from: number, to: number): number {
  const steps = (at: number) =>
    runs
      ? sum(runs, ({ start, period = 1, count = Infinity, units = 1 }) =>
          at < start ? 0 : units * Math.min(count, Math.floor((at - start) / period) + 1),
        )
      : at;
  return to > from ? Math.floor((steps(to) - steps(from)) * refill) : 0;
}

/** What a part holds at a moment. Its clock never runs backwards: before `ts` it stands as it did then. */
function held(part: Shard, at: number): number {
  return Math.min(part.capacity, part.value + arrived(part, part.ts, at));
}

/** From when on a part holds so many units, at most its capacity. */
function whenHolding(part: Shard, units: number): number {
  return firstMoment(part.ts, (at) => held(part, at) >= units);
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
