/** A log of units taken: entries in the order of their times. */
import { type Entry, type Limit, MOST_TAKEN, type State } from "./kind.js";

/** This many times are exact, and a row stays below 4 kB. */
export const MAX_ENTRIES = 64;

export function logOf({ recent = [] }: State): readonly Entry[] {
  return recent;
}

export function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, { units }) => total + units, 0);
}

/** The entries as they count under a capacity. */
export function countsOf({ capacity }: Pick<Limit, "capacity">, entries: readonly Entry[]): readonly Entry[] {
  return entries.map((entry) => (entry.all ? { ...entry, units: Math.max(0, capacity + entry.units) } : entry));
}

/** An entry, which is of everything if nobody can owe that much. */
export function bounded(entry: Entry): Entry {
  if (entry.units <= MOST_TAKEN) return entry;
  return { ...entry, units: entry.all ? MOST_TAKEN : 0, all: true };
}

/**
 * The time of the entry with which `units` have gone, the oldest first, or all of them; -Infinity if none has to go.
 */
export function whenGone(entries: readonly Entry[], units: number): number {
  let left = units;
  let last = -Infinity;
  for (const entry of entries) {
    if (left <= 0) break;
    left -= entry.units;
    last = entry.at;
  }
  return last;
}

/** Adds an entry, to the one at the same time if there is one. */
export function insert(entries: readonly Entry[], entry: Entry): Entry[] {
  return entry.units === 0 && !entry.all ? [...entries] : merge([entries, [entry]]);
}

/** Two entries as one at the later time; it remembers the time of the first. All that there is, is there once. */
function join(first: Entry, next: Entry): Entry {
  const { at, all = first.all } = next;
  const isJoint = first.at < at || (first.from ?? next.from) !== undefined;
  const from = Math.min(first.from ?? first.at, next.from ?? at);
  return bounded({ at, units: first.units + next.units, ...(isJoint && { from }), ...(all && { all }) });
}

/** Several logs as one: by one sort, since a bucket of two thousand rows remembers 131,072 times. */
export function merge(logs: readonly (readonly Entry[])[]): Entry[] {
  const merged: Entry[] = [];
  let last: Entry | undefined;
  for (const entry of ([] as Entry[]).concat(...logs).sort((a, b) => a.at - b.at)) {
    if (last?.at === entry.at) merged.pop();
    last = last?.at === entry.at ? join(last, entry) : entry;
    merged.push(last);
  }
  return merged;
}

/**
 * At most so many entries: neighbours are joined at the later time, those first whose units then wait the least in all.
 * An entry that has started is never joined with one that is promised for after `now`, and one of everything with none
 * that is later. The oldest entry with units is never joined: clients were told when it leaves.
 */
export function compact(entries: readonly Entry[], now: number, most = MAX_ENTRIES): readonly Entry[] {
  const oldest = entries.findIndex(({ units, all }) => units > 0 || all);
  return shortened(entries, most, {
    cost: ({ at, units, all }, next, i) =>
      i > oldest && !all && !(at <= now && next.at > now) ? units * (next.at - at) : Infinity,
    join,
  });
}

/** How two neighbours become one. */
interface Joining {
  readonly cost: (entry: Entry, next: Entry, index: number) => number;
  readonly join: (entry: Entry, next: Entry) => Entry;
}

/** A list of at most `length` entries: neighbours are joined, first those for which that costs the least. */
export function shortened(entries: readonly Entry[], length: number, joining: Joining): readonly Entry[] {
  let joined = entries;
  while (joined.length > length) joined = joinCheapest(joined, joined.length - length, joining);
  return joined;
}

/**
 * Joins up to `most` pairs, the cheapest; of two pairs that share an entry only the first. So each pass does half of
 * what is left to do at least, and all passes together take as long as two sorts.
 */
function joinCheapest(entries: readonly Entry[], most: number, { cost, join }: Joining): Entry[] {
  const prices = Float64Array.from(entries, (entry, i) => {
    const next = entries[i + 1];
    return next ? cost(entry, next, i) : Infinity;
  });
  const dearest = Number(prices.slice().sort()[most - 1]);
  let alike = most - prices.filter((price) => price < dearest).length;
  const joined: Entry[] = [];
  let isJoined = false;
  entries.forEach((entry, i) => {
    const price = Number(prices[i]);
    const before: Entry | undefined = isJoined ? joined.pop() : undefined;
    joined.push(before ? join(before, entry) : entry);
    isJoined = !before && (price < dearest || (price === dearest && alike-- > 0));
  });
  return joined;
}

/** Takes units out of the latest entries up to a time: work that is promised for later is not touched. */
export function removeBackwards(entries: readonly Entry[], units: number, upTo: number): Entry[] {
  let left = units;
  const kept = entries.toReversed().flatMap((entry) => {
    const removed = entry.at <= upTo ? Math.min(left, entry.all ? left : entry.units) : 0;
    left -= removed;
    return removed === 0 ? [entry] : reduced(entry, removed);
  });
  return kept.toReversed();
}

/** Takes units out of one entry. */
export function removeFrom(entries: readonly Entry[], own: Entry, units: number): Entry[] {
  return entries.flatMap((entry) => (entry === own ? reduced(entry, units) : [entry]));
}

function reduced(entry: Entry, units: number): Entry[] {
  return entry.units === units && !entry.all ? [] : [{ ...entry, units: entry.units - units }];
}

/**
 * Cuts each entry, in multiples of `grain` as far as they go. An entry of everything is in both parts, and so is one
 * without units, which says since when there was room.
 * @param taken - their sum. @param leftOf - what the left part gets of the oldest so many units.
 */
export function cut(
  entries: readonly Entry[],
  taken: number,
  leftOf: (units: number) => number,
  grain: number,
): readonly [Entry[], Entry[]] {
  const takenLeft = leftOf(taken);
  let before = 0;
  let given = 0;
  const ofLeft: Entry[] = [];
  const ofRight: Entry[] = [];
  for (const entry of entries) {
    const { units } = entry;
    const isInBoth = entry.all === true || units === 0;
    before += units;
    const fair = Math.floor(leftOf(before) / grain) * grain;
    const upTo = Math.min(takenLeft, Math.max(given, fair, takenLeft - (taken - before)));
    const own = Math.min(units, upTo - given);
    given += own;
    if (own > 0 || isInBoth) ofLeft.push({ ...entry, units: own });
    if (units > own || isInBoth) ofRight.push({ ...entry, units: units - own });
  }
  return [ofLeft, ofRight];
}
