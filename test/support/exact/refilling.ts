/**
 * An exact bucket that refills, of either kind, in fractions; it shares no code with src/.
 *
 * The state is what the bucket held at its last write, when that was, and what has happened since it was last full. From the last
 * write on tokens arrive, never above capacity: those of a token bucket evenly, those of a fixed window at the start of each window.
 * Time before the last write never counts: a clock that is behind it reads as the time of the last write.
 */
import { ceilOf, floorOf, fraction, greatest, isLess, least, minus, over, plus } from "../rational.js";
import { type Rational, rational, times, ZERO } from "../rational.js";
import { type Ask, type Dates, longestWait, type Outcome, type RefillingLimit, type Written } from "./config.js";

/** Tokens that were taken, or came back when negative. */
interface Happened {
  readonly ts: number;
  /** The tokens of the bucket before. */
  readonly before: Rational;
  readonly taken: Rational;
  /** The date of a take by its answer, which distinguishes it from others of its millisecond. */
  readonly date?: number | undefined;
  /** Of a pause, which takes all tokens: nothing that was taken until then comes back. */
  readonly pausedAt?: number;
}
interface Filled extends Written {
  readonly value: Rational;
  readonly history: readonly Happened[];
}
export type Level = Filled | undefined;

/** The tokens of the bucket at `now`; below 0 while it owes some. */
function leftAt(limit: RefillingLimit, state: Level, now: number): Rational {
  const capacity = rational(limit.capacity);
  if (!state) return capacity;
  return now <= state.ts ? state.value : least(capacity, plus(state.value, gained(limit, state.ts, now)));
}

/** A call gets tokens that are there or may be owed. */
function ask(limit: RefillingLimit, state: Level, now: number, asked: Ask): Outcome<Level> {
  const startsAt = startFor(limit, state, now, asked);
  if (startsAt === undefined) return { answer: { ok: false }, after: state };
  const { count, date } = asked;
  const answer = { ok: true, ...(startsAt !== now && { retryAt: startsAt }) };
  // Taking nothing is no write.
  return { answer, after: count === 0 ? state : happened(limit, state, now, () => ({ taken: rational(count), date })) };
}

/** When the tokens of a call at `now` are there; undefined if it is denied. A call that takes nothing owes nothing. */
function startFor(limit: RefillingLimit, state: Level, now: number, { count, reserve }: Ask): number | undefined {
  const left = minus(leftAt(limit, state, now), rational(count));
  if (!isLess(left, ZERO)) return now;
  const { maxReserved } = limit;
  const isOver = maxReserved !== undefined && isLess(plus(left, rational(maxReserved)), ZERO);
  if (!reserve || (count > 0 && isOver)) return undefined;
  const at = whenGained(limit, Math.max(now, state?.ts ?? now), minus(ZERO, left));
  return at - now > longestWait(reserve) ? undefined : at;
}

/** Charges, also below 0. A negative count gives back, up to the capacity. */
function adjust(limit: RefillingLimit, state: Level, now: number, count: number): Level {
  if (count === 0) return state;
  const most = (before: Rational) => minus(before, rational(limit.capacity));
  return happened(limit, state, now, (before) => ({ taken: greatest(most(before), rational(count)) }));
}

/** The tokens that are there at a time are lost then, and tokens that were taken before do not come back. */
function pause(limit: RefillingLimit, state: Level, _now: number, until: number, at: number): Level {
  return happened(limit, state, until, (before) => ({ taken: greatest(ZERO, before), pausedAt: at }));
}

function happened(
  limit: RefillingLimit,
  state: Level,
  now: number,
  takenFrom: (before: Rational) => Pick<Happened, "taken" | "date" | "pausedAt">,
): Filled {
  const ts = Math.max(now, state?.ts ?? now);
  const before = leftAt(limit, state, ts);
  const event = { ts, before, ...takenFrom(before) };
  const history = withEvent(limit, state?.history ?? [], event);
  return { value: leftBy(limit, event), ts, history, isInexact: state?.isInexact === true };
}

/** With one more event. A full bucket forgets what it had before. Takes of one time are one event. */
function withEvent({ capacity }: RefillingLimit, history: readonly Happened[], event: Happened): readonly Happened[] {
  const kept = isLess(event.before, rational(capacity)) ? history : [];
  const last = kept.at(-1);
  const isOfOne = last?.ts === event.ts && (last.date ?? event.date) === (event.date ?? last.date);
  const isSame = isOfOne && last.pausedAt === undefined && event.pausedAt === undefined;
  if (!last || !isSame || isLess(last.taken, ZERO) || isLess(event.taken, ZERO)) return [...kept, event];
  return [...kept.slice(0, -1), { ...last, taken: plus(last.taken, event.taken), date: last.date ?? event.date }];
}

/** The tokens after an event. A gift to a full bucket is lost. */
function leftBy({ capacity }: RefillingLimit, { before, taken }: Happened): Rational {
  return least(rational(capacity), minus(before, taken));
}

/** A bucket remembers this number of peaks exactly, of those that it has not reached again. One is its present level. */
const REMEMBERED = 6;

function undo(limit: RefillingLimit, state: Level, now: number, count: number, { takenAt }: Dates): Level[] {
  const undone = undoneBy(limit, state, now, rational(count), takenAt);
  if (undone.length > 0) return undone;
  const others = undoneBy(limit, state, now, mostTaken(state?.history ?? [], takenAt), takenAt);
  return [...others, adjust(limit, state, now, -count), state];
}

/**
 * The states without a take, by replay of the other events; none if the bucket has forgotten the take. A gift or a pause before it that
 * has the same time, or a later one, may count as later than the take: then no more comes back than was missing after it.
 */
function undoneBy(limit: RefillingLimit, state: Level, now: number, count: Rational, takenAt: number): Filled[] {
  const before = happened(limit, state, now, () => ({ taken: ZERO }));
  const { history: events } = before;
  const own = events.findIndex(({ date, taken }) => date === takenAt && !isLess(taken, count));
  if (own < 0) return [];
  const missing = events
    .slice(0, own)
    .filter(({ ts, taken, pausedAt = isLess(taken, ZERO) ? ts : -Infinity }) => pausedAt >= takenAt)
    .map((event) => minus(rational(limit.capacity), leftBy(limit, event)));
  const isInexact = before.isInexact || mostPeaks(state?.history ?? []) > REMEMBERED;
  return [...new Set([count, missing.reduce(least, count)])].flatMap((back) => {
    const others = events.map((event, i) => (i === own ? { ...event, taken: minus(event.taken, back) } : event));
    const after = replayed(limit, others);
    return after ? [{ ...after, ts: before.ts, isInexact }] : [];
  });
}

function replayed(limit: RefillingLimit, events: readonly Happened[]): Level {
  const history: Happened[] = [];
  let after: Level;
  for (const event of events) {
    const { ts, pausedAt } = event;
    const before = after ? leftAt(limit, after, ts) : event.before;
    const again = { ...event, before, taken: pausedAt === undefined ? event.taken : greatest(ZERO, before) };
    history.push(again);
    after = { value: leftBy(limit, again), ts, history, isInexact: false };
  }
  return after;
}

/** The most tokens that were taken at once on a date. */
function mostTaken(history: readonly Happened[], on: number): Rational {
  return history.reduce((most, { date, taken }) => (date === on ? greatest(most, taken) : most), ZERO);
}

/** The most peaks at any time that were not reached again until then. */
function mostPeaks(history: readonly Happened[]): number {
  let peaks: Rational[] = [];
  let most = 0;
  for (const { before } of history) {
    peaks = [...peaks.filter((peak) => isLess(before, peak)), before];
    most = Math.max(most, peaks.length);
  }
  return most;
}

/** The tokens that arrive after `from`, up to and including `to`. */
function gained(limit: RefillingLimit, from: number, to: number): Rational {
  const rate = rational(limit.rate);
  if (limit.kind === "fixed window") return times(rate, fraction(windowAt(limit, to) - windowAt(limit, from), 1n));
  return times(over(rate, rational(limit.period)), fraction(BigInt(to - from), 1n));
}

/** The first millisecond by which `tokens` have arrived after `from`. */
function whenGained(limit: RefillingLimit, from: number, tokens: Rational): number {
  const rate = rational(limit.rate);
  if (limit.kind === "token bucket") return from + Number(ceilOf(over(times(tokens, rational(limit.period)), rate)));
  return limit.start + Number(windowAt(limit, from) + ceilOf(over(tokens, rate))) * limit.period;
}

/** Windows are numbered from `start` on. */
function windowAt({ start, period }: RefillingLimit & { kind: "fixed window" }, time: number): bigint {
  return floorOf(fraction(BigInt(time - start), BigInt(period)));
}

export const refilling = { ask, adjust, pause, undo, leftAt };
