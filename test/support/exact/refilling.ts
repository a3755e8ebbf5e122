/**
 * An exact bucket that refills, of either kind, in fractions; it shares no code with src/.
 *
 * The state is what the bucket held at its last write, and when that was; undefined is a bucket that was never written, which
 * is full. From the last write on tokens arrive as the limit in force now says, never above capacity. Time before the last
 * write never counts: a clock that is behind it reads as the time of the last write.
 */
import { greatest, isLess, least, minus, plus, type Rational, rational, floorOf, ZERO } from "../rational.js";
import { type Answer, type Ask, LAST_MOMENT, longestWait, type Outcome, type RefillingLimit } from "./config.js";
import { type Happened, type History, leftBy, mostPeaks, type Window, withEvent } from "./history.js";
import * as fixedWindow from "./fixedWindow.js";
import * as tokenBucket from "./tokenBucket.js";

interface Written {
  readonly value: Rational;
  readonly ts: number;
  readonly history?: History;
  /** Whether a bucket that remembers little may have undone only a part of a take. */
  readonly isInexact?: boolean;
  readonly window?: Window | undefined;
}
export type Level = Written | undefined;

/** The tokens of the bucket at `now`; below 0 while it owes some. */
export function levelAt(limit: RefillingLimit, state: Level, now: number): Rational {
  const capacity = rational(limit.capacity);
  if (!state) return capacity;
  const held = heldBy(limit, state);
  return now <= state.ts ? held : least(capacity, plus(held, gained(limit, state.ts, now, sinceOf(state))));
}

/** The tokens at the last write. Under another capacity a window holds the tokens that were not used of it; no more than before if not all use is known. */
function heldBy(limit: RefillingLimit, { value, ts, window }: Written): Rational {
  const capacity = rational(limit.capacity);
  if (limit.kind !== "fixed window" || !window) return least(capacity, value);
  const unused = minus(capacity, window.used);
  const left = least(value, greatest(ZERO, unused));
  if (window.isAdopted) return left;
  const { since, excess = ZERO, before = Infinity } = window;
  const [last, current] = [-1n, 0n].map((n) => fixedWindow.startOf(limit, fixedWindow.windowAt(limit, ts) + n)) as [
    number,
    number,
  ];
  const saved = since === current && before <= last ? greatest(ZERO, minus(capacity, rational(limit.rate))) : excess;
  return greatest(left, minus(unused, least(excess, saved)));
}

/** A new window forgets as many used tokens as it brings. */
function windowOf(limit: RefillingLimit, state: Level, ts: number): Window | undefined {
  if (limit.kind !== "fixed window") return undefined;
  const current = fixedWindow.windowAt(limit, ts);
  const isCurrent = state && fixedWindow.windowAt(limit, state.ts) >= current;
  const old = state?.window;
  if (old && isCurrent) return old;
  const used = minus(rational(limit.capacity), levelAt(limit, state, ts));
  const counted = old ? plus(old.used, old.excess ?? ZERO) : ZERO;
  const gainedSince = state ? gained(limit, state.ts, ts, sinceOf(state)) : ZERO;
  const excess = greatest(ZERO, minus(minus(counted, gainedSince), used));
  const since = isCurrent ? sinceOf(state) : fixedWindow.startOf(limit, current);
  // The first window after another kind does not bring all.
  const last = current - 1n;
  const isNext = state !== undefined && fixedWindow.windowAt(limit, state.ts) === last;
  const isShort = isCurrent === true || (isNext && sinceOf(state) > fixedWindow.startOf(limit, last));
  const isAdopted = state !== undefined && old?.isAdopted !== false && isShort;
  return { since, used, excess, before: old?.since, isAdopted };
}

/** When the window before began. Under another kind time has counted until the last write. */
function sinceOf({ ts, window }: Written): number {
  return window ? window.since : ts;
}

/** A call gets tokens that are there or may be owed. A denial has the first millisecond at which it would get them. */
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

/** When the tokens of a call at `now` are there; undefined if it is denied. A call that takes nothing owes nothing. */
function startFor(limit: RefillingLimit, state: Level, now: number, { count, reserve }: Ask): number | undefined {
  const left = minus(levelAt(limit, state, now), rational(count));
  if (!isLess(left, ZERO)) return now;
  const { maxReserved } = limit;
  const isOver = maxReserved !== undefined && isLess(plus(left, rational(maxReserved)), ZERO);
  if (!reserve || (count > 0 && isOver)) return undefined;
  const at = whenHolding(limit, written(limit, state, now, left), now, ZERO);
  return at - now > longestWait(reserve) ? undefined : at;
}

/** The first millisecond after `now` at which a reservation is granted; the end of time if it never is. */
function firstStart(limit: RefillingLimit, state: Level, now: number, asked: Ask): number {
  const { count, reserve } = asked;
  const { maxReserved } = limit;
  const needed = maxReserved === undefined || count === 0 ? undefined : minus(rational(count), rational(maxReserved));
  const isOwable = needed === undefined || !isLess(levelAt(limit, state, now), needed);
  const owable = isOwable ? now : whenHolding(limit, state, now, needed);
  const from = Math.max(now + 1, owable);
  const isStart = (time: number) => startFor(limit, state, time, asked) !== undefined;
  // While the bucket is not full, the time at which the tokens are there does not depend on the time of the call.
  const near = (time: number) =>
    (startFor(limit, state, time, { count, reserve: true }) ?? LAST_MOMENT) - longestWait(reserve);
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

/** Full windows of the calendar differ in length only, and repeat within 50 windows. */
const MOST_WINDOWS = 50;

/** Charges, also below 0. A negative count gives back, up to the capacity. */
export function adjust(limit: RefillingLimit, state: Level, now: number, count: number): Outcome<Level> {
  const left = least(rational(limit.capacity), minus(levelAt(limit, state, now), rational(count)));
  return allowed(limit, count === 0 ? state : written(limit, state, now, left), now);
}

/**
 * The tokens that are there at a time are lost then, and tokens that were taken before do not come back. What a window used beyond a
 * capacity that was lowered counts until then.
 */
export function pause(limit: RefillingLimit, state: Level, now: number, until: number, at = now): Level {
  const after = afterEvent(limit, state, until, (before) => ({ taken: greatest(ZERO, before), pausedAt: at }));
  const ts = Math.max(now, state?.ts ?? now);
  const before = windowOf(limit, state, ts);
  if (!after.window || !before || !state?.window) return after;
  const counted = plus(before.used, before.excess ?? ZERO);
  if (!isLess(minus(rational(limit.capacity), levelAt(limit, state, ts)), counted)) return after;
  const excess = greatest(after.window.excess ?? ZERO, minus(counted, after.window.used));
  return { ...after, window: { ...after.window, excess } };
}

function allowed(limit: RefillingLimit, after: Level, now: number): Outcome<Level> {
  const wait = isLess(levelAt(limit, after, now), ZERO) ? { retryAt: whenHolding(limit, after, now, ZERO) } : {};
  return { answer: { ok: true, ...wait, ...outlook(limit, after, now) }, after };
}

function written(limit: RefillingLimit, state: Level, now: number, value: Rational, date?: number): Written {
  return afterEvent(limit, state, now, (before) => ({ taken: minus(before, value), date }));
}

function afterEvent(
  limit: RefillingLimit,
  state: Level,
  now: number,
  takenFrom: (before: Rational) => Pick<Happened, "taken" | "date" | "pausedAt">,
): Written {
  const ts = Math.max(now, state?.ts ?? now);
  const before = levelAt(limit, state, ts);
  const event = { limit, ts, before, ...takenFrom(before), window: windowOf(limit, state, ts) };
  const history = withEvent(state?.history ?? [], event);
  return { ...leftAfter(event), history, ...(state?.isInexact && { isInexact: true }) };
}

/** The state after an event. Tokens that come back to a window reduce its own use first, and then the use before. */
function leftAfter(event: Happened): Written {
  const { ts, before, window } = event;
  const value = leftBy(event);
  if (!window) return { value, ts };
  const used = plus(window.used, minus(before, value));
  const excess = plus(window.excess ?? ZERO, least(ZERO, used));
  return { value, ts, window: { ...window, used: greatest(ZERO, used), excess: greatest(ZERO, excess) } };
}

/** A bucket remembers this number of peaks exactly, of those that it has not reached again. One is its present level. */
const REMEMBERED = 6;

/**
 * The states without a take, by replay of the other events; none if the bucket has forgotten the take. A gift or a pause before it that
 * has the same time, or a later one, may count as later than the take: then no more comes back than was missing after it.
 */
export function undo(limit: RefillingLimit, state: Level, now: number, count: Rational, takenAt: number): Written[] {
  const before = written(limit, state, now, levelAt(limit, state, now));
  const events = before.history ?? [];
  const own = events.findIndex(({ date, taken }) => date === takenAt && !isLess(taken, count));
  if (own < 0) return [];
  const missing = events
    .slice(0, own)
    .filter(({ ts, taken, pausedAt = isLess(taken, ZERO) ? ts : -Infinity }) => pausedAt >= takenAt)
    .map((event) => minus(rational(limit.capacity), leftBy(event)));
  const least = missing.reduce((least, one) => (isLess(one, least) ? one : least), count);
  const isInexact = before.isInexact === true || mostPeaks(state?.history ?? []) > REMEMBERED;
  return [...new Set([count, least])].flatMap((back) => {
    const { after, history } = replayed(
      events.map((event, i) => (i === own ? { ...event, taken: minus(event.taken, back) } : event)),
    );
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
      taken: event.pausedAt === undefined ? event.taken : greatest(ZERO, before),
      window: after ? windowOf(limit, after, ts) : event.window,
    };
    history.push(again);
    after = leftAfter(again);
  }
  return { after, history };
}

/** The tokens that arrive after `from`, up to and including `to`. @param since - when the window before began, if that is known. */
function gained(limit: RefillingLimit, from: number, to: number, since?: number): Rational {
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
