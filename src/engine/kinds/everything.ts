/** A pause takes everything that a bucket holds, under any capacity. */
import { MAX_UNITS, MOST_DEBT, MOST_ENTRY_UNITS, orEverything } from "../units.js";
import type { Entry, Limit } from "./kind.js";
import { merge } from "./log.js";

/** An entry of everything that there is, under any capacity, less what was given since, and more for what is owed. */
export const EVERYTHING = MAX_UNITS;

/** Whether more may have been taken than an entry says. */
export function isEverything({ units }: Entry): boolean {
  return units > MOST_DEBT;
}

/** The entries as they count under a capacity: of everything that is all that there can be. */
export function countsOf({ capacity }: Pick<Limit, "capacity">, entries: readonly Entry[]): readonly Entry[] {
  return entries.map((entry) =>
    isEverything(entry) ? { ...entry, units: Math.max(0, entry.units - EVERYTHING + capacity) } : entry,
  );
}

/** Several logs as one. Everything that there is at a time is there once, however many of them say so. */
export function together(logs: readonly (readonly Entry[])[]): readonly Entry[] {
  const times = new Set(
    logs
      .flat()
      .filter(isEverything)
      .map(({ at }) => at),
  );
  const beside = logs.map((log) =>
    log.map((entry) => (isEverything(entry) ? { ...entry, units: entry.units - EVERYTHING } : entry)),
  );
  return merge(beside).map((entry) => {
    const units = times.has(entry.at)
      ? Math.min(entry.units + EVERYTHING, MOST_ENTRY_UNITS)
      : orEverything(entry.units);
    return units === entry.units ? entry : { ...entry, units };
  });
}
