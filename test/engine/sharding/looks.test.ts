/** The number of a window's rows that a call reads before it is denied. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { demandOf } from "../../../src/engine/request.js";
import type { DemandArgs } from "../../../src/wire/answers.js";
import { areEnough, areFull, fitsFew, looksFurther } from "../../../src/engine/sharding/looks.js";
import { advance, charged, fullShard, type Shard, splitTo } from "../../../src/engine/sharding/shard.js";

const NOW = 1_700_000_000_000;
const terms = { rate: 1024, period: 1000, shards: 1024 } as const;
const bucket: RateLimitConfig = { kind: "token bucket", ...terms };
const fixed: RateLimitConfig = { kind: "fixed window", start: 0, ...terms };
const sliding: RateLimitConfig = { kind: "sliding window", ...terms };

it.each<[what: string, config: RateLimitConfig, asked: DemandArgs, expected: boolean]>([
  ["for a fixed window", fixed, {}, true],
  ["for a sliding window", sliding, {}, true],
  ["for a count that a window adds within 50 ms", sliding, { count: 51 }, true],
  ["not for a count that takes a window longer", sliding, { count: 52 }, false],
  ["not for a reservation", { ...fixed, maxReserved: 10 }, { reserve: true }, false],
  ["not for a window that saves tokens", { ...fixed, capacity: 1025 }, {}, false],
  ["not for a token bucket", bucket, {}, false],
])("a call may read more than two rows before it is denied, %s", (_what, config, asked, expected) => {
  const limit = parseLimit("some", config);
  expect(looksFurther(limit, demandOf(limit, asked))).toBe(expected);
});

/** The first rows of a limit that is split into 2^level rows. `holding` has the tokens in each. */
function rowsOf(config: RateLimitConfig, level: number, holding: readonly number[]): Shard[] {
  const limit = parseLimit("some", config);
  const rows = splitTo(limit, fullShard(limit), level, NOW).slice(0, holding.length);
  return rows.map((row, i) => {
    const units = row.limit.capacity - (holding[i] ?? 0) * limit.unitsPerToken;
    return charged(advance(row, NOW), units);
  });
}
const each = (rows: number, tokens: number) => Array<number>(rows).fill(tokens);

// The limit has 1,024 tokens. A row has 2 of them at level 9, 4 at level 8, and 64 at level 4.
it.each<[what: string, config: RateLimitConfig, level: number, holding: number[], count: number, expected: boolean]>([
  ["five with many tokens", fixed, 4, each(5, 0), 1, false],
  ["six with many tokens", fixed, 4, each(6, 0), 1, true],
  ["five with 4 tokens", fixed, 8, each(5, 0), 1, false],
  ["nine with 4 tokens, 36 in all", fixed, 8, each(9, 0), 1, false],
  ["ten with 4 tokens, 40 in all", fixed, 8, each(10, 0), 1, true],
  ["eleven with 4 tokens, which are fewer than eight counts of 6", fixed, 8, each(11, 0), 6, false],
  ["twelve with 4 tokens, which are eight counts of 6", fixed, 8, each(12, 0), 6, true],
  ["nineteen with 2 tokens, 38 in all", fixed, 9, each(19, 0), 1, false],
  ["twenty with 2 tokens, 40 in all", fixed, 9, each(20, 0), 1, true],
  ["twenty with 1 token", fixed, 10, each(20, 0), 1, true],
  ["six of a sliding window", sliding, 4, each(6, 0), 1, true],
  ["five that nothing came back to", sliding, 4, each(5, 0), 10, false],
  ["five that are full and were never taken from", sliding, 8, each(5, 4), 24, false],
  ["five of a token bucket, which does not know what came back last", bucket, 8, each(5, 1), 24, false],
  ["two of a fixed window, whose tokens come back together", fixed, 4, each(2, 0), 10, false],
])("rows that are short of a count are enough for its denial: %s", (_what, config, level, holding, count, expected) => {
  const rows = rowsOf(config, level, holding);
  const limit = parseLimit("some", config);
  expect(areEnough(limit, rows, NOW, count * limit.unitsPerToken)).toBe(expected);
});

/** A row for 64 tokens that holds `held` of them. The others were taken now, `waitMs` after the previous ones had come back. */
function taken(waitMs: number, held: number): Shard {
  const [row] = rowsOf(sliding, 4, [held]) as [Shard];
  // In a row that was never taken from, nothing had come back.
  if (waitMs === Infinity) return row;
  const recent = [{ at: NOW - terms.period - waitMs, units: 3 }, ...(row.state.recent ?? [])];
  return { ...row, state: { ...row.state, recent } };
}

// A token comes back in 1000/64 ms, which count twice: two tokens in each of three rows are 187.5 ms.
it.each<[what: string, waits: number[], held: number, count: number, expected: boolean]>([
  ["29 ms, two rows", [0, 29], 0, 1, true],
  ["30 ms, two rows", [15, 15], 0, 1, false],
  ["59 ms, three rows", [0, 9, 50], 0, 1, true],
  ["60 ms, three rows", each(3, 20), 0, 1, false],
  ["no time, but one row was never taken from", [...each(4, 0), Infinity], 0, 1, false],
  ["479 ms, three rows, for more than one", [159, 160, 160], 0, 4, true],
  ["480 ms, three rows, for more than one", each(3, 160), 0, 4, false],
  ["292 ms, three rows that hold two each", [97, 97, 98], 2, 10, true],
  ["293 ms, three rows that hold two each", [97, 98, 98], 2, 10, false],
])("rows of a sliding window are enough if tokens do not wait long: %s", (_what, waits, held, count, expected) => {
  const limit = parseLimit("some", sliding);
  const rows = waits.map((wait) => taken(wait, held));
  expect(areEnough(limit, rows, NOW, count * limit.unitsPerToken)).toBe(expected);
});

describe("a count larger than a row's share", () => {
  it.each([
    ["ten with 4 tokens", 8, 20],
    ["twenty with 2 tokens", 9, 20],
    ["twenty with 1 token", 10, 10],
    ["six with 16 tokens", 6, 48],
  ])("fits a few rows if it is at most half of what a call reads, %s", (_what, level, most) => {
    const [row] = rowsOf(fixed, level, [0]) as [Shard];
    const { unitsPerToken } = row.limit;
    expect([most, most + 1].map((count) => fitsFew(row, count * unitsPerToken))).toEqual([true, false]);
  });

  it("may fit other rows if the rows that do not hold it are full", () => {
    const rows = [[4, 4, 4], [4, 3, 4], [0], [4]].map((holding) => rowsOf(fixed, 8, holding));
    expect(rows.map((each) => areFull(each, NOW))).toEqual([true, false, false, true]);
  });
});
