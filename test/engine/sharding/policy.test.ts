/** The conditions under which a row splits or folds. */
import { describe, expect, it } from "vitest";
import type { RateLimitConfig } from "convex-rate-limits";
import type { Limit } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { WHOLE } from "../../../src/engine/sharding/interval.js";
import { fastUnits, isFast, levelAfter, levelsFor, spanFor } from "../../../src/engine/sharding/policy.js";
import { shardAt } from "../../../src/engine/sharding/shard.js";

const NOW = 1_000_000;
const config: RateLimitConfig = { kind: "token bucket", rate: 1024, period: 1000 };
const upTo = (shards: RateLimitConfig["shards"], more: Partial<RateLimitConfig> = {}) =>
  parseLimit("send", { ...config, ...more, shards } as RateLimitConfig);
const limit = upTo(64);

interface Case {
  limit?: Limit;
  level?: number;
  /** The ms since the last write. */
  gapMs?: number;
  /** The tokens left after the call. A whole bucket has 1,024. */
  left?: number;
  count?: number;
  reserve?: boolean;
  /** Whether the call found too few tokens in another row. */
  wasShort?: boolean;
  /** The key, or null for a limit without keys. */
  key?: string | null;
  /** The random numbers, in order. */
  random?: number[];
}

/** The level of a row after a call, lower after a fold and higher after a split, and how many random numbers the call used. */
function after(given: Case): { level: number; used: number } {
  const { limit: whole = limit, level = 0, gapMs = 1, left, key = "alice", random = [0], ...called } = given;
  const { count = 1, reserve = false, wasShort = false } = called;
  const { unitsPerToken } = whole;
  const shardOf = (value: number, ts: number) => shardAt(whole, "0".repeat(level), { value, ts });
  const full = shardOf(0, 0).limit.capacity;
  const before = shardOf(full, NOW - gapMs);
  const now = shardOf(left === undefined ? full : left * unitsPerToken, Math.max(NOW, NOW - gapMs));
  let used = 0;
  const demand = { units: count * unitsPerToken, reserve, ...(wasShort && { wasShort }) };
  const bucket = { name: "send", limit: whole, key: key ?? undefined };
  const call = { now: NOW, random: () => random[used++] ?? NaN };
  return { level: levelAfter(bucket, { before, after: now, demand }, call), used };
}

/** The probability that the row splits: the least multiple of 1/1,024 at which it no longer splits. */
function chance(given: Case): number {
  let least = 0;
  while (least < 1 && after({ ...given, random: [least] }).level > (given.level ?? 0)) least += 1 / 1024;
  return least;
}

it.each<[what: string, given: Case[], chances: number[]]>([
  [
    "with a chance that rises with the number of rows, up to 1/2",
    [0, 1, 2, 3, 4, 5].map((level) => ({ level, gapMs: 40 })),
    [1 / 8, 1 / 8, 1 / 4, 1 / 2, 1 / 2, 1 / 2],
  ],
  [
    "with a chance that falls with the time since its last write",
    [1, 20, 40, 80, 160].map((gapMs) => ({ level: 3, gapMs })),
    [1 / 2, 1 / 2, 1 / 2, 1 / 8, 1 / 32],
  ],
  ["also if a clock that is ahead wrote it", [{ level: 3, gapMs: -5000 }], [1 / 2]],
  ["by its gap if enough is left, even if another was short", [{ level: 3, gapMs: 160, wasShort: true }], [1 / 32]],
  ["if it is the whole and is left with less than a count that arrives within 50 ms", [{ left: 0 }], [1 / 8]],
  [
    "with chance 1/4 after any gap if it is left with less than the count and another row was short",
    [-1, 1, 500].map((gapMs) => ({ level: 4, gapMs, left: 0, wasShort: true })),
    [1 / 4, 1 / 4, 1 / 4],
  ],
])("a hot row splits %s", (_what, given, chances) => {
  expect(given.map(chance)).toEqual(chances);
});

const slow = { limit: upTo(64, { rate: 19, capacity: 1024 }), level: 4 };
const slowAtLeast4 = upTo({ atLeast: 4, atMost: 64 }, { rate: 19, capacity: 1024 });
const auto = { limit: upTo("auto"), key: null, random: [1] };
/** A limit that can have four rows. */
const few = upTo("auto", { rate: 8, capacity: 8 });
const bounded = { limit: upTo({ atLeast: 4, atMost: 16 }), random: [1] };
const never = { random: [1] };
const fixed = upTo("auto", { kind: "fixed window" });
const sliding = upTo("auto", { kind: "sliding window" });

/** `level` is the level after the call. The number of random numbers is checked only if `used` is given. */
type Rule = [given: Case, level: number, used?: number];
/** One rule for each value of a field, with the level after the call. */
const by = (field: "gapMs" | "left", levels: Record<number, number>, given: Case = {}): Rule[] =>
  Object.entries(levels).map(([value, level]) => [{ ...given, [field]: Number(value) }, level]);
const rules: Record<string, Rule[]> = {
  "a row never splits in the millisecond of its last write, and draws no random number then": [
    [{ gapMs: 0 }, 0, 0],
    [{ limit: upTo({ atLeast: 8 }), gapMs: 0 }, 0, 0],
  ],
  "a row does not split beyond the limit's highest level": [
    [{ level: 6 }, 6, 0],
    [{ limit: upTo(1) }, 0],
  ],
  "a row that owes stays where its debt is, cold too, or splits into halves that pay it": [
    [{ ...slow, left: -1, random: [1] }, 4],
    [{ level: 4, left: -1, gapMs: 1e9, random: [1] }, 4],
    [{ level: 4, left: -1 }, 5],
  ],
  "a row splits by one level at a time": [0, 1, 4].map((level) => [{ level }, level + 1]),
  "a row does not split when a half would hold less than four such counts": [
    [{ left: 80, count: 10 }, 1],
    [{ left: 79, count: 10 }, 0, 0],
    [{ left: 800, count: 100 }, 1],
    [{ left: 799, count: 100 }, 0, 0],
  ],
  // At 1,024 tokens a second, 51.2 arrive in 50 ms.
  "a row that is the whole and is left with less than the count splits if the count arrives within 50 ms": [
    [{ left: 50, count: 51 }, 1],
    [{ left: 51, count: 51 }, 0],
    [{ left: 51, count: 52 }, 0, 0],
  ],
  "a row that is left with less than the count splits only if it can and if another row was short": [
    [{ level: 6, left: 0, wasShort: true }, 6],
    [{ level: 4, left: 0 }, 4, 0],
    [{ level: 4, left: 1, wasShort: true }, 4, 0],
    [{ level: 4, left: 1, count: 2, wasShort: true }, 5],
  ],
  "a short row of a window splits only for a count of one: a larger count finds all rows short": [
    fixed,
    sliding,
  ].flatMap((limit): Rule[] => [
    [{ limit, level: 4, left: 0, wasShort: true }, 5],
    [{ limit, level: 4, left: 1, count: 2, wasShort: true }, 4, 0],
  ]),
  // Four counts of 8 are 32 tokens. 1,024 tokens hold that 32 times.
  "a reservation splits a row only into parts that can hold four such counts, in debt too": [
    [{ reserve: true }, 1],
    [{ level: 4, reserve: true, count: 8, left: -1 }, 5],
    [{ level: 5, reserve: true, count: 8, left: -1 }, 5, 0],
    [{ level: 5, count: 8, left: -1 }, 6],
  ],
  "a row of a slow limit folds when it is left with less than the count, and draws no random number": [
    ...[{}, { gapMs: 0 }, { gapMs: 1e9 }, { wasShort: true }, { reserve: true }].map((more): Rule => {
      return [{ ...slow, left: 0, ...more }, 3, 0];
    }),
    [{ ...slow, left: 4, count: 5 }, 3, 0],
    [{ ...slow, level: 1, left: 0 }, 0],
    [{ ...slow, left: 5, count: 5 }, 4],
  ],
  "a slow limit that is one row does not change": [
    [{ ...slow, level: 0, left: 0 }, 0, 0],
    [{ limit: slowAtLeast4, left: 0 }, 0, 0],
  ],
  "a cold row folds after 2,000 ms, and not before": [
    [{ level: 1, gapMs: 1999, ...never }, 1],
    [{ level: 1, gapMs: 2000, ...never }, 0],
    [{ level: 6, gapMs: 2000, reserve: true }, 5],
  ],
  "a cold row folds by more levels the longer it was idle, at most to the whole": [
    ...by("gapMs", { 2000: 5, 3999: 5, 4000: 4, 7999: 4, 8000: 3, 16_000: 2, 1e9: 0 }, { level: 6 }),
    [{ level: 6, gapMs: 2000 }, 5, 0],
    [{ level: 3, gapMs: 2000, left: 3 }, 2, 0],
  ],
  "an auto limit without keys splits a row to 1/64 of the whole at its next write, with any random number": [
    ...[0, 1, 5].map((level): Rule => [{ ...auto, level }, 6]),
    [{ ...auto, gapMs: 1999, random: [0] }, 6, 0],
    [{ ...auto, level: 6 }, 6],
    [{ ...auto, level: 6, random: [0] }, 7],
  ],
  "an auto limit without keys splits only into parts that hold four such counts, also reserved ones": [
    ...by("left", { 7: 0, 8: 1, 255: 5, 256: 6 }, auto),
    [{ ...auto, reserve: true, count: 8 }, 5],
  ],
  "an auto limit without keys does not split a cold row, nor a row written in the same millisecond": [
    [{ ...auto, gapMs: 2000 }, 0],
    [{ ...auto, gapMs: 0 }, 0],
  ],
  "an auto limit without keys stays split into 64 rows when it is cold, or into as many as it can have": [
    [{ ...auto, level: 8, gapMs: 1e9 }, 6],
    [{ ...auto, level: 6, gapMs: 1e9 }, 6],
    [{ ...auto, limit: few, level: 2, gapMs: 1e9, random: [0] }, 2],
  ],
  "a fixed window, whose rows all fill at once, is split into 256 rows and stays so, a sliding window into 64": [
    [{ ...auto, limit: fixed }, 8],
    [{ ...auto, limit: fixed, level: 9, gapMs: 1e9 }, 8],
    [{ ...auto, limit: sliding }, 6],
    [{ ...auto, limit: sliding, level: 8, gapMs: 1e9 }, 6],
  ],
  "a bucket with a key, or of a limit with a number of rows, starts as one row and becomes one again": [
    ...[{ key: "alice" }, { limit }].flatMap((other): Rule[] => [
      [{ ...auto, ...other }, 0],
      [{ ...auto, ...other, level: 5, gapMs: 1e9 }, 0],
    ]),
  ],
  "a row splits to the least number of rows at its next write, hot or cold": [
    ...[-1, 1, 1e9].flatMap((gapMs) => [0, 1].map((level): Rule => [{ ...bounded, level, gapMs }, 2, 0])),
    [{ ...bounded, reserve: true }, 2],
    [{ ...bounded, reserve: true, count: 50 }, 2],
    [{ ...bounded, level: 2 }, 2],
  ],
  "a row splits to the least number of rows only while each part holds four such counts": by(
    "left",
    { 1: 0, 7: 0, 8: 1, 15: 1, 16: 2 },
    { ...bounded, gapMs: 1e9 },
  ),
  "a cold row does not fold below the least number of rows": [
    [{ ...bounded, level: 4, gapMs: 1e9, random: [0] }, 2],
    [{ ...bounded, level: 2, gapMs: 1e9, random: [1, 0] }, 2],
  ],
};

it.each(Object.entries(rules))("%s", (_what, all) => {
  for (const [given, level, used] of all) {
    const { level: now, used: drawn } = after(given);
    expect({ ...given, now, drawn }).toEqual({ ...given, now: level, drawn: used ?? drawn });
  }
});

describe("units", () => {
  it("may be split by as many levels as leave four times the demand in each part", () => {
    expect([4, 7, 8, 1024].map((held) => levelsFor(held, 1))).toEqual([0, 0, 1, 8]);
    expect([3, 0, -1].map((held) => levelsFor(held, 1))).toEqual([0, 0, 0]);
    expect(levelsFor(1024, 100)).toBe(1);
  });

  it("are fast if they arrive within 50 ms", () => {
    const { unitsPerToken } = limit;
    expect(fastUnits(limit) / unitsPerToken).toBeCloseTo(51.2, 9);
    expect([51, 52].map((count) => isFast(limit, count * unitsPerToken))).toEqual([true, false]);
    const even = upTo(64, { rate: 1000 });
    expect(isFast(even, 50 * even.unitsPerToken)).toBe(true);
    expect([fastUnits(upTo(1)), isFast(upTo(1), 1)]).toEqual([0, false]);
  });

  it("are taken from the smallest span around a row that can hold four times as many", () => {
    const interval = "1100000";
    const spanOf = (count: number) => spanFor(limit, interval, count * limit.unitsPerToken);
    const spans = ["110000", "110000", "11000", "11000", "11", "1", "1", WHOLE, WHOLE];
    expect([1, 4, 5, 8, 64, 65, 128, 129, 1024].map(spanOf)).toEqual(spans);
  });
});
