/**
 * What has happened to a bucket, and what it would hold had some of it not happened: by replay, not by a rule about headroom.
 *
 * Where the design leaves freedom, a bucket is a pair of exact buckets: the real one holds at least what `lo` holds and at most what
 * `hi` holds. Answers narrow the pair. While both are the same, an answer must be the exact one.
 */
import { advance, give, holding, isQuota, logging, pause, type State, type Stored, sum, take } from "./bucket.js";
import type { Terms } from "./terms.js";

export type Side = "lo" | "hi";
export type Amount = Readonly<Record<Side, bigint>>;

interface Event {
  /** The bucket's own time at the event: that of its last write, if the clock was behind it. */
  readonly at: number;
  readonly terms: Terms;
}
export type Happening =
  /** Also a charge, which may owe. A reservation of a sliding window is in the log from `startsAt` on. */
  | (Event & { readonly type: "take"; readonly id: number; readonly startsAt: number; readonly units: Amount })
  | (Event & { readonly type: "gift"; readonly units: Amount })
  | (Event & { readonly type: "pause" })
  /** A write that changes nothing but the time from which units accrue. */
  | (Event & { readonly type: "touch" })
  /** Units come back of a take that nobody made, just after all that happened by then. */
  | (Event & { readonly type: "return"; readonly units: Amount })
  /** An answer has shown that the bucket held at least this. */
  | (Event & { readonly type: "shown"; readonly least: bigint });

export interface Bucket {
  readonly lo: Stored;
  readonly hi: Stored;
  readonly events: readonly Happening[];
  /** How many pauses of the key it has seen. */
  readonly seen: number;
  /** How many pairs of a time and the headroom mattered before a take was undone, at most. */
  readonly mostPairs: number;
}
export const FRESH: Bucket = { lo: undefined, hi: undefined, events: [], seen: 0, mostPairs: 0 };
const SIDES: readonly Side[] = ["lo", "hi"];

/** More than any window uses: nothing more is left of it under any rate. */
const MORE_THAN_ALL = 10n ** 30n;

/** Freedom: if a window owes, a raised rate may pay the debt at once, or leave it to the windows to come. */
function apply(stored: Stored, event: Happening, side: Side): Stored {
  const after = applied(stored, event, side);
  return side === "lo" && after ? { ...after, keepsDebt: true } : after;
}

function applied(stored: Stored, event: Happening, side: Side): Stored {
  const { terms, at } = event;
  switch (event.type) {
    case "take":
      return take(advance(stored, at, terms), event.units[side], event.startsAt);
    case "gift":
      return giveAs(side, advance(stored, at, terms), event);
    case "touch":
      return advance(stored, at, terms);
    case "pause":
      return pausedAs(side, pause(stored, at, terms), terms);
    case "return":
      return returned(stored, event, side);
    case "shown": {
      const state = advance(stored, at, terms);
      return side === "lo" && state.value < event.least ? holding(state, event.least, terms) : stored;
    }
  }
}

/** Freedom: what is given to a window that used more than its lowered rate holds may be there at once, or lessen what was used. */
function giveAs(side: Side, state: State, { terms, units }: Happening & { type: "gift" }): State {
  const given = give(state, units[side], terms);
  const isLowered = isQuota(terms) && state.used > terms.capacity;
  return side === "hi" && isLowered ? holding(given, given.value, terms) : given;
}

/**
 * Freedom: if the rate changes until the end of a window that was paused, it may hold what it held, or what was not used of it. A
 * sliding window may count as much as any rate as taken at the end of the pause, or no more than a lowered rate and what it owed.
 */
function pausedAs(side: Side, state: State, terms: Terms): State {
  if (terms.kind === "fixed window") return { ...state, paused: side === "lo" ? "least" : "most" };
  if (terms.kind !== "sliding window") return state;
  const started = state.log.filter((entry) => entry.at <= state.ts);
  const later = state.log.filter((entry) => entry.at > state.ts);
  if (side === "lo") return logging(state, [{ at: state.ts, units: sum(started) + MORE_THAN_ALL }, ...later], terms);
  const owed = sum(started) - terms.capacity;
  return logging(state, [...started, { at: state.ts, units: 0n, given: owed > 0n ? -owed : 0n }, ...later], terms);
}

function returned(stored: Stored, { at, units, terms }: Happening & { type: "return" }, side: Side): Stored {
  if (!stored) return stored;
  if (terms.kind !== "sliding window") return give(stored, units[side], terms);
  let left = units[side];
  const log = stored.log.map((entry) => {
    const gone = entry.at !== at ? 0n : left < entry.units ? left : entry.units;
    left -= gone;
    return { ...entry, units: entry.units - gone };
  });
  return logging(stored, log, terms);
}

/** Freedom: what comes back of a take that nobody made may be of any take of that millisecond. */
function replay(events: readonly Happening[], side: Side): Stored {
  const isReturn = ({ type }: Happening) => Number(type === "return");
  const ordered = side === "lo" ? events : events.toSorted((a, b) => (a.at === b.at ? isReturn(a) - isReturn(b) : 0));
  return ordered.reduce<Stored>((stored, event) => apply(stored, event, side), undefined);
}

export function happened(bucket: Bucket, event: Happening): Bucket {
  return {
    ...bucket,
    lo: apply(bucket.lo, event, "lo"),
    hi: apply(bucket.hi, event, "hi"),
    events: [...bucket.events, event],
  };
}

/** Tokens are stored, so each change of terms may round down by less than this part of one. */
const ROUNDING = 1_000_000n;

/** The bucket as it is read under terms that it was not written under. */
export function readUnder(bucket: Bucket, terms: Terms): Bucket {
  const { lo, events } = bucket;
  const last = events.at(-1);
  if (!lo || !last || terms.kind !== "token bucket" || signature(last.terms) === signature(terms)) return bucket;
  return { ...bucket, lo: { ...lo, value: lo.value - terms.perToken / ROUNDING } };
}

/** The bucket's own time. */
export function timeOf(bucket: Bucket, now: number): number {
  return Math.max(now, bucket.hi?.ts ?? now);
}

export function levels(bucket: Bucket, now: number, terms: Terms): Amount {
  return { lo: advance(bucket.lo, now, terms).value, hi: advance(bucket.hi, now, terms).value };
}

/** Whether the bucket is known exactly: both sides are the same in all that follows. */
export function isExact({ lo, hi }: Bucket = FRESH): boolean {
  if (lo === hi) return true;
  if (!lo || !hi) return false;
  const isSameLog =
    lo.log.length === hi.log.length &&
    lo.log.every(({ at, units }, i) => {
      const other = hi.log[i];
      return at === other?.at && units === other.units;
    });
  return lo.value === hi.value && lo.ts === hi.ts && lo.used === hi.used && isSameLog;
}

/** A row stores this many pairs of a time and the least headroom since. */
const EXACT_PAIRS = 8;

/** How many pairs have said all, at most: the headroom before an event counts until a later event finds less. */
function mostPairsOf(events: readonly Happening[]): number {
  let stored: Stored;
  let pairs: bigint[] = [];
  let most = 0;
  for (const event of events) {
    const { value } = advance(stored, event.at, event.terms);
    const headroom = event.terms.capacity - value;
    pairs = [...pairs.filter((pair) => pair < headroom), headroom];
    most = Math.max(most, pairs.length);
    stored = apply(stored, event, "hi");
  }
  return most;
}

/**
 * The bucket had `units` of a take never been taken. Freedom: less may come back, never more, if one of these holds:
 * - two events from the take on share a millisecond;
 * - a row cannot store all pairs that matter;
 * - the terms have changed since, or had changed in the window of the take;
 * - a gift has given tokens of a sliding window back since, and these may have been among them.
 */
export function undone(
  bucket: Bucket,
  id: number,
  units: bigint,
  refund: { now: number; terms: Terms; date: number; resetAt: number },
) {
  const { now, terms, date, resetAt } = refund;
  const at = timeOf(bucket, now);
  const index = bucket.events.findIndex((event) => event.type === "take" && event.id === id);
  const touched: Happening = { type: "touch", at, terms };
  if (index < 0) return happened(bucket, touched);
  const since = bucket.events.slice(index).filter(({ type }) => type !== "shown");
  const times = [...since.map((event) => event.at), at];
  const last = bucket.events.slice(0, index).findLast(({ type }) => type !== "shown")?.at ?? resetAt;
  const areApart = times.every((time, i) => time > (i === 0 ? last : (times[i - 1] ?? 0)));
  const areAlike = since.every((event) => signature(event.terms) === signature(terms)) && isOwn(bucket, index, terms);
  const mostPairs = Math.max(bucket.mostPairs, mostPairsOf([...bucket.events, touched]));
  const isRemembered = terms.kind === "sliding window" || mostPairs <= EXACT_PAIRS;
  const isGiven = terms.kind === "sliding window" && since.some(({ type }) => type === "gift");
  // A promise of a sliding window is dated with its start, and nothing need come back of a date that lies ahead.
  const isSure = areApart && areAlike && isRemembered && !isGiven && date <= at;
  const without = bucket.events.map((event, i) => {
    if (i !== index || event.type !== "take") return event;
    const less = (side: Side) => event.units[side] - (units < event.units[side] ? units : event.units[side]);
    return { ...event, units: { lo: isSure ? less("lo") : event.units.lo, hi: less("hi") } };
  });
  const after = settled({ ...bucket, mostPairs }, without, units, { at, terms });
  // Freedom: a plan that saves up forgives what was used before its window, and a quota between may bring it back.
  const isMixed = new Set([terms, ...since.map((event) => event.terms)].map(isQuota)).size > 1;
  if (terms.kind === "fixed window" && isMixed)
    return { ...after, hi: give(advance(bucket.hi, at, terms), units, terms) };
  // Freedom: what was given back of a log's latest takes may have been of others.
  const own = bucket.events[index];
  if (!isGiven || own?.type !== "take") return after;
  const hi = returned(
    advance(bucket.hi, at, terms),
    { type: "return", at: own.startsAt, terms, units: { lo: units, hi: units } },
    "hi",
  );
  return levels(after, now, terms).hi < (hi?.value ?? 0n) ? { ...after, hi } : after;
}

/** Whether a window surely was used under these terms alone when a take was made: it held what was not used. */
function isOwn({ events }: Bucket, index: number, terms: Terms): boolean {
  const before = SIDES.map((side) => advance(replay(events.slice(0, index), side), events[index]?.at ?? 0, terms));
  return !isQuota(terms) || before.every(({ value, used }) => value === terms.capacity - used);
}

/** The bucket after a refund of what nobody took, dated `date`: freedom, at most what it would hold had it been given back then. */
export function returnedAt(
  bucket: Bucket,
  date: number,
  units: bigint,
  { now, terms }: { now: number; terms: Terms },
): Bucket {
  const at = timeOf(bucket, now);
  const own = bucket.hi?.ts ?? -1;
  const touched = happened(bucket, { type: "touch", at, terms });
  // Later than the bucket's own time: nothing. Freedom: a log may hold a promise of that date.
  if (!bucket.hi || date > own) {
    const isLogged = terms.kind === "sliding window";
    return isLogged ? happened(touched, { type: "return", at: date, terms, units: { lo: 0n, hi: units } }) : touched;
  }
  // Events during a pause are dated before its end, which is the bucket's time.
  const next = own > now ? -1 : bucket.events.findIndex((event) => event.at > date);
  const index = next < 0 ? bucket.events.length : next;
  const most = bucket.events.reduce((max, event) => (event.terms.capacity > max.capacity ? event.terms : max), terms);
  const event: Happening = { type: "return", at: date, terms: most, units: { lo: 0n, hi: units } };
  const events = [...bucket.events.slice(0, index), event, ...bucket.events.slice(index)];
  return settled(bucket, events, units, { at, terms });
}

/** The bucket after another history: it never holds less than before the refund, nor more than all of it on top. */
function settled(
  bucket: Bucket,
  events: readonly Happening[],
  units: bigint,
  { at, terms }: { at: number; terms: Terms },
): Bucket {
  const sides = SIDES.map((side): [Side, State] => {
    const before = advance(bucket[side], at, terms);
    const after = advance(replay(events, side), at, terms);
    if (terms.kind === "sliding window") return [side, after];
    // A debt that comes back may free what a raised rate holds.
    const most = advance(bucket[side] && { ...bucket[side], keepsDebt: false }, at, terms).value + units;
    if (after.value > most) return [side, holding(after, most, terms)];
    return [side, after.value < before.value ? before : after];
  });
  const touched: Happening = { type: "touch", at, terms };
  const { lo, hi } = Object.fromEntries(sides) as Record<Side, State>;
  // Answers that narrowed one history need not hold in the other: the wider pair is kept.
  const [least, most] = lo.value > hi.value ? [hi, lo] : [lo, hi];
  return { ...bucket, lo: least, hi: most, events: [...events, touched] };
}

/** Terms with the same text count the same. */
export function signature({ id, capacity, rate, windows, perMs }: Terms): string {
  return [id, capacity, rate, perMs, windows.startOf(1)].join();
}
