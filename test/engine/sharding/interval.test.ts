/** Intervals of a split bucket, and the numbers that rows have for them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  around,
  covers,
  fromShard,
  halves,
  type Interval,
  lastShardAt,
  MAX_LEVEL,
  OVERRIDE_SHARD,
  POINTS,
  shardsWithin,
  tile,
  toShard,
  WHOLE,
  width,
} from "../../../src/engine/sharding/interval.js";
import { tilings } from "../arbitraries.js";

const all: Interval[] = Array.from({ length: MAX_LEVEL + 1 }, (_, level) =>
  Array.from({ length: 2 ** level }, (_, index) => ({ start: (index * POINTS) / 2 ** level, level })),
).flat();
const points = fc.integer({ min: 0, max: POINTS - 1 });

describe("an interval", () => {
  it("has a number of its own, and the whole has none", () => {
    expect(all).toHaveLength(2 * POINTS - 1);
    expect(toShard(WHOLE)).toBeUndefined();
    expect(fromShard(undefined)).toEqual(WHOLE);
    expect(toShard({ start: 0, level: 1 })).toBe(1);
    expect(toShard({ start: 512, level: 1 })).toBe(8193);
    expect(all.map((interval) => fromShard(toShard(interval)))).toEqual(all);
    expect(new Set(all.map(toShard)).size).toBe(all.length);
  });

  it("has a number below that of an override, which names none", () => {
    expect(Math.max(...all.map((interval) => toShard(interval) ?? 0))).toBeLessThan(OVERRIDE_SHARD);
    expect(fromShard(OVERRIDE_SHARD)).toBeUndefined();
  });

  it("is not named by any other number", () => {
    const numbers = new Set(all.map(toShard));
    for (let shard = -40; shard < 16 * POINTS + 40; shard++) {
      if (!numbers.has(shard)) expect(fromShard(shard)).toBeUndefined();
    }
    expect([1.5, NaN, Infinity, -Infinity, 1e300, 2 ** 53].map(fromShard)).toEqual(Array(6).fill(undefined));
  });

  it("has a width, and covers the points from its start on", () => {
    expect([0, 1, 10].map((level) => width({ start: 0, level }))).toEqual([1024, 512, 1]);
    const quarter = { start: 256, level: 2 };
    expect([255, 256, 511, 512].map((point) => covers(quarter, point))).toEqual([false, true, true, false]);
  });

  it("is made up of its halves", () => {
    expect(halves({ start: 256, level: 2 })).toEqual([
      { start: 256, level: 3 },
      { start: 384, level: 3 },
    ]);
    for (const interval of all.filter(({ level }) => level < MAX_LEVEL)) {
      expect(tile(interval, halves(interval))).toBe(true);
    }
  });

  it("lies within what is around it, and within nothing else of that size", () => {
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.constantFrom(...all), (inner, outer) => {
        const isCovered = inner.start >= outer.start && inner.start + width(inner) <= outer.start + width(outer);
        if (outer.level <= inner.level) expect(toShard(around(inner, outer.level)) === toShard(outer)).toBe(isCovered);
      }),
    );
  });
});

describe("intervals that tile", () => {
  it("cover the whole once, in order", () => {
    fc.assert(
      fc.property(tilings, points, (parts, point) => {
        expect(tile(WHOLE, parts)).toBe(true);
        expect(parts.filter((part) => covers(part, point))).toHaveLength(1);
      }),
    );
  });

  it("leave no gap, do not overlap, and are in order", () => {
    const [left, right] = halves(WHOLE);
    expect(tile(WHOLE, [WHOLE])).toBe(true);
    for (const parts of [[], [left], [right], [right, left], [left, left], [left, WHOLE], [left, right, right]]) {
      expect(tile(WHOLE, parts)).toBe(false);
    }
    expect(tile(left, [left])).toBe(true);
    expect(tile(left, [left, right])).toBe(false);
    fc.assert(
      fc.property(
        tilings.filter((parts) => parts.length > 1),
        fc.nat(),
        (parts, at) => {
          const index = at % parts.length;
          expect(tile(WHOLE, [...parts.slice(0, index), ...parts.slice(index + 1)])).toBe(false);
          expect(tile(WHOLE, [...parts.slice(0, index + 1), ...parts.slice(index)])).toBe(false);
        },
      ),
    );
  });

  it("are found by their numbers: the last one up to a point covers it", () => {
    expect(lastShardAt(511)).toBe(8191);
    expect(shardsWithin({ start: 256, level: 2 })).toEqual({ first: 4096, last: 8191 });
    fc.assert(
      fc.property(tilings, points, (parts, point) => {
        const numbered = parts.filter((part) => (toShard(part) ?? -1) <= lastShardAt(point));
        expect(numbered.at(-1)).toEqual(parts.find((part) => covers(part, point)));
      }),
    );
  });

  it("lie within another interval exactly if their numbers lie in its range", () => {
    fc.assert(
      fc.property(tilings, fc.constantFrom(...all.slice(1)), (parts, outer) => {
        const { first, last } = shardsWithin(outer);
        const starting = parts.filter(({ start }) => covers(outer, start));
        const numbered = parts.filter((part) => {
          const shard = toShard(part) ?? -1;
          return shard >= first && shard <= last;
        });
        if (parts.length > 1) expect(numbered).toEqual(starting);
      }),
    );
  });
});
