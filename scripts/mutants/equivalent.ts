/** Faults that no test can find, because the program does the same with them. */
import { type Survivor } from "./faults.js";

/** An entry of equivalent.json. The text identifies the fault, so that an entry stays valid if lines above it change. */
export interface Equivalent {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** Why the program does the same with the fault. */
  readonly reason: string;
}

type Fault = Pick<Survivor, "file" | "before" | "after">;

export function listedAs(survivor: Survivor, list: readonly Equivalent[]): Equivalent | undefined {
  return list.find((entry) => isSame(entry, survivor) && entry.reason.trim() !== "");
}

/** The entries of the tested files that no survivor matches: a test now finds the fault, or the code is gone. */
export function staleAmong(
  list: readonly Equivalent[],
  tested: readonly string[],
  survivors: readonly Survivor[],
): Equivalent[] {
  return list.filter((entry) => tested.includes(entry.file) && !survivors.some((survivor) => isSame(entry, survivor)));
}

export function isSame(one: Fault, other: Fault): boolean {
  return one.file === other.file && one.before === other.before && one.after === other.after;
}
