/** States as rows hold them: the same state back, and nothing from a row that the package cannot have written. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseLimit } from "../../src/engine/limit.js";
import { fromStored, type StoredState, toStored } from "../../src/engine/state.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { MAX_UNITS } from "../../src/engine/units.js";
import { histories, limits, NOW, stateAfter } from "./arbitraries.js";

const limit = parseLimit("send", { kind: "token bucket", rate: 10, period: 1000 });
const sliding = parseLimit("slide", { kind: "sliding window", rate: 10, period: 1000 });

describe("a stored state", () => {
  it("is in tokens, and comes back as it was", () => {
    const state = { value: 2.5 * limit.unitsPerToken, ts: NOW };
    expect(toStored(limit, state)).toEqual({ value: 2.5, ts: NOW });
    expect(fromStored(limit, { value: 2.5, ts: NOW }, undefined)).toEqual(state);
  });

  it("holds what a sliding window remembers, and no such field otherwise", () => {
    const recent = [
      { at: NOW - 7, count: 1.5 },
      { at: NOW, count: 3 },
    ];
    const state = fromStored(sliding, { value: 5.5, ts: NOW, recent }, undefined);
    expect(state.recent?.map(({ units }) => units / sliding.unitsPerToken)).toEqual([1.5, 3]);
    expect(toStored(sliding, state)).toEqual({ value: 5.5, ts: NOW, recent });
    expect(Object.keys(toStored(limit, { value: 0, ts: 0 }))).toEqual(["value", "ts"]);
    expect(Object.keys(fromStored(limit, { value: 0, ts: 0 }, undefined))).toEqual(["value", "ts"]);
    expect(fromStored(sliding, { value: 10, ts: 0, recent: [] }, undefined).recent).toEqual([]);
    const nothing = { value: 10, ts: NOW, recent: [{ at: NOW, count: 0 }] };
    expect(fromStored(sliding, nothing, undefined).recent?.map(({ units }) => units + 0)).toEqual([0]);
  });

  it("comes back to the very unit, for every kind, also with a debt", () => {
    fc.assert(
      fc.property(limits, histories, fc.double({ min: 0, max: 1, noNaN: true }), (whole, history, part) => {
        const { state } = stateAfter(whole, history);
        const owing = whole.kind.take(whole, state, Math.floor(part * whole.capacity));
        for (const each of [state, owing]) {
          expect(fromStored(whole, toStored(whole, each), undefined)).toEqual(each);
        }
      }),
    );
  });

  it("is at most full: the capacity may have been lowered since", () => {
    expect(fromStored(limit, { value: 11, ts: NOW }, undefined).value).toBe(limit.capacity);
    expect(fromStored(limit, { value: 1e12, ts: NOW }, undefined).value).toBe(limit.capacity);
  });

  it("is rounded down, what was taken is rounded up", () => {
    const unit = 1 / sliding.unitsPerToken;
    const stored = { value: 9.5 * unit, ts: NOW, recent: [{ at: NOW, count: 0.5 * unit }] };
    expect(fromStored(sliding, stored, undefined)).toEqual({ value: 9, ts: NOW, recent: [{ at: NOW, units: 1 }] });
  });

  it("may hold the largest debt, the first moment and the last", () => {
    expect(fromStored(limit, { value: -MAX_UNITS, ts: 0 }, undefined).ts).toBe(0);
    expect(fromStored(limit, { value: 0, ts: END_OF_TIME }, undefined).ts).toBe(END_OF_TIME);
    const recent = [{ at: END_OF_TIME, count: 1e300 }];
    expect(fromStored(sliding, { value: 0, ts: 0, recent }, undefined).recent).toEqual([
      { at: END_OF_TIME, units: MAX_UNITS },
    ]);
  });
});

describe("a damaged row", () => {
  const good: StoredState = { value: 1, ts: NOW };

  it.each<[object, string]>([
    [{ value: NaN }, `the stored state is unusable (value NaN, ts ${NOW})`],
    [{ value: Infinity }, "(value Infinity,"],
    [{ value: -Infinity }, "(value -Infinity,"],
    [{ value: 1e12 + 1 }, "(value 1000000000001,"],
    [{ value: -MAX_UNITS * 1.001 }, "(value -112"],
    [{ value: "1" }, '(value "1",'],
    [{ ts: -1 }, "(value 1, ts -1)"],
    [{ ts: NOW + 0.5 }, `(value 1, ts ${NOW + 0.5})`],
    [{ ts: END_OF_TIME + 2 }, `(value 1, ts ${END_OF_TIME + 2})`],
    [{ ts: NaN }, "(value 1, ts NaN)"],
    [{ ts: undefined }, "(value 1, ts undefined)"],
  ])("%j lets nothing through, and says how to repair it", (wrong, problem) => {
    const read = () => fromStored(limit, { ...good, ...wrong }, "alice");
    expect(read).toThrow(problem);
    expect(read).toThrow('Rate limit "send": the bucket of key "alice" cannot be used: the stored state is unusable');
    expect(read).toThrow("so nothing is let through. resetRateLimit makes it full again.");
  });

  it.each([
    [[{ at: -1, count: 1 }], "(at -1, count 1)"],
    [[{ at: 0.5, count: 1 }], "(at 0.5, count 1)"],
    [[{ at: NOW, count: -1 }], `(at ${NOW}, count -1)`],
    [[{ at: NOW, count: NaN }], `(at ${NOW}, count NaN)`],
    [[{ at: NOW, count: Infinity }], `(at ${NOW}, count Infinity)`],
    [[{ at: END_OF_TIME + 2, count: 1 }], "count 1)"],
    [
      [
        { at: NOW, count: 1 },
        { at: NOW - 1, count: 2 },
      ],
      `(at ${NOW - 1}, count 2)`,
    ],
  ])("%j is no list of what was taken", (recent, problem) => {
    const read = () => fromStored(sliding, { ...good, recent }, undefined);
    expect(read).toThrow(problem);
    expect(read).toThrow('Rate limit "slide": the stored entry of recent is unusable');
  });
});
