/** Tokens as units, and stored states. A state is read back unchanged. A row that the package cannot have written is an error. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseGrain } from "../../src/engine/grain.js";
import { fullState } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { ceilUnits, floorUnits, fromStored, MAX_UNITS, toStored, unitsOf } from "../../src/engine/units.js";
import type { StoredState } from "../../src/wire/snapshots.js";
import { decimal, histories, limits, NOW, period, stateAfter } from "./arbitraries.js";
import { forAny } from "../support/random.js";

describe("tokens as units", () => {
  it.each([
    // Decimals whose product with 100 is a double below or above the whole number.
    [0.29, 29, 29],
    [0.07, 7, 7],
    [0.295, 29, 30],
    [-0.295, -30, -29],
    [1e-300, 0, 1],
  ])("%d tokens of 100 units are granted as %d and charged as %d", (tokens, granted, charged) => {
    expect([floorUnits(tokens, 100), ceilUnits(tokens, 100)]).toEqual([granted, charged]);
  });

  it("units → tokens → units gives the same number back, up to the largest", () => {
    const units = fc.maxSafeInteger().map((n) => n % MAX_UNITS);
    forAny([fc.oneof(units, fc.constantFrom(MAX_UNITS, -MAX_UNITS)), decimal, period], 2000, (count, rate, per) => {
      const { unitsPerToken } = chooseGrain(rate, per, { exact: 1, debt: 1 });
      // + 0: minus zero is zero.
      expect(floorUnits(count / unitsPerToken, unitsPerToken) + 0).toBe(count + 0);
      expect(ceilUnits(count / unitsPerToken, unitsPerToken) + 0).toBe(count + 0);
    });
  });
});

const config = { kind: "token bucket", rate: 1, period: 1000 } as const;

it.each([
  // The two differ only by the rounding of a sum.
  [0.1 + 0.2, 0.3, true],
  [-0.1 - 0.2, 0.3, true],
  [1 / 3 + 1 / 3 + 1 / 3, 1, true],
  // Up to 16 units in the last place.
  [1 + 2 ** -49, 1, true],
  [1 - 2 ** -49, 1, true],
  [1 + 2 ** -49 + 2 ** -52, 1, false],
  // These could be two different numbers that a caller meant.
  [0.300_000_000_000_01, 0.3, false],
  [0.299_999, 0.3, false],
  [1e9 - 0.01, 1e9, false],
])("a count of %d is all of a capacity of %d: %s", (count, capacity, isWhole) => {
  const whole = parseLimit("send", { ...config, capacity });
  expect(unitsOf(whole, count) === Math.sign(count) * whole.capacity).toBe(isWhole);
});

const take = (at: number, count: number) => ({ at, count });
const limit = parseLimit("send", { kind: "token bucket", rate: 10, period: 1000 });
const sliding = parseLimit("slide", { kind: "sliding window", rate: 10, period: 1000 });

it.each([
  { since: 0.25, used: 1 },
  { since: NOW, used: -1 },
  { since: NOW, used: NaN },
  { since: END_OF_TIME + 2, used: 1 },
  { since: NOW, used: Infinity },
])("an impossible stored window is damage: %j", (window) => {
  const fixed = parseLimit("quota", { kind: "fixed window", rate: 10, period: 1000, start: 0 });
  const read = () => fromStored(fixed, { value: 5, ts: NOW, window }, "alice");
  expect(read).toThrow('Rate limit "quota": the bucket of key "alice" cannot be used: the stored window is unusable');
});

describe("a stored state", () => {
  it("is in tokens, and has the field recent only for a sliding window", () => {
    const recent = [take(NOW - 7, 1.5), take(NOW, 3)];
    const state = fromStored(sliding, { value: 5.5, ts: NOW, recent }, undefined);
    const taken = [1.5, 3].map((count) => ({ units: count * sliding.unitsPerToken }));
    expect(state).toMatchObject({ value: 5.5 * sliding.unitsPerToken, ts: NOW, recent: taken });
    expect(toStored(sliding, state)).toEqual({ value: 5.5, ts: NOW, recent, bucket: "sliding window 1000" });
    expect(toStored(limit, { value: 0, ts: 0 })).toStrictEqual({ value: 0, ts: 0 });
    expect(fromStored(limit, { value: 0, ts: 0 }, undefined)).toStrictEqual({ value: 0, ts: 0 });
    const nothing = { value: 10, ts: NOW, recent: [{ at: NOW, count: 0 }] };
    expect(fromStored(sliding, nothing, undefined).recent?.map(({ units }) => units + 0)).toEqual([0]);
  });

  it.each<StoredState>([
    { value: 5, ts: NOW, window: { since: NOW, used: 5 } },
    { value: -5, ts: NOW, seen: 3, window: { since: -END_OF_TIME } },
    { value: 0, ts: NOW, headroom: [{ at: NOW + 1, count: 2 }] },
    { value: 4, ts: NOW, recent: [{ at: NOW, count: 2, from: NOW - 9 }] },
    { value: 4, ts: NOW, recent: [{ at: NOW, count: -2, all: true }] },
  ])("is read back unchanged: %j", (stored) => {
    expect(toStored(limit, fromStored(limit, stored, undefined))).toStrictEqual(stored);
  });

  it("is at most full and rounded down, as is what may come back, and what was taken is rounded up", () => {
    expect(fromStored(limit, { value: 1e12, ts: NOW }, undefined).value).toBe(limit.capacity);
    const unit = 1 / sliding.unitsPerToken;
    const recent = [0.5, 1.5].map((units, i) => ({ at: NOW + i, count: units * unit }));
    const taken = [1, 2].map((units, i) => ({ at: NOW + i, units }));
    const state = fromStored(sliding, { value: 9.5 * unit, ts: NOW, recent }, undefined);
    expect(state).toEqual({ value: 9, ts: NOW, recent: taken });
    const headroom = [{ at: NOW, count: 1.5 / limit.unitsPerToken }];
    expect(fromStored(limit, { value: 5, ts: NOW, headroom }, undefined).headroom).toEqual([{ at: NOW, units: 1 }]);
  });

  it("is read back to the exact unit for every kind, also with a debt", () => {
    forAny([limits, histories, fc.double({ min: 0, max: 1, noNaN: true })], 100, (whole, history, part) => {
      const { state } = stateAfter(whole, history);
      const owing = whole.kind.take(whole, state, Math.floor(part * whole.capacity));
      for (const each of [state, owing]) {
        expect(fromStored(whole, toStored(whole, each), undefined)).toEqual(each);
      }
    });
  });

  it.each([1, 1.5])(
    "has taken everything if it took more units than a debt may have, %f times half of all",
    (times) => {
      const count = (times * 2 ** 49 + 1) / sliding.unitsPerToken;
      const everything = { recent: [{ at: NOW, units: 0, all: true }] };
      expect(fromStored(sliding, { value: 0, ts: NOW, recent: [{ at: NOW, count }] }, undefined)).toMatchObject(
        everything,
      );
      // A log that was lost.
      expect(fromStored(sliding, { value: -count, ts: NOW }, undefined)).toMatchObject(everything);
    },
  );

  it("can be read again after any charge of a sliding window", () => {
    const vast = parseLimit("send", { kind: "sliding window", rate: 1e12, period: 86_400_000 });
    let state = fullState(vast);
    // Two in each ms.
    for (let i = 0; i < 1200; i++) {
      const advanced = vast.kind.advance(vast, state, NOW + Math.floor(i / 2));
      state = vast.kind.take(vast, advanced, vast.capacity);
    }
    expect(fromStored(vast, toStored(vast, state), undefined).ts).toBe(NOW + 599);
  });

  it("may hold the largest debt, the first time and the last", () => {
    expect(fromStored(limit, { value: -MAX_UNITS, ts: 0 }, undefined).ts).toBe(0);
    const last = { value: 0, ts: END_OF_TIME, recent: [{ at: END_OF_TIME, count: Number.MAX_VALUE }] };
    const recent = [{ at: END_OF_TIME, units: 0, all: true }];
    expect(fromStored(sliding, last, undefined)).toMatchObject({ ts: END_OF_TIME, recent });
  });
});

describe("a damaged row", () => {
  const good: StoredState = { value: 1, ts: NOW };

  it.each<[object, string]>([
    [{ value: NaN }, `the stored state is unusable (value NaN, ts ${NOW}, seen 0)`],
    [{ value: Infinity }, "(value Infinity,"],
    [{ value: -Infinity }, "(value -Infinity,"],
    [{ value: 1e12 + 1 }, "(value 1000000000001,"],
    [{ value: -MAX_UNITS * 1.001 }, "(value -112"],
    [{ value: "1" }, '(value "1",'],
    [{ ts: -1 }, "(value 1, ts -1, seen 0)"],
    [{ ts: NOW + 0.5 }, `(value 1, ts ${NOW + 0.5}, seen 0)`],
    [{ ts: END_OF_TIME + 2 }, `(value 1, ts ${END_OF_TIME + 2}, seen 0)`],
    [{ ts: NaN }, "(value 1, ts NaN, seen 0)"],
    [{ ts: undefined }, "(value 1, ts undefined, seen 0)"],
    [{ seen: 0.5 }, `(value 1, ts ${NOW}, seen 0.5)`],
  ])("with %j lets nothing through, and the error says how to repair it", (wrong, problem) => {
    const read = () => fromStored(limit, { ...good, ...wrong }, "alice");
    expect(read).toThrow(problem);
    expect(read).toThrow('Rate limit "send": the bucket of key "alice" cannot be used: the stored state is unusable');
    expect(read).toThrow("so nothing is let through. resetRateLimit makes it full again.");
  });

  it.each([
    [[take(-1, 1)], "(at -1, count 1)"],
    [[{ ...take(NOW, 1), from: 0.5 }], `(at ${NOW}, count 1)`],
    [[take(0.25, 1)], "(at 0.25, count 1)"],
    [[{ ...take(NOW, -1e12 - 1), all: true as const }], `(at ${NOW}, count -1000000000001)`],
    [[take(NOW, -1)], `(at ${NOW}, count -1)`],
    [[take(NOW, NaN)], `(at ${NOW}, count NaN)`],
    [[take(NOW, Infinity)], `(at ${NOW}, count Infinity)`],
    [[take(END_OF_TIME + 2, 1)], "count 1)"],
    [[take(NOW, 1), take(NOW - 1, 2)], `(at ${NOW - 1}, count 2)`],
  ])("with %j has no valid list of takes", (recent, problem) => {
    const read = () => fromStored(sliding, { ...good, recent }, undefined);
    expect(read).toThrow(problem);
    expect(read).toThrow('Rate limit "slide": the stored entry of recent is unusable');
  });
});
