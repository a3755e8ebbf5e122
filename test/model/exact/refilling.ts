/**
 * An exact bucket that refills, of either kind, in fractions; it shares no code with src/.
 *
 * The state is what the bucket held at its last write, and when that was; undefined is a bucket that was never written, which
 * is full. From the last write on tokens arrive as the limit in force now says, never above capacity. Time before the last
 * write never counts: a clock that is behind it reads as the time of the last write.
 */
import { greatest, isLess, least, minus, plus, type Rational, rational, floorOf, ZERO } from "../rational.js";
import { type Answer, type Ask, LAST_MOMENT, longestWait, type Outcome, type RefillingLimit } from "./config.js";
import { type Happened, type History, leftBy, mostPeaks, withEvent, without } from "./history.js";
import * as fixedWindow from "./fixedWindow.js";
import * as tokenBucket from "./tokenBucket.js";

interface Window {
  readonly since: number;
  readonly used: Rational;
  readonly excess?: Rational;
}

export type Level =
  | {
      readonly value: Rational;
      readonly ts: number;
      readonly history?: History;
      /** Whether a take was undone that a bucket which remembers little may have undone in part. */
      readonly isInexact?: boolean;
      /** Of a fixed window: what counts as used, and since when. */
      readonly window?: Window | undefined;
    }
  | undefined;

/** What the bucket holds at `now`. */
export function levelAt(limit: RefillingLimit, state: Level, now: number): Rational {
  const capacity = rational(limit.capacity);
  if (!state) return capacity;
  const held = heldBy(limit, state);
  return now <= state.ts ? held : least(capacity, plus(held, gained(limit, state.ts, now, sinceOf(state))));
}

/** At the last write: under another capacity a window holds what was not used of it. */
function heldBy(limit: RefillingLimit, { value, window }: Exclude<Level, undefined>): Rational {
  const capacity = rational(limit.capacity);
  if (limit.kind !== "fixed window" || !window) return least(capacity, value);
  const unused = minus(capacity, window.used);
  return greatest(least(value, greatest(ZERO, unused)), minus(unused, window.excess ?? ZERO));
}

/** A new window forgets what was used as far as it brings it. */
function windowOf(limit: RefillingLimit, state: Level, ts: number): Window | undefined {
  if (limit.kind !== "fixed window") return undefined;
  const current = fixedWindow.windowAt(limit, ts);
  const old = state?.window;
  if (old && fixedWindow.windowAt(limit, state.ts) >= current) return old;
  const used = minus(rational(limit.capacity), levelAt(limit, state, ts));
  const counted = old ? plus(old.used, old.excess ?? ZERO) : ZERO;
  const gainedSince = state ? gained(limit, state.ts, ts, sinceOf(state)) : ZERO;
  const excess = greatest(ZERO, minus(minus(counted, gainedSince), used));
  const isCurrent = state && fixedWindow.windowAt(limit, state.ts) >= current;
  return { since: isCurrent ? state.ts : fixedWindow.startOf(limit, current), used, excess };
}

/** When the window before began; under another kind time has counted until the last write. */
function sinceOf({ ts, window }: Exclude<Level, undefined>): number {
  return window ? window.since : ts;
}

/** What is asked, decided: the tokens are there, or may be owed, or a denial tells the first millisecond of a yes. */
export function ask(limit: RefillingLimit, state: Level, now: number, asked: Ask): Outcome<Level> {
  const { count, reserve, date } = asked;
  const left = minus(levelAt(limit, state, now), rational(count));
  if (startFor(limit, state, now, asked) === undefined) {
    const retryAt = reserve ? firstStart(limit, state, now, asked) : whenHolding(limit, state, now, rational(count));
    return { answer: { ok: false, retryAt, ...outlook(limit, state, now) }, after: state };
  }
  // Taking nothing is no write.
  return allowed(limit, count === 0 ? state : written(limit, state, now, left, date), now);
}

/** When the tokens are there of a call that is made at `now`; undefined when it is denied. Taking nothing owes nothing. */
function startFor(limit: RefillingLimit, state: Level, now: number, { count, reserve }: Ask): number | undefined {
  const left = minus(levelAt(limit, state, now), rational(count));
  if (!isLess(left, ZERO)) return now;
  const { maxReserved } = limit;
  if (!reserve || (count > 0 && maxReserved !== undefined && isLess(plus(left, rational(maxReserved)), ZERO)))
    return undefined;
  const at = whenHolding(limit, written(limit, state, now, left), now, ZERO);
  return at - now > longestWait(reserve) ? undefined : at;
}

/** The first millisecond after `now` at which a reservation is granted; the last of all when it never is. */
function firstStart(limit: RefillingLimit, state: Level, now: number, asked: Ask): number {
  const { count, reserve } = asked;
  const { maxReserved } = limit;
  const needed = maxReserved === undefined || count === 0 ? undefined : minus(rational(count), rational(maxReserved));
  const isOwable = needed === undefined || !isLess(levelAt(limit, state, now), needed);
  const owable = isOwable ? now : whenHolding(limit, state, now, needed);
  const from = Math.max(now + 1, owable);
  const isStart = (moment: number) => startFor(limit, state, moment, asked) !== undefined;
  // While the bucket is not full, the moment at which the tokens are there does not depend on when one asks.
  const near = (moment: number) =>
    (startFor(limit, state, moment, { count, reserve: true }) ?? LAST_MOMENT) - longestWait(reserve);
  if (limit.kind === "token bucket") {
    const first = Math.ceil(Math.max(from, near(from)));
    return isStart(first) ? first : LAST_MOMENT;
  }
  const window = fixedWindow.windowAt(limit, Math.max(from, state?.ts ?? from));
  for (let next = window, full = 0; full < MOST_WINDOWS; next++) {
    const begins = Math.max(from, next === window ? from : fixedWindow.startOf(limit, next));
    const first = Math.ceil(Math.max(begins, near(begins)));
    if (first < fixedWindow.startOf(limit, next + 1n) && isStart(first)) return first;
    if (!isLess(levelAt(limit, state, begins), rational(limit.capacity))) full++;
  }
  return LAST_MOMENT;
}

/** Full windows of the calendar differ in length only, and repeat within so many. */
const MOST_WINDOWS = 50;

/** Charged whatever is there, or given back up to the capacity when negative. */
export function adjust(limit: RefillingLimit, state: Level, now: number, count: number): Outcome<Level> {
  const left = least(rational(limit.capacity), minus(levelAt(limit, state, now), rational(count)));
  return allowed(limit, count === 0 ? state : written(limit, state, now, left), now);
}

/** The tokens that are there at a time are lost then, and those that were taken before do not come back. */
export function pause(limit: RefillingLimit, state: Level, until: number): Level {
  const ts = Math.max(until, state?.ts ?? until);
  const before = levelAt(limit, state, ts);
  const taken = greatest(ZERO, before);
  const happened = { limit, ts, before, taken, isPause: true, window: windowOf(limit, state, ts) };
  const history = withEvent(state?.history ?? [], happened);
  return { ...leftAfter(happened), history, ...(state?.isInexact && { isInexact: true }) };
}

function allowed(limit: RefillingLimit, after: Level, now: number): Outcome<Level> {
  const wait = isLess(levelAt(limit, after, now), ZERO) ? { retryAt: whenHolding(limit, after, now, ZERO) } : {};
  return { answer: { ok: true, ...wait, ...outlook(limit, after, now) }, after };
}

function written(
  limit: RefillingLimit,
  state: Level,
  now: number,
  value: Rational,
  date?: number,
): Exclude<Level, undefined> {
  const ts = Math.max(now, state?.ts ?? now);
  const before = levelAt(limit, state, now);
  const happened = { limit, ts, before, taken: minus(before, value), date, window: windowOf(limit, state, ts) };
  const history = withEvent(state?.history ?? [], happened);
  return { ...leftAfter(happened), history, ...(state?.isInexact && { isInexact: true }) };
}

/** The state that an event leaves. What comes back to a window comes back to its own use first, and then to what was used before. */
function leftAfter(event: Happened): Exclude<Level, undefined> {
  const { ts, before, window } = event;
  const value = leftBy(event);
  if (!window) return { value, ts };
  const used = plus(window.used, minus(before, value));
  const excess = plus(window.excess ?? ZERO, least(ZERO, used));
  return { value, ts, window: { ...window, used: greatest(ZERO, used), excess: greatest(ZERO, excess) } };
}

/** So many peaks, of those that were not reached again, a bucket remembers exactly; one is what it holds now. */
const REMEMBERED = 6;

/**
 * The states had tokens not been taken, by replay of what else happened; none if it does not know of them. A bucket may not know that it was
 * smaller for a part of the ms in which they were taken.
 */
export function undo(
  limit: RefillingLimit,
  state: Level,
  now: number,
  count: number,
  takenAt: number,
): Exclude<Level, undefined>[] {
  const before = written(limit, state, now, levelAt(limit, state, now));
  const events = without(before.history ?? [], takenAt, rational(count));
  const own = events?.find(({ date }) => date === takenAt);
  if (!events || !own) return [];
  const isSmaller = (event: Happened) =>
    event.ts === own.ts && isLess(rational(event.limit.capacity), rational(own.limit.capacity));
  const larger = events.map((event) => (isSmaller(event) ? { ...event, limit: own.limit } : event));
  return [events, ...(events.some(isSmaller) ? [larger] : [])].flatMap((each) => {
    const { after, history } = replayed(each);
    // A window that was lowered and raised meanwhile gives back less, also if it is a bucket now.
    const windows = new Set(each.flatMap((event) => (event.window ? [event.limit] : [])));
    const hasChanged = windows.size > 1 || (before.window !== undefined && each.some((event) => event.limit !== limit));
    // What was taken while the bucket was of another kind is not known.
    const [first] = each;
    const isAdopted = first !== undefined && isLess(first.before, rational(first.limit.capacity));
    const isInexact =
      before.isInexact === true || hasChanged || isAdopted || mostPeaks(state?.history ?? []) > REMEMBERED;
    return after ? [{ ...after, ts: before.ts, history, ...(isInexact && { isInexact }) }] : [];
  });
}

function replayed(events: History): { after: Level; history: History } {
  const history: Happened[] = [];
  let after: Level;
  for (const event of events) {
    const { limit, ts } = event;
    const before = after ? levelAt(limit, after, ts) : event.before;
    const again: Happened = {
      ...event,
      before,
      taken: event.isPause ? greatest(ZERO, before) : event.taken,
      window: after ? windowOf(limit, after, ts) : event.window,
    };
    history.push(again);
    after = leftAfter(again);
  }
  return { after, history };
}

/** The tokens that arrive after `from`, up to and including `to`. @param since - when the window before began, if that is known. */
export function gained(limit: RefillingLimit, from: number, to: number, since?: number): Rational {
  return limit.kind === "token bucket"
    ? tokenBucket.gained(limit, from, to)
    : fixedWindow.gained(limit, from, to, since);
}

/** The first millisecond at which the bucket holds `wanted`, which is at most its capacity. */
function whenHolding(limit: RefillingLimit, state: Level, now: number, wanted: Rational): number {
  if (!state) return now;
  const missing = minus(wanted, heldBy(limit, state));
  if (!isLess(ZERO, missing)) return state.ts;
  return limit.kind === "token bucket"
    ? tokenBucket.whenGained(limit, state.ts, missing)
    : fixedWindow.whenGained(limit, state.ts, missing, sinceOf(state));
}

function outlook(limit: RefillingLimit, state: Level, now: number): Pick<Answer, "remaining" | "resetAt"> {
  const held = greatest(ZERO, levelAt(limit, state, now));
  return { remaining: Number(floorOf(held)), resetAt: resetAt(limit, state, now) };
}

/** When the bucket is full again; for windows, the start of the next one. */
function resetAt(limit: RefillingLimit, state: Level, now: number): number {
  if (limit.kind === "fixed window") {
    const current = fixedWindow.windowAt(limit, Math.max(now, state?.ts ?? now));
    const next = fixedWindow.startOf(limit, current + 1n);
    // A window that brings nothing resets nothing.
    const isEmpty =
      state &&
      fixedWindow.windowAt(limit, state.ts) === current &&
      !isLess(ZERO, gained(limit, state.ts, next, sinceOf(state)));
    return isEmpty ? fixedWindow.startOf(limit, current + 2n) : next;
  }
  return Math.max(now, whenHolding(limit, state, now, rational(limit.capacity)));
}
