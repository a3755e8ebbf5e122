/** Faults that no test can find, since the program does the same with them. */
import { type Survivor } from "./faults.js";

/** An entry of equivalent.json. The text identifies the fault, so that an entry outlives changes above it. */
export interface Equivalent {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** Why the program does the same with the fault. */
  readonly reason: string;
}

export function listedAs(survivor: Survivor, list: readonly Equivalent[]): Equivalent | undefined {
  return list.find((entry) => isSame(entry, survivor) && entry.reason.trim() !== "");
}

/** Entries of the tested files that no survivor matches: the fault is found by now, or the code is gone. */
export function staleAmong(
  list: readonly Equivalent[],
  tested: readonly string[],
  survivors: readonly Survivor[],
): Equivalent[] {
  return list.filter((entry) => tested.includes(entry.file) && !survivors.some((survivor) => isSame(entry, survivor)));
}

function isSame(entry: Equivalent, { file, before, after }: Survivor): boolean {
  return entry.file === file && entry.before === before && entry.after === after;
}
