/** The intervals of a split bucket, and their names in rows. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  halves,
  type Interval,
  isPart,
  MAX_LEVEL,
  MAX_SHARDS,
  nameOfRow,
  CONTROL_SHARD,
  pointAt,
  startOf,
  tile,
  WHOLE,
} from "../../../src/engine/sharding/interval.js";
import { tilings } from "../arbitraries.js";
import { forAny } from "../../support/random.js";

const all: Interval[] = [WHOLE];
for (const interval of all) if (interval.length < MAX_LEVEL) all.push(...halves(interval));
const parts = all.slice(1);
const points = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }).map(pointAt);

/** The start and end as numbers, computed without the functions under test. */
function boundsOf(interval: Interval): [number, number] {
  const start = Array.from(interval).reduce((sum, digit, i) => sum + Number(digit) / 2 ** (i + 1), 0);
  return [start, start + 1 / 2 ** interval.length];
}

it("a named row begins where its part does; the row of the whole, and no row, begin nowhere", () => {
  for (const shard of parts) expect(startOf(nameOfRow({ shard, _id: "id 0" }))).toBe(boundsOf(shard)[0]);
  for (const none of [nameOfRow({ _id: "01" }), "", "0123 id", "id", "! id"]) expect(startOf(none)).toBeUndefined();
});

describe("an interval", () => {
  it("is one of 4095: the whole, and parts down to 1/2048", () => {
    expect(new Set(all.map((interval) => boundsOf(interval).join())).size).toBe(2 * MAX_SHARDS - 1);
    expect(parts.filter((part) => !isPart(part))).toEqual([]);
  });

  it("is not the whole, the control row, or a name that is not binary", () => {
    const others = ["", CONTROL_SHARD, "2", "02", "0 ", " 0", "0\n", "-0", "1.0", "0".repeat(12), "000000000002"];
    expect(others.filter(isPart)).toEqual([]);
  });

  it("comes after the control row, in the order of strings", () => {
    expect(parts.every((part) => part > CONTROL_SHARD)).toBe(true);
  });
});

it("a point is the smallest part that contains the random number", () => {
  expect([0, 0.5, 0.75, 1 - 2 ** -53].map(pointAt)).toEqual(
    ["0", "1", "11", "1".repeat(11)].map((digits) => digits.padEnd(11, "0")),
  );
  forAny([fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })], 100, (random) => {
    const point = pointAt(random);
    const [start, end] = boundsOf(point);
    expect(point).toHaveLength(MAX_LEVEL);
    expect(random >= start && random < end).toBe(true);
  });
});

describe("intervals that tile", () => {
  it("cover the whole once, in the order of strings and of their starts", () => {
    forAny([tilings, points], 100, (tiling, point) => {
      expect(tile(WHOLE, tiling)).toBe(true);
      expect([...tiling].sort()).toEqual(tiling);
      const starts = tiling.map((part) => boundsOf(part)[0]);
      expect([...starts].sort((a, b) => a - b)).toEqual(starts);
      // A row is found by its name: the last row whose name is not after the point is the only one that covers it.
      const last = tiling.filter((part) => part <= point).at(-1);
      expect(tiling.filter((part) => point.startsWith(part))).toEqual([last]);
    });
  });

  it("agree with a naive rule: sorted intervals whose ends meet", () => {
    const some = fc.array(fc.constantFrom(...all.slice(0, 15)), { maxLength: 6 }).map((parts) => parts.sort());
    forAny([fc.constantFrom(...all.slice(0, 7)), some], 2000, (whole, tiling) => {
      let [next] = boundsOf(whole);
      const doMeet = tiling.every((part) => {
        const [start, end] = boundsOf(part);
        const meets = start === next;
        next = end;
        return meets;
      });
      expect(tile(whole, tiling)).toBe(tiling.length > 0 && doMeet && next === boundsOf(whole)[1]);
    });
  });
});
