/**
 * An exact sliding window: a log of the tokens that were taken and when, in fractions. It shares no code with src/.
 *
 * Readings of the law, if it leaves a choice:
 * - The effective time of a call is the later of its clock and the last write. A call that is granted is an entry there.
 * - A write forgets entries that have left the window of its limit. A longer period afterwards does not bring them back.
 * - A plain call counts promised entries as if they were taken now.
 * - A reservation that a plain call could replace starts now. Other reservations start at the first time, from the latest entry on,
 *   at which the cap is kept.
 * - A refund takes away from the latest entries that have started. If it is more than all of them, the rest is lost.
 * - A job's tokens come back from the entry of its own time. Of one in which a pause took everything nothing does.
 * - After a gift or a pause no more comes back of earlier takes than was taken after it, less what is promised for later.
 * - A count of 0 reserves no time. It waits until the debt of others has left.
 */
import { floorOf, greatest, isLess, least, minus, plus, type Rational, rational, ZERO } from "../rational.js";
import { type Answer, type Ask, LAST_MOMENT, longestWait, type Outcome, type SlidingWindow } from "./config.js";

interface Entry {
  readonly at: number;
  readonly count: Rational;
  /** Whether a pause took everything then. */
  readonly isPause?: boolean;
}
/** After a gift or a pause: what can come back of the takes until then. */
interface Note {
  readonly at: number;
  readonly most: Rational;
}
type Level = { readonly value: Rational; readonly ts: number; readonly isInexact?: boolean };
/**
 * `value` has the tokens that were left at the last write. `isJoined`: the log once had more times than it distinguishes. `adoptedAt`: until
 * then the limit was of another kind, of which more may have been used.
 */
export type Log =
  | {
      readonly entries: readonly Entry[];
      readonly ts: number;
      readonly value: Rational;
      readonly isJoined: boolean;
      readonly notes?: readonly Note[];
      readonly adoptedAt?: number | undefined;
    }
  | undefined;

/** The number of times that a log distinguishes. */
const EXACT_TIMES = 64;

/** @param granted - the time at which the work starts, if it is known to be later than the first possible time. */
export function ask(limit: SlidingWindow, log: Log, clock: number, asked: Ask, granted?: number): Outcome<Log> {
  const { count } = asked;
  const now = Math.max(clock, log?.ts ?? clock);
  const isOfOneRow = clock <= now - limit.period ? { isOfOneRow: true } : {};
  const first = startFor(limit, log, clock, asked);
  if (first === undefined) {
    const retryAt = firstStart(limit, log, clock, asked);
    return { answer: { ok: false, retryAt, ...outlook(limit, log, now), ...isOfOneRow }, after: log };
  }
  const at = Math.max(first, granted ?? first);
  const after = count === 0 ? log : withEntry(limit, log, now, { at, count: rational(count) });
  const wait = !fits(limit, log, now, count) ? { retryAt: first } : {};
  return { answer: { ok: true, ...wait, ...outlook(limit, after, now), ...isOfOneRow }, after };
}

/** When a call at `clock` starts; undefined if it is denied. */
function startFor(limit: SlidingWindow, log: Log, clock: number, { count, reserve }: Ask): number | undefined {
  const now = Math.max(clock, log?.ts ?? clock);
  if (fits(limit, log, now, count)) return now;
  if (!reserve) return undefined;
  const at =
    count === 0
      ? firstTime(limit, log, now, (later) => fits(limit, log, later, 0))
      : promisedTime(limit, log, now, count);
  return at === undefined || at - clock > longestWait(reserve) ? undefined : at;
}

/** The first millisecond after `clock` at which the same call is granted: answers change when entries start or leave. */
function firstStart(limit: SlidingWindow, log: Log, clock: number, { count, reserve }: Ask): number {
  const changes = (log?.entries ?? []).flatMap(({ at }) => [at, at + limit.period]).sort((a, b) => a - b);
  const from = clock + 1;
  const begins = [from, ...changes.filter((time) => time > from), Infinity];
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
    count > 0 ? withEntry(limit, log, now, { at: now, count: rational(count) }) : given(limit, log, now, -count);
  const isOver = !fits(limit, after, now, 0);
  const wait = isOver ? { retryAt: firstTime(limit, after, now, (later) => fits(limit, after, later, 0)) } : {};
  return { answer: { ok: true, ...wait, ...outlook(limit, after, now) }, after };
}

function given(limit: SlidingWindow, log: Log, now: number, count: number): Log {
  const after = takenAway(limit, log, now, rational(count), (at) => at <= now);
  return after && noted(after, { at: now, most: sum(after.entries.filter(({ isPause }) => !isPause)) });
}

const noted = (log: NonNullable<Log>, note: Note): Log => ({ ...log, notes: [...(log.notes ?? []), note] });

/** The logs that are possible when tokens come back of a take: all that its entry has, and no more than the notes say. */
export function undo(
  limit: SlidingWindow,
  log: Log,
  clock: number,
  count: number,
  { takenAt, promised }: { takenAt: number; promised: number },
): Log[] {
  const now = Math.max(clock, log?.ts ?? clock);
  const { entries = [], notes = [] } = log ?? {};
  const own = entries.filter(({ at }) => at === promised && at > now - limit.period);
  if (own.some(({ isPause }) => isPause)) return [log];
  const most = least(rational(count), sum(own));
  const later = promised > now ? [] : entries.filter(({ at }) => at > now);
  const bounds = notes.filter(({ at }) => at >= takenAt).map((note) => greatest(ZERO, minus(note.most, sum(later))));
  return [...new Set([most, bounds.reduce(least, most)])].map((back) => {
    const after = takenAway(limit, log, now, back, (at) => at === promised);
    const lessened = notes.map((note) =>
      note.at < takenAt ? note : { ...note, most: greatest(ZERO, minus(note.most, back)) },
    );
    return after && { ...after, notes: lessened };
  });
}

/** Everything counts as taken at its end, except what is promised for then or later. Debts stay. */
export function pause(limit: SlidingWindow, log: Log, now: number, until: number, at = now): Log {
  const ts = Math.max(until, log?.ts ?? until);
  const inWindow = log?.entries.filter(({ at }) => at > Math.max(now, log.ts) - limit.period) ?? [];
  const isLater = (at: number) => at >= ts && at > (log?.ts ?? 0);
  const later = inWindow.filter(({ at }) => isLater(at));
  const isAdopted = (log?.adoptedAt ?? 0) > Math.max(now, log?.ts ?? 0) - limit.period;
  const started = log?.entries.filter(({ at }) => at > ts - limit.period && !isLater(at)) ?? [];
  const after = written(limit, log && { ...log, adoptedAt: isAdopted ? ts : undefined }, ts, [
    ...later,
    { at: ts, count: greatest(rational(limit.rate), sum(started)), isPause: true },
  ]);
  return after && noted(after, { at, most: sum(later) });
}

export function takenAt({ period }: SlidingWindow, log: Log, now: number): Rational {
  return sum(log?.entries.filter(({ at }) => at > now - period) ?? []);
}

/** The first time, in the order of promises, at which the cap is kept; undefined if too much is promised already. */
function promisedTime(limit: SlidingWindow, log: Log, now: number, count: number): number | undefined {
  const latest = Math.max(now, ...(log?.entries.map(({ at }) => at) ?? []));
  const keepsCap = (time: number) => fits(limit, log, time, count);
  const time = keepsCap(latest) ? latest : firstTime(limit, log, latest, keepsCap);
  if (limit.maxReserved === undefined) return time;
  const promised = plus(sum(log?.entries.filter(({ at }) => at > now) ?? []), rational(count));
  return isLess(rational(limit.maxReserved), promised) ? undefined : time;
}

function fits(limit: SlidingWindow, log: Log, time: number, count: number): boolean {
  return !isLess(rational(limit.rate), plus(takenAt(limit, log, time), rational(count)));
}

/** The first time after `from` at which a condition holds that changes only when entries start or leave. */
function firstTime(limit: SlidingWindow, log: Log, from: number, holds: (time: number) => boolean): number {
  const changes = (log?.entries ?? []).flatMap(({ at }) => [at, at + limit.period]);
  const first = changes.sort((a, b) => a - b).find((time) => time > from && holds(time));
  if (first === undefined) throw new Error("the exact sliding window never lets this through");
  return first;
}

function withEntry(limit: SlidingWindow, log: Log, now: number, added: Entry): Log {
  const kept = log?.entries.filter(({ at }) => at > now - limit.period) ?? [];
  const same = kept.find(({ at }) => at === added.at);
  const entry = same ? { ...same, count: plus(same.count, added.count) } : added;
  const others = kept.filter(({ at }) => at !== added.at);
  return written(limit, log, now, [...others, entry]);
}

function written({ rate, period }: SlidingWindow, log: Log, now: number, entries: readonly Entry[]): Log {
  const isJoined =
    entries.length > EXACT_TIMES ||
    (log?.isJoined === true && entries.some(({ at }) => log.entries.some((entry) => entry.at === at)));
  const sorted = [...entries].sort((a, b) => a.at - b.at);
  const adoptedAt = log?.adoptedAt !== undefined && log.adoptedAt > now - period ? log.adoptedAt : undefined;
  const { notes = [] } = log ?? {};
  return { entries: sorted, ts: now, value: minus(rational(rate), sum(sorted)), isJoined, adoptedAt, notes };
}

/** Until the period is over in which the limit was of another kind, a larger rate adds nothing. */
export function raised(limit: SlidingWindow, log: NonNullable<Log>): NonNullable<Log> {
  const { entries, value, adoptedAt: at } = log;
  const more = minus(rational(limit.rate), plus(value, sum(entries)));
  if (at === undefined || !isLess(ZERO, more)) return log;
  const adopted = { at, count: plus(more, entries.find((entry) => entry.at === at)?.count ?? ZERO) };
  return { ...log, entries: [adopted, ...entries.filter((entry) => entry.at !== at)] };
}

function takenAway(limit: SlidingWindow, log: Log, now: number, count: Rational, isMeant: (at: number) => boolean) {
  let left = count;
  const entries: Entry[] = [];
  for (const entry of [...(log?.entries ?? [])].reverse()) {
    if (entry.at <= now - limit.period) continue;
    const away = isMeant(entry.at) ? least(left, entry.count) : ZERO;
    left = minus(left, away);
    const rest = minus(entry.count, away);
    if (entry.isPause || isLess(ZERO, rest)) entries.unshift({ ...entry, count: rest });
  }
  return written(limit, log, now, entries);
}

/**
 * The tokens that were missing at the last write of another kind count as taken then. A debt counts as promised for the following
 * windows. If it is more than 31 of them can hold, the rest counts for the one after.
 */
export function fromLevel({ rate, period }: SlidingWindow, level: Level): Log {
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
  return { entries, ts, value, isJoined, adoptedAt: ts };
}

/** `resetAt` is when all taken tokens have left. */
function outlook(limit: SlidingWindow, log: Log, now: number): Pick<Answer, "remaining" | "resetAt"> {
  const free = minus(rational(limit.rate), takenAt(limit, log, now));
  const leaves = log?.entries.map(({ at }) => at + limit.period) ?? [];
  return { remaining: Number(floorOf(greatest(ZERO, free))), resetAt: Math.max(now, ...leaves) };
}

function sum(entries: readonly Entry[]): Rational {
  return entries.reduce((total, { count }) => plus(total, count), ZERO);
}
