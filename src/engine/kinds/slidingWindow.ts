/**
 * Sliding window: in any `period`, at most `rate` tokens start. A row logs the exact times of up to 64 takes. Beyond that,
 * neighbours are joined at the later time, which waits longer and never lets more through.
 */
import type { SlidingWindowConfig } from "../../wire/configs.js";
import { END_OF_TIME } from "../time.js";
import { MAX_UNITS } from "../units.js";
import { isMark, markOf } from "./kind.js";
import type { Entry, Kind, Limit, Outlook, Reservation, Share, State, Taking } from "./kind.js";
import { cut, insert, merge, mostAtOnce, removeBackwards, sum, whenGone } from "./log.js";
import { leftHalf, shareOfUnits } from "./shares.js";
import { countIn } from "./terms.js";

export class SlidingWindowKind implements Kind {
  parse(name: string, config: SlidingWindowConfig): Limit {
    const { rate, period } = config;
    const counted = countIn(name, { ...config, capacity: rate, per: "window", periodMs: period });
    return { name, kind: this, config, ...counted, refill: counted.capacity };
  }

  /** In a bucket that may be split, the last entry that has left stays, without units: it says since when units have been there. */
  advance(limit: Limit, state: State, now: number): State {
    const ts = Math.max(state.ts, now);
    const entries = entriesOf(limit, state);
    const first = entries.findIndex(({ at }) => at > ts - limit.periodMs);
    const [past, recent] = first < 0 ? [entries, []] : [entries.slice(0, first), entries.slice(first)];
    const last = limit.levels.most > 0 ? past.at(-1) : undefined;
    return withEntries(limit, last ? [{ at: last.at, units: 0 }, ...recent] : recent, ts);
  }

  whenHolding(limit: Limit, state: State, units: number): number {
    const entries = entriesOf(limit, state);
    // All of them have to leave where a debt is too large to be counted exactly.
    const last = whenGone(entries, sum(entries) + units - limit.capacity);
    return Math.max(state.ts, Math.min(END_OF_TIME, Math.ceil(last) + limit.periodMs));
  }

  most({ capacity }: Limit): number {
    return capacity;
  }

  take(limit: Limit, state: State, units: number): State {
    const { ts } = state;
    const entries = entriesOf(limit, state);
    const isCounted = units <= limit.capacity + MAX_UNITS - sum(entries);
    // A debt beyond what can be counted is cut off: one entry as large as this says so, and none comes back while it is there.
    const taken = isCounted ? units : entries.some(isUnknown) ? 0 : MAX_UNITS;
    return withEntries(limit, insert(entries, { at: ts, units: taken }), ts);
  }

  reserve(limit: Limit, advanced: State, units: number): Reservation {
    const entries = entriesOf(limit, advanced);
    // In order: never before what is promised already.
    const at = Math.max(entries.at(-1)?.at ?? 0, this.whenHolding(limit, advanced, units));
    const state = withEntries(limit, insert(entries, { at, units }), advanced.ts);
    return { at, state, owed: this.owed(state) };
  }

  whenReservable(limit: Limit, state: State, units: number): number {
    const atOnce = this.whenHolding(limit, state, units);
    const entries = entriesOf(limit, state);
    // What started by now is no longer owed: it goes first.
    const started = whenGone(entries, sum(entries) + units - limit.maxReserved);
    return units <= limit.maxReserved ? Math.min(atOnce, Math.max(state.ts, started)) : atOnce;
  }

  owed({ recent = [], ts }: State): number {
    return sum(recent.filter(({ at }) => at > ts));
  }

  giveBack(limit: Limit, advanced: State, units: number, taking?: Taking): State {
    const { ts } = advanced;
    const entries = entriesOf(limit, advanced);
    if (entries.some(isUnknown)) return advanced;
    // From its own entry. Once that has left, older ones have left as well, and nothing comes back.
    return withEntries(limit, removeBackwards(entries, units, taking?.startsAt ?? ts), ts);
  }

  /** As if a full window, or the fullest one until then, were taken at that time, besides what is promised for then or later. */
  pause(limit: Limit, state: State, until: number): State {
    const ts = Math.max(state.ts, until);
    // Also one that will have left by then: the limit may be raised during the pause.
    const entries = entriesOf(limit, state).filter(({ at }) => at > state.ts - limit.periodMs);
    const later = entries.filter(({ at }) => at >= ts && at > state.ts);
    const earlier = entries.slice(0, entries.length - later.length);
    const units = Math.max(mostAtOnce(earlier, limit.periodMs), limit.capacity);
    // What may have been used before is still not known.
    const at = isMark(entries[0]?.at ?? 0) ? markOf(ts) : ts;
    if (ts === state.ts && entries[0]?.at === at && entries[0].units === units) return state;
    return withEntries(limit, insert(later, { at, units }), ts);
  }

  shareOf(limit: Limit, share: Share): Limit {
    const capacity = shareOfUnits(limit.capacity, limit.unitsPerToken, share);
    return { ...limit, capacity, refill: capacity };
  }

  split(left: Limit, right: Limit, { value, ts, recent = [] }: State): readonly [State, State] {
    const whole = left.capacity + right.capacity;
    const taken = whole - value;
    // The left half takes what it can hold of the value, which decides its part of the taken units; each entry is cut in that
    // proportion.
    const takenLeft = left.capacity - leftHalf(value, left, right);
    const [ofLeft, ofRight] = cut(recent, taken, takenLeft, left.unitsPerToken);
    return [withEntries(left, ofLeft, ts), withEntries(right, ofRight, ts)];
  }

  join(limit: Limit, states: readonly State[]): State {
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

  waitedMs(limit: Limit, state: State): number {
    const left = state.ts - limit.periodMs;
    const last = entriesOf(limit, state).findLast(({ at }) => at <= left);
    return last ? left - last.at : Infinity;
  }

  entries(limit: Limit, state: State): readonly Entry[] {
    return entriesOf(limit, state).filter(({ units }) => units > 0);
  }

  windowMs({ periodMs }: Limit): number {
    return periodMs;
  }

  /** Tokens taken earlier come back earlier. Tokens spent now come back after a whole period, promised ones later. */
  renewedAt({ periodMs }: Limit, { renewsAt, resetAt }: Outlook, _next: unknown, now: number): number {
    return renewsAt ?? Math.max(resetAt, now + periodMs);
  }
}

/**
 * The log of a state. A state of another kind only has a value and a time. Its missing units count as taken at that time, and a
 * debt as promised for the windows after it. The mark is an entry of its own.
 */
function entriesOf({ capacity, periodMs }: Limit, { value, ts, recent }: State): readonly Entry[] {
  // A debt of more windows than this counts as promised for the last of them; waiting longer never lets more through.
  const MAX_WINDOWS_OF_DEBT = 31;
  if (recent) {
    const more = capacity - value - sum(recent);
    return more > 0 ? recent.map(({ at, units }) => ({ at, units: isMark(at) ? units + more : units })) : recent;
  }
  const entries: Entry[] = ts > 0 ? [{ at: markOf(ts), units: 0 }] : [];
  let missing = capacity - value;
  for (let at = ts; missing > 0; at += periodMs) {
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
