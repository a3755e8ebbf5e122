/** The entry of a log that stands for everything: what a pause takes, or a debt that cannot be counted. */
import { describe, expect, it } from "vitest";
import { countsOf, EVERYTHING, isEverything, together } from "../../../src/engine/kinds/everything.js";
import { MOST_DEBT } from "../../../src/engine/units.js";
import type { Entry } from "../../../src/engine/kinds/kind.js";

const CAPACITY = 10;
const at = (time: number, units: number): Entry => ({ at: time, units });
const counted = (entries: readonly Entry[]) => countsOf({ capacity: CAPACITY }, entries).map(({ units }) => units);

describe("an entry of everything", () => {
  it.each<[what: string, units: number, counts: number]>([
    ["counts as the capacity", EVERYTHING, CAPACITY],
    ["counts what is owed beside it", EVERYTHING + 3, CAPACITY + 3],
    ["does not count what was given of it", EVERYTHING - 3, CAPACITY - 3],
    ["counts as nothing if all of it was given", EVERYTHING - CAPACITY - 1, 0],
    ["is none of half as many units, which are a debt", MOST_DEBT, MOST_DEBT],
  ])("%s", (_what, units, counts) => {
    expect(isEverything(at(1, units))).toBe(units > MOST_DEBT);
    expect(counted([at(1, units)])).toEqual([counts]);
  });
});

describe("several logs together", () => {
  it.each<[what: string, logs: Entry[][], merged: Entry[]]>([
    [
      "have everything once, with all that is owed",
      [[at(1, EVERYTHING + 2)], [at(1, EVERYTHING - 5)]],
      [at(1, EVERYTHING - 3)],
    ],
    ["owe what was taken at the end of the pause", [[at(1, EVERYTHING)], [at(1, 4)]], [at(1, EVERYTHING + 4)]],
    [
      "keep the ends of different pauses",
      [[at(1, EVERYTHING)], [at(2, EVERYTHING)]],
      [at(1, EVERYTHING), at(2, EVERYTHING)],
    ],
    ["cut a debt off that cannot be counted", [[at(1, EVERYTHING + 2 ** 49)], [at(1, 1)]], [at(1, 1.5 * EVERYTHING)]],
    ["have everything if two debts cannot be counted", [[at(1, 2 ** 49)], [at(1, 1)]], [at(1, EVERYTHING)]],
    ["are as they were without it", [[at(1, 2), at(3, 4)], [at(3, 5)]], [at(1, 2), at(3, 9)]],
  ])("%s", (_what, logs, merged) => {
    expect(together(logs)).toEqual(merged);
  });
});
