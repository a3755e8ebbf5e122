/**
 * An exact sliding window: a log of what was taken and when, in fractions; it shares no code with src/.
 *
 * Readings of the law, where it leaves a choice:
 * - The effective time of a call is the later of its clock and the last write; a call that is granted is an entry there.
 * - A write forgets what has left the window, under the limit that it is made with. So a period that is made longer afterwards
 *   does not bring it back.
 * - A plain call counts promised entries as if they were taken now.
 * - A reservation that a plain call could replace starts now. One that has to wait starts at the first moment from the latest
 *   entry on at which the cap is kept.
 * - A refund takes away from the latest entries that have started, as far as they go; the rest of it is lost.
 * - A cancelled job's tokens are taken away from the entry of its own moment, as far as it goes, and then from older ones.
 * - Nothing can be reserved for a moment at which nothing is taken: a count of 0 waits until the debt of others has left.
 */
import { floorOf, greatest, isLess, least, minus, plus, type Rational, rational, ZERO } from "../rational.js";
import { type Answer, type Ask, LAST_MOMENT, longestWait, type Outcome, type SlidingWindow } from "./config.js";

interface Entry {
  readonly at: number;
  readonly count: Rational;
}
/** `value` is what was left at the last write; `isJoined` says that there were once too many moments to tell them apart. */
export type Log =
  | {
      readonly entries: readonly Entry[];
      readonly ts: number;
      readonly value: Rational;
      readonly isJoined: boolean;
    }
  | undefined;

/** So many moments a log tells apart. */
const EXACT_MOMENTS = 64;

/**
 * @param granted - the moment at which the work starts, where it is known to be later than the first that is possible.
 */
export function ask(
  limit: SlidingWindow,
  log: Log,
  clock: number,
  { count, reserve }: Ask,
  granted?: number,
): Outcome<Log> {
  const now = Math.max(clock, log?.ts ?? clock);
  const asked = { count, reserve };
  const isOfOneRow = clock <= now - limit.period ? { isOfOneRow: true } : {};
  const moment = startFor(limit, log, clock, asked);
  if (moment === undefined) {
    const retryAt = firstStart(limit, log, clock, asked);
    return { answer: { ok: false, retryAt, ...outlook(limit, log, now), ...isOfOneRow }, after: log };
  }
  const at = Math.max(moment, granted ?? moment);
  const after = count === 0 ? log : withEntry(limit, log, now, { at, count: rational(count) });
  const wait = !fits(limit, log, now, count) ? { retryAt: moment } : {};
  return { answer: { ok: true, ...wait, ...outlook(limit, after, now), ...isOfOneRow }, after };
}

/**
 * A log to which a clock behind its last write has added a count, where that was taken by the clock and not at the last write: of
 * several rows, one may not have been written since. The row may know a later moment, and then it gives no more than this says.
 */
export function takenByClock(
  { rate, period }: SlidingWindow,
  log: NonNullable<Log>,
  clock: number,
  count: number,
): Log {
  const { ts } = log;
  const others = log.entries.map((entry) =>
    entry.at === ts ? { at: ts, count: minus(entry.count, rational(count)) } : entry,
  );
  const same = others.find(({ at }) => at === clock)?.count ?? ZERO;
  const own = clock > ts - period ? [{ at: clock, count: plus(same, rational(count)) }] : [];
  const kept = others.filter((entry) => entry.at !== clock && isLess(ZERO, entry.count));
  const entries = [...kept, ...own].sort((a, b) => a.at - b.at);
  return { ...log, entries, value: minus(rational(rate), sum(entries)) };
}

/** When a call starts that is made at `clock`; undefined when it is denied. */
function startFor(limit: SlidingWindow, log: Log, clock: number, { count, reserve }: Ask): number | undefined {
  const now = Math.max(clock, log?.ts ?? clock);
  if (fits(limit, log, now, count)) return now;
  if (!reserve) return undefined;
  const at =
    count === 0
      ? firstTime(limit, log, now, (later) => fits(limit, log, later, 0))
      : promisedMoment(limit, log, now, count);
  return at === undefined || at - clock > longestWait(reserve) ? undefined : at;
}

/** The first millisecond after `clock` at which the same call is granted: answers change when entries start or leave. */
function firstStart(limit: SlidingWindow, log: Log, clock: number, { count, reserve }: Ask): number {
  const changes = (log?.entries ?? []).flatMap(({ at }) => [at, at + limit.period]).sort((a, b) => a - b);
  const from = clock + 1;
  const begins = [from, ...changes.filter((moment) => moment > from), Infinity];
  for (const [i, begin] of begins.entries()) {
    const at = startFor(limit, log, begin, { count, reserve: reserve !== false });
    if (at === undefined) continue;
    const first = Math.ceil(Math.max(begin, at - longestWait(reserve)));
    if (first < (begins[i + 1] ?? Infinity) && startFor(limit, log, first, { count, reserve }) !== undefined)
      return first;
  }
  throw new Error("the exact sliding window never lets this through");
}

export function adjust(limit: SlidingWindow, log: Log, clock: number, count: number): Outcome<Log> {
  const now = Math.max(clock, log?.ts ?? clock);
  const after =
    count > 0
      ? withEntry(limit, log, now, { at: now, count: rational(count) })
      : takenAway(limit, log, now, rational(-count), (entry) => entry.at <= now);
  const isOver = !fits(limit, after, now, 0);
  const wait = isOver ? { retryAt: firstTime(limit, after, now, (later) => fits(limit, after, later, 0)) } : {};
  return { answer: { ok: true, ...wait, ...outlook(limit, after, now) }, after };
}

export function cancel(limit: SlidingWindow, log: Log, clock: number, count: number, promised: number): Log {
  const now = Math.max(clock, log?.ts ?? clock);
  return takenAway(limit, log, now, rational(count), (entry) => entry.at <= promised);
}

/** All that was taken before a time counts as taken then, and with it all that is left. */
export function pause(limit: SlidingWindow, log: Log, until: number): Log {
  const ts = Math.max(until, log?.ts ?? until);
  const inWindow = log?.entries.filter(({ at }) => at > ts - limit.period) ?? [];
  const later = inWindow.filter(({ at }) => at > ts);
  const earlier = sum(inWindow.filter(({ at }) => at <= ts));
  const count = greatest(earlier, greatest(ZERO, minus(rational(limit.rate), sum(later))));
  return written(limit, log, ts, isLess(ZERO, count) ? [...later, { at: ts, count }] : later);
}

export function takenAt({ period }: SlidingWindow, log: Log, now: number): Rational {
  return sum(log?.entries.filter(({ at }) => at > now - period) ?? []);
}

/** The first moment, in the order of promises, at which the cap is kept; undefined when too much is promised already. */
function promisedMoment(limit: SlidingWindow, log: Log, now: number, count: number): number | undefined {
  const latest = Math.max(now, ...(log?.entries.map(({ at }) => at) ?? []));
  const keepsCap = (moment: number) => fits(limit, log, moment, count);
  const moment = keepsCap(latest) ? latest : firstTime(limit, log, latest, keepsCap);
  if (limit.maxReserved === undefined) return moment;
  const promised = plus(sum(log?.entries.filter(({ at }) => at > now) ?? []), rational(count));
  return isLess(rational(limit.maxReserved), promised) ? undefined : moment;
}

function fits(limit: SlidingWindow, log: Log, moment: number, count: number): boolean {
  return !isLess(rational(limit.rate), plus(takenAt(limit, log, moment), rational(count)));
}

/** The first moment after `from` at which a condition holds that changes only when entries start or leave. */
function firstTime(limit: SlidingWindow, log: Log, from: number, holds: (moment: number) => boolean): number {
  const changes = (log?.entries ?? []).flatMap(({ at }) => [at, at + limit.period]);
  const first = changes.sort((a, b) => a - b).find((moment) => moment > from && holds(moment));
  if (first === undefined) throw new Error("the exact sliding window never lets this through");
  return first;
}

function withEntry(limit: SlidingWindow, log: Log, now: number, added: Entry): Log {
  const kept = log?.entries.filter(({ at }) => at > now - limit.period) ?? [];
  const same = kept.find(({ at }) => at === added.at);
  const entry = same ? { at: same.at, count: plus(same.count, added.count) } : added;
  const others = kept.filter(({ at }) => at !== added.at);
  return written(limit, log, now, [...others, entry]);
}

function written({ rate }: SlidingWindow, log: Log, now: number, entries: readonly Entry[]): Log {
  const isJoined =
    entries.length > EXACT_MOMENTS ||
    (log?.isJoined === true && entries.some(({ at }) => log.entries.some((entry) => entry.at === at)));
  const sorted = [...entries].sort((a, b) => a.at - b.at);
  return { entries: sorted, ts: now, value: minus(rational(rate), sum(sorted)), isJoined };
}

function takenAway(
  limit: SlidingWindow,
  log: Log,
  now: number,
  count: Rational,
  isMeant: (entry: Entry) => boolean,
): Log {
  let left = count;
  const entries: Entry[] = [];
  for (const entry of [...(log?.entries ?? [])].reverse()) {
    if (entry.at <= now - limit.period) continue;
    const away = isMeant(entry) ? least(left, entry.count) : ZERO;
    left = minus(left, away);
    const rest = minus(entry.count, away);
    if (isLess(ZERO, rest)) entries.unshift({ at: entry.at, count: rest });
  }
  return written(limit, log, now, entries);
}

/**
 * A state of another kind says what was missing at its last write: that counts as taken then. A debt counts as promised for the following
 * windows. If it is more than 31 of them can hold, the rest counts for the one after.
 */
export function fromLevel(
  { rate, period }: SlidingWindow,
  level: { value: Rational; ts: number; isInexact?: boolean },
): Log {
  const { ts, isInexact: isJoined = false } = level;
  const size = rational(rate);
  const value = least(size, level.value);
  const entries: Entry[] = [];
  let missing = minus(size, value);
  for (let at = ts; isLess(ZERO, missing); at += period) {
    const count = entries.length === 31 ? missing : least(missing, size);
    entries.push({ at: Math.min(LAST_MOMENT, at), count });
    missing = minus(missing, count);
  }
  return { entries, ts, value, isJoined };
}

/** `resetAt` is when all that was taken has left. */
function outlook(limit: SlidingWindow, log: Log, now: number): Pick<Answer, "remaining" | "resetAt"> {
  const free = minus(rational(limit.rate), takenAt(limit, log, now));
  const leaves = log?.entries.map(({ at }) => at + limit.period) ?? [];
  return { remaining: Number(floorOf(greatest(ZERO, free))), resetAt: Math.max(now, ...leaves) };
}

function sum(entries: readonly Entry[]): Rational {
  return entries.reduce((total, { count }) => plus(total, count), ZERO);
}
