/** How many rows of a window a denial rests on. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { parseLimit } from "../../../src/engine/limit.js";
import { type DemandArgs, parseDemand } from "../../../src/engine/request.js";
import { areEnough, areFull, fitsFew, looksFurther } from "../../../src/engine/sharding/looks.js";
import { adjusted, advance, fullShard, type Shard, splitTo } from "../../../src/engine/sharding/shard.js";

const NOW = 1_700_000_000_000;
const terms = { rate: 1024, period: 1000, shards: 1024 } as const;
const bucket: RateLimitConfig = { kind: "token bucket", ...terms };
const fixed: RateLimitConfig = { kind: "fixed window", start: 0, ...terms };
const sliding: RateLimitConfig = { kind: "sliding window", ...terms };

describe("a call that finds its row short", () => {
  it.each<[what: string, config: RateLimitConfig, asked: DemandArgs, expected: boolean]>([
    ["of a fixed window", fixed, {}, true],
    ["of a sliding window", sliding, {}, true],
    ["of a window for a count that comes back within 50 ms", sliding, { count: 51 }, true],
    ["of a window for a count that takes longer to come back", sliding, { count: 52 }, false],
    ["of a window for a reservation", { ...fixed, maxReserved: 10 }, { reserve: true }, false],
    ["of a window for as much as there is", fixed, { count: 9, atLeast: 1 }, false],
    ["of a window that saves", { ...fixed, capacity: 1025 }, {}, false],
    ["of a token bucket", bucket, {}, false],
  ])("looks at more than two where they may deny, %s", (_what, config, asked, expected) => {
    const limit = parseLimit("some", config);
    expect(looksFurther(limit, parseDemand(limit, asked))).toBe(expected);
  });
});

/** So many of the 2^level rows of a limit, which hold so many tokens each. */
function rowsOf(config: RateLimitConfig, level: number, holding: readonly number[]): Shard[] {
  const limit = parseLimit("some", config);
  const rows = splitTo(limit, fullShard(limit), level, NOW).slice(0, holding.length);
  return rows.map((row, i) => {
    const units = row.limit.capacity - (holding[i] ?? 0) * limit.unitsPerToken;
    return adjusted(advance(row, NOW), { units });
  });
}
const each = (rows: number, tokens: number) => Array<number>(rows).fill(tokens);

describe("rows that are short of a count", () => {
  // Of 2^9 rows each has two tokens of the 1024, of 2^8 four, of 2^4 sixty-four.
  it.each<[what: string, config: RateLimitConfig, level: number, holding: number[], count: number, expected: boolean]>([
    ["five with many tokens", fixed, 4, each(5, 0), 1, false],
    ["six with many tokens", fixed, 4, each(6, 0), 1, true],
    ["five with 4 tokens", fixed, 8, each(5, 0), 1, false],
    ["six with 4 tokens, 24 in all", fixed, 8, each(6, 0), 1, true],
    ["eleven with 2 tokens, 22 in all", fixed, 9, each(11, 0), 1, false],
    ["twelve with 2 tokens, 24 in all", fixed, 9, each(12, 0), 1, true],
    ["two that are short of one", sliding, 4, each(2, 0), 1, false],
    ["two that are empty, for a count of ten", sliding, 4, each(2, 0), 10, true],
    ["two that hold an eighth of it each, on average", sliding, 4, [2, 0], 8, false],
    ["two that hold less than an eighth each", sliding, 4, [1, 0], 8, true],
    ["six that hold an eighth each", sliding, 4, each(6, 1), 8, true],
    ["two of a fixed window, which come back together", fixed, 4, each(2, 0), 10, false],
  ])("are enough for its denial: %s", (_what, config, level, holding, count, expected) => {
    const rows = rowsOf(config, level, holding);
    const limit = parseLimit("some", config);
    expect(areEnough(limit, rows, NOW, count * limit.unitsPerToken)).toBe(expected);
  });
});

describe("a count larger than a row's share", () => {
  it("fits a few rows up to eight shares", () => {
    const [row] = rowsOf(fixed, 8, [0]) as [Shard];
    const { unitsPerToken } = row.limit;
    expect([31, 32, 33].map((count) => fitsFew(row, count * unitsPerToken))).toEqual([true, true, false]);
  });

  it.each([
    [[4, 4, 4], true],
    [[4, 3, 4], false],
    [[0], false],
    [[4], true],
  ])("of rows with four tokens that hold %j: whether they are full is %s", (holding, expected) => {
    expect(areFull(rowsOf(fixed, 8, holding), NOW)).toBe(expected);
  });
});
