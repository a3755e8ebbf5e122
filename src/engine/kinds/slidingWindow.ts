/**
 * Sliding window: in any `period`, at most `rate` tokens start. A row logs the exact times of up to 64 takes. Beyond that,
 * neighbours are joined at the later time, which waits longer and never lets more through.
 */
import type { SlidingWindowConfig } from "../../wire/configs.js";
import { END_OF_TIME } from "../time.js";
import { MAX_UNITS } from "../units.js";
import { isMark, markOf } from "./kind.js";
import type { Entry, Kind, Limit, Outlook, Reservation, Share, State, Taking } from "./kind.js";
import { cut, insert, merge, mostAtOnce, removeBackwards, sum } from "./log.js";
import { leftHalf, shareOfUnits } from "./shares.js";
import { countIn } from "./terms.js";

interface SlidingWindowLimit extends Limit {
  readonly period: number;
}

export class SlidingWindowKind implements Kind<SlidingWindowLimit> {
  parse(name: string, config: SlidingWindowConfig): SlidingWindowLimit {
    const { rate, period, maxReserved, shards } = config;
    const counted = countIn(name, { rate, per: "window", stepMs: period, capacity: rate, maxReserved, shards });
    return { name, kind: this, config, ...counted, period };
  }

  /** In a bucket that may be split, the last entry that has left stays, without units: it says since when units have been there. */
  advance(limit: SlidingWindowLimit, state: State, now: number): State {
    const { capacity, period, levels } = limit;
    const ts = Math.max(state.ts, now);
    const entries = entriesOf(limit, state);
    const first = entries.findIndex(({ at }) => at > ts - period);
    const [past, recent] = first < 0 ? [entries, []] : [entries.slice(0, first), entries.slice(first)];
    const last = levels.most > 0 ? past.at(-1) : undefined;
    return { value: capacity - sum(recent), ts, recent: last ? [{ at: last.at, units: 0 }, ...recent] : recent };
  }

  whenHolding(limit: SlidingWindowLimit, state: State, units: number): number {
    const entries = entriesOf(limit, state);
    let over = sum(entries) + units - limit.capacity;
    const latest = entries.at(-1);
    // With the units of this entry enough have left: of the last one at least, where a debt is too large to be counted exactly.
    const last = entries.find((entry) => over > 0 && ((over -= entry.units) <= 0 || entry === latest));
    return last ? Math.max(state.ts, Math.min(END_OF_TIME, Math.ceil(last.at) + limit.period)) : state.ts;
  }

  most({ capacity }: SlidingWindowLimit): number {
    return capacity;
  }

  take(limit: SlidingWindowLimit, state: State, units: number): State {
    const { ts } = state;
    const entries = entriesOf(limit, state);
    const isCounted = units <= limit.capacity + MAX_UNITS - sum(entries);
    // A debt beyond what can be counted is cut off: one entry as large as this says so, and none comes back while it is there.
    const taken = isCounted ? units : entries.some(isUnknown) ? 0 : MAX_UNITS;
    return withEntries(limit, insert(entries, { at: ts, units: taken }), ts);
  }

  reserve(limit: SlidingWindowLimit, advanced: State, units: number): Reservation {
    const entries = entriesOf(limit, advanced);
    // In order: never before what is promised already.
    const last = entries.at(-1)?.at ?? advanced.ts;
    const at = Math.max(advanced.ts, last, this.whenHolding(limit, advanced, units));
    const state = withEntries(limit, insert(entries, { at, units }), advanced.ts);
    return { at, state, owed: this.owed(advanced) + (at > advanced.ts ? units : 0) };
  }

  whenReservable(limit: SlidingWindowLimit, state: State, units: number): number {
    const atOnce = this.whenHolding(limit, state, units);
    const promises = entriesOf(limit, state).filter(({ at }) => at > state.ts);
    let reservable = state.ts;
    let promised = sum(promises);
    for (const { at, units: started } of promises) {
      if (promised + units <= limit.maxReserved) break;
      promised -= started;
      reservable = at;
    }
    return promised + units <= limit.maxReserved ? Math.min(atOnce, reservable) : atOnce;
  }

  owed({ recent = [], ts }: State): number {
    return sum(recent.filter(({ at }) => at > ts));
  }

  giveBack(limit: SlidingWindowLimit, advanced: State, units: number, taking?: Taking): State {
    const { ts } = advanced;
    const entries = entriesOf(limit, advanced);
    if (entries.some(isUnknown)) return advanced;
    // From its own entry. Once that has left, older ones have left as well, and nothing comes back.
    return withEntries(limit, removeBackwards(entries, units, taking?.startsAt ?? ts), ts);
  }

  /** As if a full window, or the fullest one until then, were taken at that time, besides what is promised for then or later. */
  pause(limit: SlidingWindowLimit, state: State, until: number): State {
    const ts = Math.max(state.ts, until);
    // Also one that will have left by then: the limit may be raised during the pause.
    const entries = entriesOf(limit, state).filter(({ at }) => at > state.ts - limit.period);
    const later = entries.filter(({ at }) => at >= ts && at > state.ts);
    const earlier = entries.slice(0, entries.length - later.length);
    const units = Math.max(mostAtOnce(earlier, limit.period), limit.capacity);
    // What may have been used before is still not known.
    const at = isMark(entries[0]?.at ?? 0) ? markOf(ts) : ts;
    if (ts === state.ts && entries[0]?.at === at && entries[0].units === units) return state;
    return withEntries(limit, insert(later, { at, units }), ts);
  }

  shareOf(limit: SlidingWindowLimit, share: Share): SlidingWindowLimit {
    return { ...limit, capacity: shareOfUnits(limit.capacity, limit.unitsPerToken, share) };
  }

  split(left: Limit, right: Limit, { value, ts, recent = [] }: State): readonly [State, State] {
    const whole = left.capacity + right.capacity;
    const taken = whole - value;
    // The left half takes what it can hold of the value, which decides its part of the taken units; each entry is cut in that
    // proportion.
    const takenLeft = left.capacity - leftHalf(value, left.unitsPerToken, left.capacity, right.capacity);
    const [ofLeft, ofRight] = cut(recent, taken, takenLeft, left.unitsPerToken);
    return [withEntries(left, ofLeft, ts), withEntries(right, ofRight, ts)];
  }

  join(limit: SlidingWindowLimit, states: readonly State[]): State {
    const ts = Math.max(...states.map((state) => state.ts));
    // A row that a clock ahead has written moves the time of all: what the others have taken moves with it, and leaves no earlier.
    const logs = states.map(({ recent = [], ts: own }) =>
      own === ts ? recent : recent.map(({ at, units }) => ({ at: at + ts - own, units })),
    );
    return this.advance(limit, withEntries(limit, merge(logs), ts), ts);
  }

  lapses(): "singly" {
    return "singly";
  }

  waitedMs(limit: SlidingWindowLimit, state: State): number {
    const left = state.ts - limit.period;
    const last = entriesOf(limit, state).findLast(({ at }) => at <= left);
    return last ? left - last.at : Infinity;
  }

  unitsPerMs({ capacity, period }: SlidingWindowLimit): number {
    return capacity / period;
  }

  arrivals({ period }: SlidingWindowLimit): ReturnType<Kind["arrivals"]> {
    return { refill: 1, lastsMs: period };
  }

  entries(limit: SlidingWindowLimit, state: State): readonly Entry[] {
    return entriesOf(limit, state).filter(({ units }) => units > 0);
  }

  windowMs({ period }: SlidingWindowLimit): number {
    return period;
  }

  /** Tokens taken earlier come back earlier. Tokens spent now come back after a whole period, promised ones later. */
  renewedAt({ period }: SlidingWindowLimit, { renewsAt, resetAt }: Outlook, _next: unknown, now: number): number {
    return renewsAt ?? Math.max(resetAt, now + period);
  }
}

/**
 * The log of a state. A state of another kind only has a value and a time. Its missing units count as taken at that time, and a
 * debt as promised for the windows after it. The mark is an entry of its own.
 */
function entriesOf({ capacity, period }: SlidingWindowLimit, { value, ts, recent }: State): readonly Entry[] {
  // A debt of more windows than this counts as promised for the last of them; waiting longer never lets more through.
  const MAX_WINDOWS_OF_DEBT = 31;
  if (recent) {
    const more = capacity - value - sum(recent);
    return more > 0 ? recent.map(({ at, units }) => ({ at, units: isMark(at) ? units + more : units })) : recent;
  }
  const entries: Entry[] = ts > 0 ? [{ at: markOf(ts), units: 0 }] : [];
  let missing = capacity - value;
  for (let at = ts; missing > 0; at += period) {
    const isLast = entries.length > MAX_WINDOWS_OF_DEBT;
    const units = isLast ? missing : Math.min(missing, capacity);
    entries.push({ at: Math.min(END_OF_TIME, at), units });
    missing -= units;
  }
  return entries;
}

function withEntries({ capacity }: Limit, recent: readonly Entry[], ts: number): State {
  return { value: capacity - sum(recent), ts, recent };
}

/** Whether more may have been taken than an entry says. */
function isUnknown({ units }: Entry): boolean {
  return units >= MAX_UNITS;
}
