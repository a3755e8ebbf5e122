/**
 * An exact sliding window: a log of the tokens that were taken and when, in fractions. It shares no code with src/.
 *
 * Readings of the law, if it leaves a choice:
 * - The effective time of a call is the later of its clock and the last write. A call that is granted is an entry there.
 * - A plain call counts promised entries as if they were taken now.
 * - A reservation that a plain call could replace starts now. Other reservations start at the first time, from the latest entry on,
 *   at which the cap is kept.
 * - A refund takes away from the latest entries that have started. If it is more than all of them, the rest is lost.
 * - A job's tokens come back from the entry of its own time. Of one in which a pause took everything nothing does.
 * - After a gift or a pause no more comes back of earlier takes than was taken after it, less what is promised for later.
 */
import { greatest, isLess, least, minus, plus, type Rational, rational, ZERO } from "../rational.js";
import { type Ask, type Dates, longestWait, type Outcome, type SlidingWindow, type Written } from "./config.js";

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
interface Logged extends Written {
  readonly entries: readonly Entry[];
  readonly notes: readonly Note[];
}
type Log = Logged | undefined;

/** The number of times that a log distinguishes. */
const EXACT_TIMES = 64;

/** @param granted - the time at which the work starts, if it is known to be later than the first possible time. */
function ask(limit: SlidingWindow, log: Log, clock: number, asked: Ask, granted = 0): Outcome<Log> {
  const { reserve } = asked;
  const now = Math.max(clock, log?.ts ?? clock);
  const isNow = fits(limit, log, now, asked.count);
  const first = isNow ? now : reserve ? promisedTime(limit, log, now, asked.count) : undefined;
  if (first === undefined || (!isNow && first - clock > longestWait(reserve)))
    return { answer: { ok: false }, after: log };
  const after = withEntry(limit, log, now, { at: Math.max(first, granted), count: rational(asked.count) });
  return { answer: { ok: true, ...(!isNow && { retryAt: first }) }, after };
}

function adjust(limit: SlidingWindow, log: Log, clock: number, count: number): Log {
  const now = Math.max(clock, log?.ts ?? clock);
  if (count > 0) return withEntry(limit, log, now, { at: now, count: rational(count) });
  const after = takenAway(limit, log, now, rational(-count), (at) => at <= now);
  return noted(after, { at: now, most: sum(after.entries.filter(({ isPause }) => !isPause)) });
}

const noted = (log: Logged, note: Note): Logged => ({ ...log, notes: [...log.notes, note] });

/** The logs that are possible when tokens come back of a take: all that its entry has, and no more than the notes say. */
function undo(limit: SlidingWindow, log: Log, clock: number, count: number, dates: Dates): Log[] {
  const { takenAt, promised } = dates;
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
    return { ...after, notes: lessened };
  });
}

/** Everything counts as taken at its end, except what is promised for then or later. Debts stay. */
function pause(limit: SlidingWindow, log: Log, now: number, until: number, at: number): Log {
  const ts = Math.max(until, log?.ts ?? until);
  const inWindow = log?.entries.filter(({ at }) => at > Math.max(now, log.ts) - limit.period) ?? [];
  const isLater = (at: number) => at >= ts && at > (log?.ts ?? 0);
  const later = inWindow.filter(({ at }) => isLater(at));
  const started = log?.entries.filter(({ at }) => at > ts - limit.period && !isLater(at)) ?? [];
  const all = { at: ts, count: greatest(rational(limit.rate), sum(started)), isPause: true };
  return noted(written(log, ts, [...later, all]), { at, most: sum(later) });
}

function leftAt(limit: SlidingWindow, log: Log, now: number): Rational {
  return minus(rational(limit.rate), takenAt(limit, log, Math.max(now, log?.ts ?? now)));
}

function takenAt({ period }: SlidingWindow, log: Log, now: number): Rational {
  return sum(log?.entries.filter(({ at }) => at > now - period) ?? []);
}

/** The first time, in the order of promises, at which the cap is kept; undefined if too much is promised already. */
function promisedTime(limit: SlidingWindow, log: Log, now: number, count: number): number | undefined {
  const entries = log?.entries ?? [];
  const latest = Math.max(now, ...entries.map(({ at }) => at));
  const changes = [latest, ...entries.map(({ at }) => at + limit.period)].sort((a, b) => a - b);
  const time = changes.find((time) => time >= latest && fits(limit, log, time, count));
  if (limit.maxReserved === undefined) return time;
  const promised = plus(sum(entries.filter(({ at }) => at > now)), rational(count));
  return isLess(rational(limit.maxReserved), promised) ? undefined : time;
}

function fits(limit: SlidingWindow, log: Log, time: number, count: number): boolean {
  return !isLess(rational(limit.rate), plus(takenAt(limit, log, time), rational(count)));
}

function withEntry(limit: SlidingWindow, log: Log, now: number, added: Entry): Logged {
  const kept = log?.entries.filter(({ at }) => at > now - limit.period) ?? [];
  const same = kept.find(({ at }) => at === added.at);
  const entry = same ? { ...same, count: plus(same.count, added.count) } : added;
  const others = kept.filter(({ at }) => at !== added.at);
  return written(log, now, [...others, entry]);
}

function written(log: Log, now: number, entries: readonly Entry[]): Logged {
  const stays = entries.some(({ at }) => log?.entries.some((entry) => entry.at === at));
  const isInexact = entries.length > EXACT_TIMES || (log?.isInexact === true && stays);
  return { entries: [...entries].sort((a, b) => a.at - b.at), ts: now, isInexact, notes: log?.notes ?? [] };
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
  return written(log, now, entries);
}

function sum(entries: readonly Entry[]): Rational {
  return entries.reduce((total, { count }) => plus(total, count), ZERO);
}

export const slidingWindow = { ask, adjust, pause, undo, leftAt };
