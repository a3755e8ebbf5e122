/** What was taken and when: entries in the order of their moments. */
import type { Entry } from "./kind.js";

/** So many moments are exact, and a row stays below 4 kB. */
export const MAX_ENTRIES = 64;

export function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, { units }) => total + units, 0);
}

/** Adds an entry at its moment, to the one that is there already if there is one. */
export function insert(entries: readonly Entry[], { at, units }: Entry): Entry[] {
  if (units === 0) return [...entries];
  const before = entries.filter((entry) => entry.at < at);
  const same = entries.filter((entry) => entry.at === at);
  const after = entries.filter((entry) => entry.at > at);
  return [...before, { at, units: units + sum(same) }, ...after];
}

export function merge(logs: readonly (readonly Entry[])[]): Entry[] {
  return logs.flat().reduce<Entry[]>((merged, entry) => insert(merged, entry), []);
}

/**
 * At most MAX_ENTRIES: neighbours are joined at the later moment, those first whose units then wait the least in all. What has
 * started is never joined with what is promised for after `now`. The oldest entry is never joined: clients were told when it leaves.
 */
export function compact(entries: readonly Entry[], now: number): readonly Entry[] {
  const joined = [...entries];
  while (joined.length > MAX_ENTRIES) {
    let least = Infinity;
    let best = 0;
    for (const [i, { at, units }] of joined.entries()) {
      const next = joined[i + 1];
      if (i === 0 || !next || (at <= now && next.at > now)) continue;
      const wait = units * (next.at - at);
      if (wait < least) [least, best] = [wait, i];
    }
    const [first, second] = joined.splice(best, 2) as [Entry, Entry];
    joined.splice(best, 0, { at: second.at, units: first.units + second.units });
  }
  return joined;
}

/**
 * Takes units out of the latest entry up to a moment, and then out of those before it.
 * - A refund starts at now: work that is promised for later is not touched.
 * - A cancelled reservation starts at its own moment. Where its entry was joined with another, older ones give way instead: they
 *   leave the window sooner, so that waits longer and never lets more through.
 */
export function removeBackwards(entries: readonly Entry[], units: number, at: number): Entry[] {
  const from = entries.findLastIndex((entry) => entry.at <= at);
  let left = units;
  const kept = entries.slice(0, from + 1).reduceRight<Entry[]>((later, entry) => {
    const removed = Math.min(entry.units, left);
    left -= removed;
    return entry.units > removed ? [{ at: entry.at, units: entry.units - removed }, ...later] : later;
  }, []);
  return [...kept, ...entries.slice(from + 1)];
}
