/** The refund of a take, compared with a history in which the take was never made. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  forgotten,
  halved,
  headroomSince,
  joined,
  noted,
  remembering,
  returned,
  since,
} from "../../src/engine/headroom.js";
import type { Entry, State } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { forAny } from "../support/random.js";

const CAPACITY = 8;

/** One step: units arrive, and then units are taken, given as a gift, refunded for an earlier step, or the bucket is paused. */
interface Step {
  readonly is: "take" | "gift" | "pause" | "undo";
  readonly waitMs: number;
  readonly arrive: number;
  readonly units: number;
  readonly undone: number;
}

/** If `leastMs` is above 0, no two steps share a millisecond. */
const steps = (maxLength: number, leastMs: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      is: fc.constantFrom<Step["is"][]>("take", "take", "undo", "undo", "gift", "pause"),
      waitMs: fc.integer({ min: leastMs, max: 2 }),
      arrive: fc.nat(8),
      units: fc.nat(10),
      undone: fc.nat(maxLength - 1),
    }),
    { minLength: 2, maxLength },
  );

/** The final level of a bucket, and the most pairs that it had. `kept` is how much of each take stays taken. */
function play(history: readonly Step[]): { level: number; kept: number[]; mostPairs: number } {
  let state: State = { value: CAPACITY, ts: 1 };
  let mostPairs = 0;
  const dates: number[] = [];
  const kept = history.map(() => 0);
  const withPairs = (value: number, headroom: State["headroom"]) => {
    state = { value, ts: state.ts, ...(headroom && { headroom }) };
  };
  for (const [i, { is, waitMs, arrive, units, undone }] of history.entries()) {
    const ts = state.ts + waitMs;
    const value = waitMs === 0 ? state.value : Math.min(CAPACITY, state.value + arrive);
    const headroom = state.headroom && noted(state.headroom, state.ts, ts, CAPACITY - value);
    state = { value, ts, ...(headroom && { headroom }) };
    dates.push(ts);
    const takenAt = is === "undo" ? dates[undone] : undefined;
    if (is === "take") {
      kept[i] = units;
      state = remembering({ ...state, value: value - units }, ts);
    } else if (is === "gift") {
      const after = Math.min(CAPACITY, value + units);
      withPairs(after, headroom && since(headroom, ts + 1, CAPACITY - after));
    } else if (is === "pause") {
      const level = Math.min(0, value);
      withPairs(level, headroom && since(headroom, ts + 1, -level));
    } else if (takenAt !== undefined && undone < i) {
      const own = Math.min(units, kept[undone] ?? 0);
      const back = Math.min(own, CAPACITY - value, headroomSince(state, takenAt));
      kept[undone] = (kept[undone] ?? 0) - own;
      withPairs(value + back, headroom && returned(headroom, takenAt, back));
    }
    mostPairs = Math.max(mostPairs, state.headroom?.length ?? 0);
  }
  return { level: state.value, kept, mostPairs };
}

/** The level of a bucket if only the units that were not refunded had ever been taken. */
function levelWithout(history: readonly Step[], kept: readonly number[]): number {
  return history.reduce((level, { is, waitMs, arrive, units }, i) => {
    const held = waitMs === 0 ? level : Math.min(CAPACITY, level + arrive);
    if (is === "gift") return Math.min(CAPACITY, held + units);
    return is === "pause" ? Math.min(0, held) : held - (kept[i] ?? 0);
  }, CAPACITY);
}

describe("a refund by date", () => {
  it("restores the level of a bucket without the take, if each step has its own ms and eight pairs are enough", () => {
    forAny([steps(8, 1)], 10_000, (history) => {
      const { level, kept } = play(history);
      expect(level).toBe(levelWithout(history, kept));
    });
  });

  it("never restores more where steps share a ms, or in a longer history, which keeps at most eight pairs", () => {
    forAny([fc.oneof(steps(8, 0), steps(60, 0))], 10_000, (history) => {
      const { level, kept, mostPairs } = play(history);
      expect(level).toBeLessThanOrEqual(levelWithout(history, kept));
      expect(mostPairs).toBeLessThanOrEqual(8);
    });
  });

  it("merges the two of nine pairs that differ least in proportion, with the later time and the smaller headroom", () => {
    const nine = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => ({ at: i, units: i === 5 ? 41 : 10 * i }));
    expect(noted(nine.slice(0, 8), 8, 9, 90)).toEqual([...nine.slice(0, 3), { at: 5, units: 40 }, ...nine.slice(5)]);
    expect(noted(nine.slice(0, 8), 8, 9, 40)).toEqual([...nine.slice(0, 3), { at: 9, units: 40 }]);
  });
});

it("a state without pairs refunds nothing; a kind that logs its takes gets no pairs", () => {
  const state = { value: 3, ts: 5 };
  expect([4, 5].map((takenAt) => headroomSince(state, takenAt))).toEqual([0, 0]);
  const dated = remembering(state, 5);
  // No more than any size of the take, but nothing for a time to come.
  expect([4, 5, 6].map((takenAt) => headroomSince(dated, takenAt))).toEqual([0, Infinity, 0]);
  expect(remembering(dated, 9)).toBe(dated);
  const logged = { ...state, recent: [] };
  expect(remembering(logged, 5)).toBe(logged);
});

it("a bucket that owes more than can be counted refunds nothing until it was full", () => {
  const unknown = since([{ at: 4, units: 2 }], END_OF_TIME, 0);
  expect(headroomSince({ value: -5, ts: 5, headroom: unknown }, 5)).toBe(0);
  expect([noted(unknown, 5, 9, 3), since(unknown, 6, 0)]).toEqual([unknown, unknown]);
  expect(noted(unknown, 5, 9, 0)).toBeUndefined();
});

it("a bucket that was reset gives back nothing that a clock, even one ahead, took before", () => {
  const { capacity, ...limit } = parseLimit("send", { kind: "token bucket", rate: 8, period: 1000 });
  const state = (lastWrite: number) => forgotten({ ...limit, capacity }, lastWrite, { at: 100_000, after: 140_000 });
  // A last write at the end of the pause, or far ahead, is that of a pause.
  const dates = [50_000, 100_000, 130_000, 140_000, 900_000].map((lastWrite) => state(lastWrite).headroom?.[0]?.at);
  expect(dates).toEqual([100_001, 100_001, 130_001, 100_001, 100_001]);
  expect(state(0)).toEqual({ value: capacity, ts: 100_000, headroom: [{ at: 100_001, units: 0 }] });
});

it.each(["token bucket", "sliding window"] as const)(
  "a pause of a %s counts for what was taken before it, and in its own millisecond only if that may have been before",
  (kind) => {
    const limit = parseLimit("send", { kind, rate: 8, period: 1000 });
    const dateOf = (ts: number) => {
      const state = { value: limit.capacity, ts, headroom: [{ at: ts, units: 0 }] };
      return limit.kind.pause(limit, state, { at: 5000, until: 6000 }).headroom?.at(-1)?.at;
    };
    expect([4000, 4999, 5000, 5001].map(dateOf)).toEqual([5000, 5000, 5001, 5002]);
  },
);

const gaps = fc.record({ at: fc.integer({ min: 1, max: 3 }), units: fc.integer({ min: 1, max: 9 }) });
/** Pairs whose times and units both increase. */
const pairs = (maxLength: number): fc.Arbitrary<Entry[]> =>
  fc.array(gaps, { minLength: 1, maxLength }).map((found) => {
    let last: Entry = { at: 0, units: -1 };
    return found.map(({ at, units }) => (last = { at: last.at + at, units: last.units + units }));
  });

/** The units that a part refunds for a take. The last pair counts for a later time, which is from another part. */
function sinceIn(headroom: readonly Entry[], takenAt: number): number {
  return (headroom.find(({ at }) => at > takenAt) ?? headroom.at(-1))?.units ?? NaN;
}

describe("the pairs of parts", () => {
  it("refund together what the whole's pairs refund, and join to the same pairs", () => {
    forAny([pairs(8), fc.double({ min: 0, max: 1, noNaN: true })], 100, (whole, share) => {
      const [left, right] = halved(whole, share);
      for (let at = 0; at < 24; at++) expect(sinceIn(left, at) + sinceIn(right, at)).toBe(sinceIn(whole, at));
      for (const { units } of [...left, ...right]) expect(units).toBeGreaterThanOrEqual(0);
      expect(joined([left, right])).toEqual(whole);
    });
  });

  it("are not changed by a damaged row without pairs", () => {
    const whole = [{ at: 3, units: 5 }];
    expect(joined([[], whole])).toEqual(whole);
  });

  it("of 2,048 rows refund nearly what all parts do, and no more", () => {
    const times = Array.from({ length: 8 }, (_, i) => i);
    const parts = Array.from({ length: 2048 }, (_, row) => times.map((i) => ({ at: 2048 * i + row, units: i + 1 })));
    const whole = joined(parts);
    const all = (at: number) => parts.reduce((sum, part) => sum + sinceIn(part, at), 0);
    const kept = times.map((i) => sinceIn(whole ?? [], 2048 * i + 1000) / all(2048 * i + 1000));
    expect(Math.max(...kept)).toBeLessThanOrEqual(1);
    // From one token of each part to eight. Even steps between eight pairs keep 8 ** (-1 / 8); neighbours are joined by twos.
    expect(Math.min(...kept)).toBeGreaterThanOrEqual(8 ** (-2 / 8));
  });

  it("of a few rows are eight, also where one differs far more than all others", () => {
    const many = Array.from({ length: 64 }, (_, at) => ({ at, units: at < 63 ? at : 10_000 }));
    expect(joined([many])).toHaveLength(8);
  });

  it("join to what all parts refund, or to less if that needs more than eight pairs", () => {
    forAny([fc.array(fc.option(pairs(5), { nil: undefined }), { minLength: 1, maxLength: 4 })], 100, (parts) => {
      const known = parts.filter((part) => part !== undefined);
      const whole = joined(parts);
      if (!whole) {
        expect(known).toEqual([]);
        return;
      }
      expect(whole.length).toBeLessThanOrEqual(8);
      const isExact = new Set(known.flat().map(({ at }) => at)).size <= 8;
      for (let at = 0; at < (whole.at(-1)?.at ?? 0); at++) {
        const all = known.reduce((sum, part) => sum + sinceIn(part, at), 0);
        if (isExact) expect(sinceIn(whole, at)).toBe(all);
        else expect(sinceIn(whole, at)).toBeLessThanOrEqual(all);
      }
    });
  });
});

/** Pairs, each as its time and its units. */
const pairsOf = (...list: [at: number, units: number][]): Entry[] => list.map(([at, units]) => ({ at, units }));
const rising = pairsOf([50, 2], [100, 5], [150, 9]);

it.each<[what: string, takenAt: number, back: number, left: Entry[]]>([
  ["all later pairs are lower", 60, 2, pairsOf([50, 2], [100, 3], [150, 7])],
  ["an earlier pair says nothing more where a later one is as low", 60, 3, pairsOf([100, 2], [150, 6])],
  ["or lower", 60, 4, pairsOf([100, 1], [150, 5])],
  ["the pair of the take's own time stays", 100, 1, pairsOf([50, 2], [100, 5], [150, 8])],
])("once units have come back, %s", (_what, takenAt, back, left) => {
  expect(returned(rising, takenAt, back)).toEqual(left);
});

it("pairs say each thing once, and at most eight: a headroom that is smaller than earlier ones replaces them", () => {
  expect(noted(pairsOf([3, 5]), 3, 9, 2)).toEqual(pairsOf([9, 2]));
  // Between two takes of one ms no units come.
  expect(noted(rising, 150, 150, 20)).toBe(rising);
  expect(since(rising, 171, 9)).toEqual(pairsOf([50, 2], [100, 5], [171, 9]));
  const eight = pairsOf([1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [7, 7], [8, 8]);
  expect(since(eight, 9, 9)).toEqual([...eight.slice(0, 7), ...pairsOf([9, 8])]);
});

it("halves of a bucket share its headroom", () => {
  expect(halved(rising, 0.3)).toEqual([pairsOf([50, 0], [100, 1], [150, 2]), pairsOf([50, 2], [100, 4], [150, 7])]);
});
