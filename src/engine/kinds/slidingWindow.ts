/**
 * Sliding window: in any `period`, at most `rate` tokens start. A row logs the exact times of up to 64 takes. Beyond
 * that, neighbours are joined at the later time, which waits longer and never lets more through.
 */
import type { SlidingWindowConfig } from "../../wire/configs.js";
import { limitOf } from "../grain.js";
import * as refunds from "../headroom.js";
import { END_OF_TIME } from "../time.js";
import {
  type Entry,
  type Kind,
  type Limit,
  MOST_TAKEN,
  type Pause,
  type Reservation,
  type Share,
  type State,
  type Taking,
} from "./kind.js";
import { countsOf, cut, insert, logOf, merge, removeBackwards, removeFrom, sum, whenGone } from "./log.js";
import { leftHalf, shareOfLimit, writeOf } from "./shares.js";

export class SlidingWindowKind implements Kind {
  parse(name: string, config: SlidingWindowConfig): Limit {
    const { rate, period } = config;
    const own = { name, kind: this, config };
    const limit = limitOf(own, { ...config, capacity: rate, per: "window", periodMs: period });
    return { ...limit, refill: limit.capacity };
  }

  /**
   * In a bucket that may be split, the last entry that has left stays, without units: it says since when units have
   * been there.
   */
  advance(limit: Limit, state: State, now: number): State {
    const recent = logOf(state);
    const ts = Math.max(state.ts, now);
    const left = ts - limit.periodMs;
    const first = recent.findIndex(({ at }) => at > left);
    const [past, counted] = first < 0 ? [recent, []] : [recent.slice(0, first), recent.slice(first)];
    const last = limit.levels.most > 0 ? past.at(-1) : undefined;
    const entries = last ? [{ at: last.at, units: 0 }, ...counted] : counted;
    return withEntries(limit, { ...state, ts }, entries);
  }

  whenHolding(limit: Limit, state: State, units: number): number {
    const { ts } = state;
    const recent = countsOf(limit, logOf(state));
    // All of them have to leave where a debt is too large to be counted exactly.
    const last = whenGone(recent, sum(recent) + units - limit.capacity);
    return Math.max(ts, Math.min(END_OF_TIME, last + limit.periodMs));
  }

  take(limit: Limit, state: State, units: number): State {
    const { ts } = state;
    // A larger rate may have been given more of everything than this one holds.
    const most = (entry: Entry) => ({ ...entry, units: Math.max(entry.units, 0 - limit.capacity) });
    const recent = logOf(state).map((entry) => (entry.all ? most(entry) : entry));
    // A debt beyond what can be counted is cut off, and none comes back of it.
    const isCounted = units <= MOST_TAKEN - sum(recent);
    const taken: Entry = isCounted ? { at: ts, units } : { at: ts, units: 0, all: true };
    const isAfterGift = state.headroom?.some((pair) => pair.at > ts) && { from: ts };
    return withEntries(limit, state, insert(recent, { ...taken, ...isAfterGift }));
  }

  reserve(limit: Limit, advanced: State, units: number): Reservation {
    const { ts } = advanced;
    const recent = logOf(advanced);
    // In order: never before what is promised already.
    const at = Math.max(recent.at(-1)?.at ?? 0, this.whenHolding(limit, advanced, units));
    const state = withEntries(limit, advanced, insert(recent, { at, units }));
    return { at, state, owed: sum(promisedAfter(logOf(state), ts)) };
  }

  whenReservable(limit: Limit, state: State, units: number): number {
    const { ts } = state;
    const recent = countsOf(limit, logOf(state));
    const atOnce = this.whenHolding(limit, state, units);
    // Work that started by now is no longer owed: it goes first.
    const started = whenGone(recent, sum(recent) + units - limit.maxReserved);
    return units <= limit.maxReserved ? Math.min(atOnce, Math.max(ts, started)) : atOnce;
  }

  /**
   * Units that were taken at a known time come back from the entry of that time, or from the one that it was joined
   * into.
   */
  giveBack(limit: Limit, state: State, units: number, taking?: Taking): State {
    const { headroom = [], ts } = state;
    const recent = logOf(state);
    if (!taking) {
      const missing = limit.capacity - state.value - sum(promisedAfter(recent, ts));
      const left = removeBackwards(recent, Math.min(units, missing), ts);
      const known = left.filter((entry) => !entry.all);
      return withEntries(limit, state, left, refunds.since(headroom, ts + 1, sum(known)));
    }
    const { takenAt, startsAt } = taking;
    const own = recent.find(({ at, from = at }) => from <= startsAt && startsAt <= at);
    if (!own || own.all) return state;
    // A gift takes from the entries themselves, so its pair says more only of takes that were joined. If nothing was
    // left, as by a reset, this is not the entry of what was taken before.
    const isJoint = own.from !== undefined;
    const pairs = headroom.filter((pair) => isJoint || pair.units === 0);
    // Promises come back from their own entries only, so they are no headroom of a take that has started.
    const promised = own.at > ts ? 0 : sum(promisedAfter(recent, ts));
    const least = refunds.headroomSince({ ...state, headroom: pairs, ts: Math.max(ts, takenAt) }, takenAt);
    const most = Math.max(0, least - promised);
    const back = Math.min(units, own.units, most);
    return withEntries(limit, state, removeFrom(recent, own, back), refunds.returned(headroom, takenAt, back));
  }

  /** As if everything were taken at its end, besides what is promised for then or later. Debts stay. */
  pause(limit: Limit, state: State, pause: Pause): State {
    const { headroom = [] } = state;
    const ts = Math.max(state.ts, pause.until);
    const recent = logOf(this.advance(limit, state, ts));
    const isLater = (entry: Entry) => entry.at >= ts && entry.at > state.ts;
    const later = recent.filter(isLater);
    const started = recent.filter((entry) => !isLater(entry));
    const owed = Math.max(0, sum(countsOf(limit, started)) - limit.capacity);
    const entries = insert(later, { at: ts, units: owed, all: true });
    const pairs = refunds.since(headroom, refunds.dateOf(pause, state.ts), sum(later));
    return withEntries(limit, { ...state, ts }, entries, pairs);
  }

  shareOf(limit: Limit, share: Share): Limit {
    return shareOfLimit(limit, share);
  }

  split(left: Limit, right: Limit, state: State): readonly [State, State] {
    const { headroom } = state;
    const recent = logOf(state);
    const capacity = left.capacity + right.capacity;
    const counted = countsOf({ capacity }, recent);
    const taken = sum(counted);
    const value = capacity - taken;
    const { unitsPerToken } = left;
    const isPromised = promisedAfter(counted, state.ts).length > 0;
    // What is owed leaves first. It makes both halves' use as large: under a larger limit their shares are. A promise,
    // and the end of a pause, is cut as what pays it.
    const owed = Math.max(0, -value);
    const fair = Math.floor(taken / 2 / unitsPerToken) * unitsPerToken - left.capacity;
    const isByShares = isPromised || counted.some(({ all }) => all);
    const owedLeft = isByShares ? 0 - leftHalf(0 - owed, left, right) : Math.min(owed, Math.max(0, fair));
    // The left half takes what it can hold of the value, which decides its part of the other units; each entry is cut
    // in that proportion. Whole tokens would part what is promised from what leaves by then, so that one half owes and
    // the other gives the same again.
    const keptLeft = left.capacity - leftHalf(Math.max(0, value), left, right);
    const leftOf = (units: number) =>
      units <= owed ? (units / (owed || 1)) * owedLeft : owedLeft + ((units - owed) / (taken - owed)) * keptLeft;
    const cuts = cut(counted, taken, leftOf, isPromised ? 1 : unitsPerToken);
    const pairs = headroom ? refunds.halved(headroom, left.capacity / Math.max(1, capacity)) : [];
    const half = (limit: Limit, own: 0 | 1) => {
      const entries = cuts[own].map((entry) => (entry.all ? { ...entry, units: entry.units - limit.capacity } : entry));
      return withEntries(limit, state, entries, pairs[own]);
    };
    return [half(left, 0), half(right, 1)];
  }

  join(limit: Limit, states: readonly State[]): State {
    const write = writeOf(states);
    const { ts } = write;
    // A row that a clock ahead has written moves the time of all: what the others have taken moves with it, and leaves
    // no earlier.
    const logs = states.map((state) =>
      logOf(state).map((entry) =>
        state.ts === ts ? entry : { ...entry, at: entry.at + ts - state.ts, from: entry.from ?? entry.at },
      ),
    );
    const pairs = refunds.joined(states.map(({ headroom }) => headroom));
    return this.advance(limit, withEntries(limit, { ...write, value: 0 }, merge(logs), pairs), ts);
  }

  lapses(): boolean {
    return true;
  }
}

/** A field is absent, not undefined. */
export function withEntries(
  limit: Limit,
  { headroom: before, ...state }: State,
  recent: readonly Entry[],
  headroom = before,
): State {
  return {
    ...state,
    value: limit.capacity - sum(countsOf(limit, recent)),
    recent,
    ...(headroom && headroom.length > 0 && { headroom }),
  };
}

function promisedAfter(entries: readonly Entry[], ts: number): readonly Entry[] {
  return entries.filter(({ at }) => at > ts);
}
