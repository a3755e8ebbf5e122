/**
 * One bucket, exactly: what it holds after what has happened to it. Each function is the sentence of the design that it names, and
 * nothing is remembered but `value`, `ts`, the window and the log.
 */
import type { Terms } from "./terms.js";

export interface Entry {
  readonly at: number;
  readonly units: bigint;
  /** The units given since the end of a pause, at this entry. All that started by then counts as the rate at most, less these. */
  readonly given?: bigint;
}
/** A window began at `since`, and `used` was used in it. `log` is that of a sliding window. */
export interface State {
  readonly value: bigint;
  readonly ts: number;
  readonly since: number;
  readonly used: bigint;
  readonly log: readonly Entry[];
  /** Whether a debt stays one when a window's rate is raised. */
  readonly keepsDebt?: boolean;
  /** The window was paused: what it holds, and what was not used of it, may differ, and the lesser or greater counts. */
  readonly paused?: "least" | "most" | undefined;
  /** Whether the window began early, after its starts moved: it holds what it brought, under any rate. */
  readonly isEarly?: boolean;
}
/** A bucket that was never used, or reset, is full. */
export type Stored = State | undefined;

/** No time is later (that of a Date). */
export const NEVER = 8.64e15;

/** Whether a window holds no more than it brings: its rate less what was used, whatever the rate is now (§3.2). */
export const isQuota = ({ kind, capacity, rate }: Terms) => kind === "fixed window" && capacity === rate;

/** The state at a time. A clock behind the last write changes nothing. */
export function advance(stored: Stored, now: number, terms: Terms): State {
  const { capacity, kind, windows } = terms;
  if (!stored) {
    const since = windows.startOf(windows.at(now));
    return { value: capacity, ts: now, since, used: 0n, log: [] };
  }
  const ts = Math.max(stored.ts, now);
  if (kind === "sliding window") {
    const log = stored.log.filter(({ at }) => at > ts - terms.periodMs);
    return { ...stored, ts, log, value: leftOf(log, terms) };
  }
  const held = heldBy(stored, terms);
  if (kind === "token bucket") {
    const value = least(capacity, held + terms.perMs * BigInt(ts - stored.ts));
    return { ...stored, value, ts, used: 0n, log: [] };
  }
  const passed = windows.at(ts) - windows.at(stored.ts);
  if (passed <= 0) return { ...stored, value: held, ts, log: [] };
  const first = firstRefill(stored, terms);
  const value = least(capacity, held + first + BigInt(passed - 1) * terms.rate);
  // If a window brings less than the bucket holds, only what it brought can have been used.
  const missing = (isQuota(terms) ? capacity : least(capacity, terms.rate)) - value;
  const used = missing > 0n ? missing : 0n;
  // A debt that was paid is none.
  const keepsDebt = stored.keepsDebt === true && value < 0n;
  const since = windows.startOf(windows.at(ts));
  const isEarly = passed === 1 && first < terms.rate;
  return { ...stored, value, ts, since, used, log: [], keepsDebt, paused: undefined, isEarly };
}

/** The units that it holds at its last write. A debt stays what it is, or at most is paid by a raised rate. */
function heldBy(state: State, terms: Terms): bigint {
  const { value, keepsDebt = false, paused, isEarly = false } = state;
  const held = least(terms.capacity, value);
  if (!isQuota(terms) || isEarly || (keepsDebt && value < 0n)) return held;
  const unused = unusedOf(state, terms);
  if (paused === undefined) return unused;
  return (paused === "most") === held > unused ? held : unused;
}
function unusedOf({ value, used }: State, { capacity }: Terms): bigint {
  const unused = capacity - used;
  if (unused >= 0n) return unused;
  const debt = value < 0n ? value : 0n;
  return debt > unused ? debt : unused;
}

/** After another zone, anchor or start the first window brings whole tokens in proportion to the time since the last one began. */
function firstRefill({ ts, since }: State, { windows, rate, perToken }: Terms): bigint {
  const current = windows.at(ts);
  const [start, next] = [windows.startOf(current), windows.startOf(current + 1)];
  if (since <= start) return rate;
  const tokens = (rate * BigInt(next - since)) / (BigInt(next - start) * perToken);
  return tokens * perToken;
}

export function take(state: State, units: bigint, at = state.ts): State {
  if (units === 0n) return state;
  const log = inOrder([...state.log, { at, units }]);
  return { ...state, value: state.value - units, used: state.used + units, log };
}

/** Units that come back: at most what is missing; of a log from the latest entries that have started. */
export function give(state: State, units: bigint, terms: Terms): State {
  if (terms.kind !== "sliding window") {
    const value = least(terms.capacity, state.value + units);
    const rest = state.used - (value - state.value);
    // A debt that a raised rate has not paid is paid first, and then the rest was not used.
    const isKept = state.keepsDebt === true && state.value < 0n;
    // Tokens that come back may be of an earlier window.
    const used = most(0n, isKept ? most(rest, least(state.used, terms.capacity - value)) : rest);
    const isBeside = isQuota(terms) && !state.paused && !state.isEarly && value > 0n && value > terms.capacity - used;
    if (!isBeside) return { ...state, value, used };
    // What was used beside, under a larger rate, was not used either.
    const lessened = most(0n, state.used - units);
    return { ...state, value: most(0n, least(value, terms.capacity - lessened)), used: lessened };
  }
  const started = state.log.filter(({ at }) => at <= state.ts);
  let left = least(units, terms.capacity - state.value - sum(state.log) + sum(started));
  const gone = started.toReversed().map((entry) => {
    const own = least(left, entry.units);
    left -= own;
    return own;
  });
  let back = 0n;
  const lessened = started.map((entry, i) => {
    const own = gone[started.length - 1 - i] ?? 0n;
    back += own;
    return { ...entry, units: entry.units - own, ...(entry.given !== undefined && { given: entry.given + back }) };
  });
  return logging(state, [...lessened, ...state.log.slice(started.length)], terms);
}

export function logging(state: State, entries: readonly Entry[], terms: Terms): State {
  const log = entries.filter(({ units, given }) => units > 0n || given !== undefined);
  return { ...state, log, value: leftOf(log, terms) };
}

/** At the end of a pause it holds at most nothing (§3.6). */
export function pause(stored: Stored, until: number, terms: Terms): State {
  const state = advance(stored, Math.max(until, stored?.ts ?? until), terms);
  return state.value > 0n ? take(state, state.value) : state;
}

/** A bucket that holds exactly this. */
export function holding(state: State, value: bigint, terms: Terms): State {
  return { ...state, value, used: terms.capacity - value };
}

export interface Demand {
  readonly units: bigint;
  /** The longest wait of a reservation; undefined for a plain call. */
  readonly withinMs?: number | undefined;
}

/** When a demand that is made at `now` starts, or undefined if it is denied. */
export function startOf(stored: Stored, now: number, demand: Demand, terms: Terms): number | undefined {
  const { units, withinMs } = demand;
  const state = advance(stored, now, terms);
  if (units <= state.value) return now;
  if (withinMs === undefined) return undefined;
  const { maxReserved } = terms;
  if (terms.kind === "sliding window") {
    if (units > terms.capacity) return undefined;
    const waiting = sum(state.log.filter(({ at }) => at > state.ts));
    const start = Math.max(state.log.at(-1)?.at ?? 0, whenHolding(state, units, terms, state.ts));
    const owed = waiting + (start > state.ts ? units : 0n);
    const isOver = maxReserved !== undefined && owed > maxReserved;
    return isOver || start - now > withinMs ? undefined : start;
  }
  if (maxReserved !== undefined && units - state.value > maxReserved) return undefined;
  const start = whenHolding(take(state, units), 0n, terms, state.ts);
  return start - now > withinMs ? undefined : start;
}

/** The first time from `from` on at which the bucket holds these units, if nobody takes anything. */
function whenHolding(stored: Stored, units: bigint, terms: Terms, from: number): number {
  const state = advance(stored, from, terms);
  const time = Math.max(from, stored?.ts ?? from);
  if (state.value >= units) return from;
  if (units > terms.capacity) return NEVER;
  switch (terms.kind) {
    case "token bucket": {
      const missing = units - state.value;
      return time + Number((missing + terms.perMs - 1n) / terms.perMs);
    }
    case "sliding window": {
      const last = state.log.find((_, i) => leftOf(state.log.slice(i + 1), terms) >= units);
      return last ? last.at + terms.periodMs : NEVER;
    }
    case "fixed window": {
      const { windows } = terms;
      const current = windows.at(time);
      // The windows further on all bring the same.
      const further = units - advance(state, windows.startOf(current + 1), terms).value;
      const more = further <= 0n ? 0 : Number((further + terms.rate - 1n) / terms.rate);
      return windows.startOf(current + 1 + more);
    }
  }
}

/** The first time from `from` on at which the same demand is served, if nobody else comes. */
export function firstServed(stored: Stored, from: number, demand: Demand, terms: Terms): number {
  const { units, withinMs } = demand;
  const isServed = (time: number) => startOf(stored, time, demand, terms) !== undefined;
  if (isServed(from)) return from;
  const atOnce = whenHolding(stored, units, terms, from);
  if (withinMs === undefined) return atOnce;
  const candidates = new Set([atOnce]);
  const state = advance(stored, from, terms);
  if (terms.kind === "sliding window") {
    const start = Math.max(state.log.at(-1)?.at ?? 0, atOnce);
    candidates.add(start - withinMs);
    for (const { at } of state.log) candidates.add(at);
  } else {
    const { maxReserved } = terms;
    if (maxReserved !== undefined) candidates.add(whenHolding(stored, units - maxReserved, terms, from));
    if (terms.kind === "token bucket") candidates.add(whenHolding(take(state, units), 0n, terms, state.ts) - withinMs);
    else addWindows(candidates, stored, from, demand, terms);
  }
  const later = [...candidates].filter((time) => time > from && time < NEVER).sort((a, b) => a - b);
  return later.find(isServed) ?? NEVER;
}

/** A full window wastes the next one, so a reservation's start depends on the window in which it is asked for. */
function addWindows(candidates: Set<number>, stored: Stored, from: number, demand: Demand, terms: Terms): void {
  const MOST_WINDOWS = 60;
  const { windows } = terms;
  const first = windows.at(Math.max(from, stored?.ts ?? from));
  for (let window = first; window < first + MOST_WINDOWS; window++) {
    const begin = Math.max(from, windows.startOf(window));
    candidates.add(begin);
    const start = whenHolding(take(advance(stored, begin, terms), demand.units), 0n, terms, begin);
    candidates.add(start - (demand.withinMs ?? 0));
  }
}

/** The units of a rate that a log leaves. */
function leftOf(log: readonly Entry[], { capacity }: Terms): bigint {
  const taken = log.reduce((total, { units, given }) => {
    return given === undefined ? total + units : least(total + units, most(0n, capacity - given));
  }, 0n);
  return capacity - taken;
}
export function sum(entries: readonly Entry[]): bigint {
  return entries.reduce((total, { units }) => total + units, 0n);
}
function inOrder(entries: Entry[]): Entry[] {
  return entries.sort((a, b) => a.at - b.at);
}
export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
export function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
