/** When several rows serve what they deny now. */
import { describe, expect, it } from "vitest";
import { demandOf } from "../../../src/engine/request.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { shardAt } from "../../../src/engine/sharding/shard.js";
import {
  mayDenyOnTwo,
  whenAnyServes,
  whenAsOne,
  whenEachHolds,
  whenServed,
} from "../../../src/engine/sharding/waits.js";
import { END_OF_TIME } from "../../../src/engine/time.js";
import { at, fast, NOW, rowsOf, slow } from "../arbitraries.js";

describe("the time at which rows serve a demand together", () => {
  // Both rows are empty, and one token comes to the bucket in 937.5 ms.
  const { limit, shards } = rowsOf(slow, 0, 1);
  const two = demandOf(limit, { count: 2 });

  it("is when they hold it as one row, and after a pause, from its end", () => {
    expect(whenAsOne(limit, shards, at(NOW), two)).toBe(NOW + 1875);
    expect(whenServed(limit, shards, at(NOW), two)).toBe(NOW + 1875);
    expect(whenServed(limit, shards, at(NOW, NOW + 5000), two)).toBe(NOW + 5000);
  });

  it("is after the rows that are full first, however close together these become full", () => {
    // The last row holds three of nine tokens, and becomes full 999 ms after the others.
    const { limit, shards } = rowsOf({ kind: "token bucket", rate: 2, period: 1000, capacity: 9, shards: 4 }, 4.5, 2);
    const held = shards.map(({ state }) => state.value / limit.unitsPerToken);
    expect(held).toEqual([1, 1, 1, 1.5]);
    const nine = demandOf(limit, { count: 9 });
    expect(whenAsOne(limit, shards, at(NOW), nine)).toBe(NOW + 3000);
  });

  it("is never for more than the bucket can hold", () => {
    const more = demandOf(limit, { count: 65 });
    expect(whenAsOne(limit, shards, at(NOW), more)).toBe(END_OF_TIME);
    expect(whenServed(limit, shards, at(NOW), more)).toBe(END_OF_TIME);
  });

  it("is when each holds it, if a denial may rest on two rows: then a call asks no others", () => {
    const one = rowsOf(fast, 0, 4);
    expect(mayDenyOnTwo(one.limit, demandOf(one.limit, { count: 1 }))).toBe(true);
    expect(mayDenyOnTwo(one.limit, demandOf(one.limit, { count: 1, reserve: true }))).toBe(false);
    expect(mayDenyOnTwo(limit, two)).toBe(false);
    // A token comes to one of 16 rows in 2.5 ms.
    expect(whenServed(one.limit, one.shards, at(NOW), demandOf(one.limit, { count: 1 }))).toBe(NOW + 3);
  });

  it("asks of no row more than it can hold", () => {
    // Each row holds 32 tokens at most, which come in 60 s.
    expect(whenEachHolds(shards, NOW, 40 * limit.unitsPerToken)).toBe(NOW + 60_000);
  });
});

describe("the time at which any row serves", () => {
  it("is that of an empty row of the smallest size, or of a row that was read and serves later", () => {
    const { limit, shards } = rowsOf(fast, 64, 4);
    const one = limit.unitsPerToken;
    expect(whenAnyServes(limit, shards, at(NOW), one)).toBe(NOW + 3);
    const owing = shards.slice(0, 1).map((shard) => ({ ...shard, state: { value: -one, ts: NOW } }));
    expect(whenAnyServes(limit, owing, at(NOW), one)).toBe(NOW + 5);
  });

  it("is in the latest window of the rows that were read: where windows have moved, the next one brings less", () => {
    const moved = { kind: "fixed window", rate: 64, period: 1000, capacity: 128, start: 0, shards: 64 } as const;
    const limit = parseLimit("send", moved);
    const one = limit.unitsPerToken;
    const row = (since: number) =>
      shardAt(limit, "000001", { value: 2 * one, ts: NOW + 650, window: { since: NOW + since, used: 0 } });
    const when = (...rows: number[]) => whenAnyServes(limit, rows.map(row), at(NOW + 700), one);
    expect([when(0), when(600, 0), when(0, 600)]).toEqual([NOW + 1000, NOW + 2000, NOW + 2000]);
  });

  it("is that of the span of rows that holds two such counts, if one row does not", () => {
    const { limit } = rowsOf(fast, 64, 4);
    // Two counts of 2 fit a row of 4 tokens, and two of 3 a row of 8. A count of 64 fits only the whole.
    const when = (count: number) => whenAnyServes(limit, [], at(NOW), count * limit.unitsPerToken);
    expect([2, 3, 16, 64, 65].map(when)).toEqual([NOW + 5, NOW + 4, NOW + 5, NOW + 10, 8.64e15]);
  });
});
