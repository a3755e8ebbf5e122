/** A log of units taken: entries in the order of their times. */
import { type Entry, isMark } from "./kind.js";

/** This many times are exact, and a row stays below 4 kB. */
export const MAX_ENTRIES = 64;

export function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, { units }) => total + units, 0);
}

/** The most units of entries that count at one time. */
export function mostAtOnce(entries: readonly Entry[], period: number): number {
  let [most, units, first] = [0, 0, 0];
  for (const entry of entries) {
    units += entry.units;
    for (let left = entries[first]; left && left.at <= entry.at - period; left = entries[++first]) units -= left.units;
    most = Math.max(most, units);
  }
  return most;
}

/** The time of the entry with which `units` have gone, the oldest first, or all of them; -Infinity if none has to go. */
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
export function insert(entries: readonly Entry[], { at, units }: Entry): Entry[] {
  return units === 0 ? [...entries] : merge([entries, [{ at, units }]]);
}

/** Several logs as one: by one sort, since a bucket of two thousand rows remembers 131,072 times. */
export function merge(logs: readonly (readonly Entry[])[]): Entry[] {
  const merged: Entry[] = [];
  let last: Entry | undefined;
  for (const entry of ([] as Entry[]).concat(...logs).sort((a, b) => a.at - b.at)) {
    if (last?.at === entry.at) merged.pop();
    last = last?.at === entry.at ? { at: entry.at, units: last.units + entry.units } : entry;
    merged.push(last);
  }
  return merged;
}

/**
 * At most MAX_ENTRIES: neighbours are joined at the later time, those first whose units then wait the least in all. An entry that
 * has started is never joined with one that is promised for after `now`. The oldest entry with units is never joined: clients were
 * told when it leaves.
 */
export function compact(entries: readonly Entry[], now: number): readonly Entry[] {
  const oldest = entries.findIndex(({ units }) => units > 0);
  return shortened(entries, MAX_ENTRIES, {
    cost: ({ at, units }, next, i) => (i > oldest && !(at <= now && next.at > now) ? units * (next.at - at) : Infinity),
    join: ({ units }, next) => ({ at: next.at, units: units + next.units }),
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
 * Joins up to `most` pairs, the cheapest; of two pairs that share an entry only the first. So each pass does half of what is left to
 * do at least, and all passes together take as long as two sorts.
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

/**
 * Takes units out of the latest entry up to `at`, and then out of older ones.
 * - A refund starts at now: work that is promised for later is not touched.
 * - A cancelled reservation starts at its own time. If its entry was joined with another, older ones are removed instead. They
 *   leave the window sooner, so that waits longer and never lets more through.
 */
export function removeBackwards(entries: readonly Entry[], units: number, at: number): Entry[] {
  const kept = entries.filter((entry) => entry.at <= at);
  let left = units;
  while (left > 0) {
    const last = kept.pop();
    if (!last) break;
    left -= last.units;
    if (left >= 0 && !isMark(last.at)) continue;
    // The mark stays, also without units.
    kept.push({ at: last.at, units: Math.max(0, -left) });
    break;
  }
  return [...kept, ...entries.filter((entry) => entry.at > at)];
}

/**
 * Cuts each entry in the proportion of `takenLeft` to `taken`, their sum, in whole tokens as far as they go. An entry without units, which says
 * since when there was room, is in both parts.
 */
export function cut(
  entries: readonly Entry[],
  taken: number,
  takenLeft: number,
  unitsPerToken: number,
): readonly [Entry[], Entry[]] {
  let before = 0;
  let given = 0;
  const ofLeft: Entry[] = [];
  const ofRight: Entry[] = [];
  for (const { at, units } of entries) {
    if (units === 0) {
      ofLeft.push({ at, units });
      ofRight.push({ at, units });
      continue;
    }
    before += units;
    const fair = Math.floor(((before / taken) * takenLeft) / unitsPerToken) * unitsPerToken;
    const upTo = Math.min(takenLeft, Math.max(given, fair, takenLeft - (taken - before)));
    const own = Math.min(units, upTo - given);
    given += own;
    if (own > 0) ofLeft.push({ at, units: own });
    if (units > own) ofRight.push({ at, units: units - own });
  }
  return [ofLeft, ofRight];
}
