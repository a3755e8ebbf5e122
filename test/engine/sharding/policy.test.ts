/** When a row splits and when it folds. */
import { describe, expect, it } from "vitest";
import type { RateLimitConfig } from "convex-rate-limits";
import type { Limit } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/limit.js";
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
  /** Since the last write. */
  gapMs?: number;
  /** Tokens left after the call, of a whole bucket's 1,024. */
  left?: number;
  count?: number;
  reserve?: boolean;
  /** Whether another row was short of the count. */
  wasShort?: boolean;
  /** Whether a token of a sliding window is promised for later. */
  isPromised?: boolean;
  /** null for a limit without keys. */
  key?: string | null;
  /** The random numbers, one after another. */
  random?: number[];
}

/** The level of a row after a call: lower after a fold, higher after a split; and how many random numbers that has taken. */
function after(given: Case): { level: number; used: number } {
  const { limit: whole = limit, level = 0, gapMs = 1, left, key = "alice", random = [0], ...called } = given;
  const { count = 1, reserve = false, wasShort = false, isPromised = false } = called;
  const { unitsPerToken } = whole;
  const shardOf = (value: number, ts: number, more: object = {}) =>
    shardAt(whole, "0".repeat(level), { value, ts, ...more });
  const full = shardOf(0, 0).limit.capacity;
  const before = shardOf(full, NOW - gapMs);
  const promised = isPromised && { recent: [{ at: NOW + 1, units: unitsPerToken }] };
  const now = shardOf(left === undefined ? full : left * unitsPerToken, Math.max(NOW, NOW - gapMs), { ...promised });
  let used = 0;
  const demand = { units: count * unitsPerToken, reserve, ...(wasShort && { wasShort }) };
  const bucket = { name: "send", limit: whole, key: key ?? undefined };
  const call = { now: NOW, random: () => random[used++] ?? NaN };
  return { level: levelAfter(bucket, { before, after: now, demand }, call), used };
}

/** The largest random number, in thousandths, at which the row still splits. */
function chance(given: Case): number {
  let least = 0;
  while (least < 1 && after({ ...given, random: [least] }).level > (given.level ?? 0)) least += 1 / 1024;
  return least;
}

it.each<[what: string, given: Case[], chances: number[]]>([
  [
    "the likelier the more rows there are, and never more often than every other time",
    [0, 1, 2, 3, 4, 5].map((level) => ({ level, gapMs: 40 })),
    [1 / 8, 1 / 8, 1 / 4, 1 / 2, 1 / 2, 1 / 2],
  ],
  [
    "the less often the longer ago it was written",
    [1, 20, 40, 80, 160].map((gapMs) => ({ level: 3, gapMs })),
    [1 / 2, 1 / 2, 1 / 2, 1 / 8, 1 / 32],
  ],
  ["if a clock that is ahead has written it, too", [{ level: 3, gapMs: -5000 }], [1 / 2]],
  ["by its gap if more is left, also when another was short", [{ level: 3, gapMs: 160, wasShort: true }], [1 / 32]],
  ["while it is the whole and left with less than a count that comes within 50 ms", [{ left: 0 }], [1 / 8]],
  [
    "in one of four if it is left with less than the count by a call which found another short, whatever its gap",
    [-1, 1, 500].map((gapMs) => ({ level: 4, gapMs, left: 0, wasShort: true })),
    [1 / 4, 1 / 4, 1 / 4],
  ],
])("a hot row splits %s", (_what, given, chances) => {
  expect(given.map(chance)).toEqual(chances);
});

const slow = { limit: upTo(64, { rate: 19, capacity: 1024 }), level: 4 };
const slowAtLeast4 = upTo({ atLeast: 4, atMost: 64 }, { rate: 19, capacity: 1024 });
const auto = { limit: upTo("auto"), key: null, random: [1] };
/** It can have four rows. */
const few = upTo("auto", { rate: 8, capacity: 8 });
const bounded = { limit: upTo({ atLeast: 4, atMost: 16 }), random: [1] };
const never = { random: [1] };
const fixed = upTo("auto", { kind: "fixed window" });
const sliding = upTo("auto", { kind: "sliding window" });

/** If the number of random numbers is not given, it does not matter. */
type Rule = [given: Case, level: number, used?: number];
/** The levels by the values of one field. */
const by = (field: "gapMs" | "left", levels: Record<number, number>, given: Case = {}): Rule[] =>
  Object.entries(levels).map(([value, level]) => [{ ...given, [field]: Number(value) }, level]);
const rules: Record<string, Rule[]> = {
  "a row never splits in the millisecond in which it was written, and takes no random number then": [
    [{ gapMs: 0 }, 0, 0],
    [{ limit: upTo({ atLeast: 8 }), gapMs: 0 }, 0, 0],
  ],
  "a row does not split further than the limit allows": [
    [{ level: 6 }, 6, 0],
    [{ limit: upTo(1) }, 0],
  ],
  "a row does not split while tokens are promised": [
    [{ limit: sliding }, 1],
    [{ limit: sliding, isPromised: true }, 0, 0],
  ],
  "a row splits by one level, whatever it holds": [0, 1, 4].map((level) => [{ level }, level + 1]),
  "a row does not split when a half would hold less than four such counts": [
    [{ left: 80, count: 10 }, 1],
    [{ left: 79, count: 10 }, 0, 0],
    [{ left: 800, count: 100 }, 1],
    [{ left: 799, count: 100 }, 0, 0],
  ],
  // 1,024 tokens a second are 51.2 in 50 ms.
  "a row that is the whole and left with less than the count splits where the refill brings the count within 50 ms": [
    [{ left: 50, count: 51 }, 1],
    [{ left: 51, count: 51 }, 0],
    [{ left: 51, count: 52 }, 0, 0],
  ],
  "a row that is left with less than the count splits only if it can, and a call has found another short": [
    [{ level: 6, left: 0, wasShort: true }, 6],
    [{ level: 4, left: 0 }, 4, 0],
    [{ level: 4, left: 1, wasShort: true }, 4, 0],
    [{ level: 4, left: 1, count: 2, wasShort: true }, 5],
  ],
  "a row of a window splits so only for a count of one: larger ones find all rows short": [fixed, sliding].flatMap(
    (limit): Rule[] => [
      [{ limit, level: 4, left: 0, wasShort: true }, 5],
      [{ limit, level: 4, left: 1, count: 2, wasShort: true }, 4, 0],
    ],
  ),
  // 1,024 tokens are 10.7 times twelve counts of 8: 8 rows.
  "a row splits for a reservation only into parts that can hold twelve such counts": [
    [{ reserve: true }, 1],
    [{ level: 2, reserve: true, count: 8 }, 3],
    [{ level: 3, reserve: true, count: 8 }, 3, 0],
    [{ level: 3, count: 8 }, 4],
  ],
  "a row of a slow limit folds when it is left with less than the count, and takes no random number": [
    ...[{}, { gapMs: 0 }, { gapMs: 1e9 }, { wasShort: true }, { reserve: true }].map((more): Rule => [
      { ...slow, left: 0, ...more },
      3,
      0,
    ]),
    [{ ...slow, left: 4, count: 5 }, 3, 0],
    [{ ...slow, level: 1, left: 0 }, 0],
    [{ ...slow, left: 5, count: 5 }, 4],
  ],
  "the whole of a slow limit stays as it is": [
    [{ ...slow, level: 0, left: 0 }, 0, 0],
    [{ limit: slowAtLeast4, left: 0 }, 0, 0],
  ],
  "a cold row folds after 2,000 ms; sooner it stays": [
    [{ level: 1, gapMs: 1999, ...never }, 1],
    [{ level: 1, gapMs: 2000, ...never }, 0],
    [{ level: 6, gapMs: 2000, reserve: true }, 5],
  ],
  "a cold row folds the further up the longer it was idle, at most to the whole": [
    ...by("gapMs", { 2000: 5, 3999: 5, 4000: 4, 7999: 4, 8000: 3, 16_000: 2, 1e9: 0 }, { level: 6 }),
    [{ level: 6, gapMs: 2000 }, 5, 0],
    [{ level: 3, gapMs: 2000, left: 3 }, 2, 0],
  ],
  "a limit without keys that chooses its rows splits a row into 64 of the whole at its next write, whatever is drawn": [
    ...[0, 1, 5].map((level): Rule => [{ ...auto, level }, 6]),
    [{ ...auto, gapMs: 1999, random: [0] }, 6, 0],
    [{ ...auto, level: 6 }, 6],
    [{ ...auto, level: 6, random: [0] }, 7],
  ],
  "it splits no further than so that each part holds four such counts, or can hold twelve that are reserved": [
    ...by("left", { 7: 0, 8: 1, 255: 5, 256: 6 }, auto),
    [{ ...auto, reserve: true, count: 8 }, 3],
  ],
  "it does not split at once a row that is cold, nor in the same millisecond": [
    [{ ...auto, gapMs: 2000 }, 0],
    [{ ...auto, gapMs: 0 }, 0],
  ],
  "it stays split into 64 when it cools down, or into what it can have": [
    [{ ...auto, level: 8, gapMs: 1e9 }, 6],
    [{ ...auto, level: 6, gapMs: 1e9 }, 6],
    [{ ...auto, limit: few, level: 2, gapMs: 1e9, random: [0] }, 2],
  ],
  "a fixed window, whose rows all fill up at once, is split into 256 and stays so, a sliding one into 64": [
    [{ ...auto, limit: fixed }, 8],
    [{ ...auto, limit: fixed, level: 9, gapMs: 1e9 }, 8],
    [{ ...auto, limit: sliding }, 6],
    [{ ...auto, limit: sliding, level: 8, gapMs: 1e9 }, 6],
  ],
  "buckets with a key and limits with a number of rows start as one row, and become one again": [
    ...[{ key: "alice" }, { limit }].flatMap((other): Rule[] => [
      [{ ...auto, ...other }, 0],
      [{ ...auto, ...other, level: 5, gapMs: 1e9 }, 0],
    ]),
  ],
  "a row splits down to the least number at its next write, hot or not": [
    ...[-1, 1, 1e9].flatMap((gapMs) => [0, 1].map((level): Rule => [{ ...bounded, level, gapMs }, 2, 0])),
    [{ ...bounded, reserve: true }, 2],
    [{ ...bounded, reserve: true, count: 50 }, 2],
    [{ ...bounded, level: 2 }, 2],
  ],
  "a row splits to the least number only as far as each part holds four such counts": by(
    "left",
    { 1: 0, 7: 0, 8: 1, 15: 1, 16: 2 },
    { ...bounded, gapMs: 1e9 },
  ),
  "a cold row is not folded below the least number": [
    [{ ...bounded, level: 4, gapMs: 1e9, random: [0] }, 2],
    [{ ...bounded, level: 2, gapMs: 1e9, random: [1, 0] }, 2],
  ],
  "a row folds at its next write if the most was lowered": [0, 1, 1e9].map((gapMs) => [
    { ...bounded, level: 5, gapMs, random: [0] },
    4,
    0,
  ]),
};

it.each(Object.entries(rules))("%s", (_what, all) => {
  for (const [given, level, used] of all) {
    const { level: now, used: drawn } = after(given);
    expect({ ...given, now, drawn }).toEqual({ ...given, now: level, drawn: used ?? drawn });
  }
});

describe("units", () => {
  it("may be split down so many levels that each part holds four times the demand", () => {
    expect([4, 7, 8, 1024].map((held) => levelsFor(held, 1))).toEqual([0, 0, 1, 8]);
    expect([3, 0, -1].map((held) => levelsFor(held, 1))).toEqual([0, 0, 0]);
    expect(levelsFor(1024, 100)).toBe(1);
    expect([11, 12, 24].map((held) => levelsFor(held, 1, 12))).toEqual([0, 0, 1]);
  });

  it("are fast when the refill brings them within 50 ms", () => {
    const { unitsPerToken } = limit;
    expect(fastUnits(limit) / unitsPerToken).toBeCloseTo(51.2, 9);
    expect([51, 52].map((count) => isFast(limit, count * unitsPerToken))).toEqual([true, false]);
    const even = upTo(64, { rate: 1000 });
    expect(isFast(even, 50 * even.unitsPerToken)).toBe(true);
    expect([fastUnits(upTo(1)), isFast(upTo(1), 1)]).toEqual([0, false]);
  });

  it("that are much for a row are taken from the smallest span around it that can hold four times as many", () => {
    const interval = "1100000";
    const spanOf = (count: number) => spanFor(limit, interval, count * limit.unitsPerToken);
    expect([1, 4, 5, 8, 64, 65, 128, 129, 1024].map(spanOf)).toEqual([
      "110000",
      "110000",
      "11000",
      "11000",
      "11",
      "1",
      "1",
      WHOLE,
      WHOLE,
    ]);
  });
});
