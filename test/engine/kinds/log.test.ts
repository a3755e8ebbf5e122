/** The log of takes and their times. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Entry, MOST_TAKEN } from "../../../src/engine/kinds/kind.js";
import { compact, countsOf, insert, MAX_ENTRIES, merge, removeBackwards, sum } from "../../../src/engine/kinds/log.js";
import { forAny } from "../../support/random.js";

const log = (...entries: [at: number, units: number, from?: number][]): Entry[] =>
  entries.map(([at, units, from]) => ({ at, units, ...(from !== undefined && { from }) }));
/** Entries of nine units, ten ms apart. */
const spaced = (length: number): Entry[] => Array.from({ length }, (_, i) => ({ at: 10 * i, units: 9 }));
const logs = fc
  .array(fc.record({ at: fc.nat(500), units: fc.integer({ min: 1, max: 50 }) }), { maxLength: 200 })
  .map((entries) => entries.reduce<Entry[]>(insert, []));
/** The units taken at a time or later. */
const from = (entries: readonly Entry[], time: number) => sum(entries.filter(({ at }) => at >= time));

it.each([
  ["into nothing", log(), log([5, 4])],
  ["between others", log([3, 1], [7, 2]), log([3, 1], [5, 4], [7, 2])],
  ["after others", log([3, 1]), log([3, 1], [5, 4])],
  ["by adding it to the entry of its time", log([3, 1], [5, 2]), log([3, 1], [5, 6])],
])("an entry is inserted %s; an entry without units is not inserted", (_what, entries, after) => {
  expect(insert(entries, { at: 5, units: 4 })).toEqual(after);
  expect(insert(entries, { at: 5, units: 0 })).toEqual(entries);
});

it("logs are merged in the order of their times, in any order of the logs", () => {
  expect(merge([log([3, 1], [7, 2]), [], log([1, 4], [7, 8])])).toEqual(log([1, 4], [3, 1], [7, 10]));
  expect(merge([])).toEqual([]);
  forAny([logs, logs], 100, (one, other) => {
    expect(merge([one, other])).toEqual(merge([other, one]));
    expect(sum(merge([one, other]))).toBe(sum(one) + sum(other));
  });
});

/** What a pause takes, or a debt that cannot be counted. */
const all = (at: number, units = 0): Entry => ({ at, units, all: true });

it.each<[what: string, units: number, counts: number]>([
  ["as the capacity", 0, 10],
  ["with what is owed beside it", 3, 13],
  ["without what was given of it", -3, 7],
  ["as nothing if all of it was given", -11, 0],
])("an entry of everything counts %s", (_what, units, counts) => {
  expect(countsOf({ capacity: 10 }, [all(1, units)])).toMatchObject([{ units: counts }]);
});

it.each<[what: string, logs: Entry[][], merged: Entry[]]>([
  ["have everything once, with all that is owed", [[all(1, 2)], [all(1, -5)]], [all(1, -3)]],
  ["owe what was taken at the end of the pause", [[all(1)], log([1, 4])], [all(1, 4)]],
  ["owe what was taken before its end in another row", [log([1, 4]), [all(1)]], [all(1, 4)]],
  ["keep the ends of different pauses", [[all(1)], [all(2)]], [all(1), all(2)]],
  ["cut a debt off that cannot be counted", [[all(1, MOST_TAKEN)], log([1, 1])], [all(1, MOST_TAKEN)]],
  ["have everything if two debts cannot be counted", [log([1, MOST_TAKEN]), log([1, 1])], [all(1)]],
])("several logs %s", (_what, logs, merged) => {
  expect(merge(logs)).toEqual(merged);
});

describe("a compact log", () => {
  it("is unchanged while it has at most 64 times", () => {
    expect(MAX_ENTRIES).toBe(64);
    expect(compact(spaced(64), 1000)).toEqual(spaced(64));
  });

  const promised = spaced(65).map((entry, i) => (i === 31 ? { ...entry, at: 301 } : entry));
  // Joining makes 4 units wait for 20 ms, rather than 9 units for 10 ms.
  const uneven = [...spaced(30), { at: 300, units: 4 }, ...spaced(65).slice(32), { at: 5000, units: 9 }];
  const small = { at: -1, units: 1 };
  const odd = spaced(66).map((entry, i) => (i === 40 ? { ...entry, units: 1 } : entry));
  it.each<[string, entries: Entry[], now: number, joined: Entry[]]>([
    ["the neighbours whose units then wait least in all, at the later time", uneven, 10_000, log([320, 13, 300])],
    ["an entry that starts exactly now with started entries", promised, 301, log([301, 18, 300])],
    ["future entries with each other", promised, 299, log([301, 18, 300])],
    ["the oldest of equal neighbours, except the very oldest", spaced(66), 1000, log([20, 18, 10], [40, 18, 30])],
    ["of equal neighbours no more than it must", odd, 1000, log([20, 18, 10], [410, 10, 400])],
    ["never the very oldest, even if close and small", [small, ...spaced(64)], 1000, [small, ...log([10, 18, 0])]],
  ])("joins %s", (_what, entries, now, joined) => {
    const compacted = compact(entries, now);
    expect(compacted).toHaveLength(MAX_ENTRIES);
    expect(compacted.filter(({ units }) => units !== 9)).toEqual(joined);
  });

  it("never joins everything with a later entry, and another with it only if that is short", () => {
    const paused = [...spaced(30), all(300), ...spaced(66).slice(31)];
    expect(compact(paused, 1000)).toContainEqual(all(300));
    const close = [...spaced(30), { at: 299, units: 1 }, all(300), ...spaced(66).slice(33)];
    expect(compact(close, 1000)).toContainEqual({ ...all(300, 1), from: 299 });
    const oldest = compact([all(-1), ...spaced(64)], 1000);
    expect(oldest.slice(0, 2)).toEqual([all(-1), { at: 10, units: 18, from: 0 }]);
  });

  it("never joins started entries with future ones", () => {
    const started = log(...Array.from({ length: 40 }, (_, i): [number, number] => [100 * i, 5]));
    // The gap at 3900 is by far the smallest.
    const joined = compact([...started, ...started.map(({ at, units }) => ({ at: 3901 + at, units }))], 3900);
    expect(joined).toHaveLength(MAX_ENTRIES);
    expect(from(joined, 3901)).toBe(200);
  });

  it("holds the same units, each at its time or later", () => {
    forAny([logs, fc.nat(500)], 100, (entries, now) => {
      const joined = compact(entries, now);
      expect(joined.length).toBe(Math.min(MAX_ENTRIES, entries.length));
      expect(sum(joined)).toBe(sum(entries));
      expect(from(joined, now + 1)).toBe(from(entries, now + 1));
      const times = entries.map(({ at }) => at);
      expect(joined.filter(({ at }) => !times.includes(at))).toEqual([]);
      expect(joined[0]).toEqual(entries[0]);
      // Each entry is within the span of one that it was joined into.
      const spans = joined.map((entry) => [entry.from ?? entry.at, entry.at] as const);
      for (const at of times) expect(spans.filter(([first, last]) => first <= at && at <= last)).toHaveLength(1);
      for (const time of times) expect(from(joined, time)).toBeGreaterThanOrEqual(from(entries, time));
    });
  });
});

it("the logs of all rows of a bucket are joined in passes, with little loss", () => {
  const entries = spaced(1024);
  const joined = compact(entries, 1e6);
  // No unit waits for more than two 64ths of the whole time.
  const waits = entries.map(({ at }) => (joined.find((entry) => entry.at >= at)?.at ?? Infinity) - at);
  expect(Math.max(...waits)).toBeLessThanOrEqual((2 * 10_240) / 64);
});

const entries = log([1, 4], [3, 2], [7, 8]);

it.each<[units: number, at: number, left: Entry[]]>([
  // Units are removed from the latest entry up to the time, then from earlier ones.
  [0, 7, entries],
  [3, 7, log([1, 4], [3, 2], [7, 5])],
  [9, 7, log([1, 4], [3, 1])],
  [10, 100, log([1, 4])],
  [100, 7, []],
  // Entries after the time stay, even if not all units can be removed.
  [3, 6, log([1, 3], [7, 8])],
  [100, 6, log([7, 8])],
  [5, 0, entries],
])("removes %d units backwards, from time %d", (units, at, left) => {
  expect(removeBackwards(entries, units, at)).toEqual(left);
});

it("of everything any units can be removed", () => {
  expect(removeBackwards([...log([1, 4]), all(3), ...log([7, 2])], 9, 7)).toEqual([...log([1, 4]), all(3, -7)]);
  expect(removeBackwards([all(3, 5)], 5, 7)).toEqual([all(3)]);
});

it("an entry that is joined twice says the time of the first take in it", () => {
  expect(merge([log([7, 2, 3]), log([7, 1, 1]), log([7, 1])])).toEqual(log([7, 4, 1]));
});
