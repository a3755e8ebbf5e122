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

/** What becomes of a row: the level is that of a split or of a fold. */
type Change = { kind: "stay" } | { kind: "split"; level: number } | { kind: "fold"; level: number };
const STAY: Change = { kind: "stay" };
function changeOf(from: number, level: number): Change {
  if (level === from) return STAY;
  return { kind: level > from ? "split" : "fold", level };
}

interface Case {
  limit?: Limit;
  level?: number;
  /** Since the last write. */
  gapMs: number;
  /** Tokens left after the call, of a whole bucket's 1,024. */
  left?: number;
  count?: number;
  reserve?: boolean;
  /** Whether another row was short of the count. */
  wasShort?: boolean;
  /** null for a limit without keys. */
  key?: string | null;
  /** The random numbers, one after another. */
  random?: number[];
}

/** The fate of a row, and how many random numbers it has taken. */
function ask(given: Case) {
  const {
    limit: whole = limit,
    level = 0,
    gapMs,
    left,
    count = 1,
    reserve = false,
    key = "alice",
    random = [0],
  } = given;
  const { unitsPerToken } = whole;
  const interval = "0".repeat(level);
  const full = shardAt(whole, interval, { value: 0, ts: 0 }).limit.capacity;
  const value = left === undefined ? full : left * unitsPerToken;
  const before = shardAt(whole, interval, { value: full, ts: NOW - gapMs });
  const after = shardAt(whole, interval, { value, ts: Math.max(NOW, NOW - gapMs) });
  let used = 0;
  const { wasShort } = given;
  const demand = { units: count * unitsPerToken, reserve, ...(wasShort !== undefined && { wasShort }) };
  const bucket = { name: "send", limit: whole, key: key ?? undefined };
  const call = { now: NOW, random: () => random[used++] ?? NaN };
  const fate = changeOf(level, levelAfter(bucket, before, after, demand, call));
  return { fate, used };
}
const fateIn = (given: Case) => ask(given).fate;
const splitTo = (level: number): Change => ({ kind: "split", level });

/** The largest random number, in thousandths, at which the row still splits. */
function chance(given: Case): number {
  let least = 0;
  while (least < 1 && fateIn({ ...given, random: [least] }).kind === "split") least += 1 / 1024;
  return least;
}

describe("a hot row", () => {
  it("splits, the likelier the more rows there are, and never more often than every other time", () => {
    expect([0, 1, 2, 3, 4, 5].map((level) => chance({ level, gapMs: 40 }))).toEqual([
      1 / 8,
      1 / 8,
      1 / 4,
      1 / 2,
      1 / 2,
      1 / 2,
    ]);
  });

  it("splits the less often the longer ago it was written", () => {
    expect([1, 20, 40, 80, 160].map((gapMs) => chance({ level: 3, gapMs }))).toEqual([
      1 / 2,
      1 / 2,
      1 / 2,
      1 / 8,
      1 / 32,
    ]);
  });

  it("is one that a clock which is ahead has written, too", () => {
    expect(chance({ level: 3, gapMs: -5000 })).toBe(1 / 2);
  });

  it("never splits in the millisecond in which it was written, and takes no random number then", () => {
    expect(ask({ gapMs: 0 })).toEqual({ fate: STAY, used: 0 });
    expect(ask({ limit: upTo({ atLeast: 8 }), gapMs: 0 })).toEqual({ fate: STAY, used: 0 });
  });

  it("does not split further than the limit allows", () => {
    expect(ask({ level: 6, gapMs: 1 })).toEqual({ fate: STAY, used: 0 });
    expect(fateIn({ limit: upTo(1), gapMs: 1 })).toEqual(STAY);
  });

  it("splits by one level, whatever it holds", () => {
    expect([0, 1, 4].map((level) => fateIn({ level, gapMs: 1 }))).toEqual([1, 2, 5].map(splitTo));
  });

  it("does not split when a half would hold less than four such counts", () => {
    expect(fateIn({ gapMs: 1, left: 80, count: 10 })).toEqual(splitTo(1));
    expect(ask({ gapMs: 1, left: 79, count: 10 })).toEqual({ fate: STAY, used: 0 });
    expect(fateIn({ gapMs: 1, left: 800, count: 100 })).toEqual(splitTo(1));
    expect(ask({ gapMs: 1, left: 799, count: 100 })).toEqual({ fate: STAY, used: 0 });
  });

  it("that is the whole and left with less than the count splits where the refill brings the count within 50 ms", () => {
    // 1,024 tokens a second are 51.2 in 50 ms.
    expect(fateIn({ gapMs: 1, left: 50, count: 51 })).toEqual(splitTo(1));
    expect(fateIn({ gapMs: 1, left: 51, count: 51 })).toEqual(STAY);
    expect(ask({ gapMs: 1, left: 51, count: 52 })).toEqual({ fate: STAY, used: 0 });
    expect(chance({ gapMs: 1, left: 0 })).toBe(1 / 8);
  });

  it("that is left with less than the count by a call which found another short splits in one of four, whatever its gap", () => {
    for (const gapMs of [-1, 1, 500]) expect(chance({ level: 4, gapMs, left: 0, wasShort: true })).toBe(1 / 4);
    expect(fateIn({ level: 6, gapMs: 1, left: 0, wasShort: true })).toEqual(STAY);
    expect(ask({ level: 4, gapMs: 1, left: 0 })).toEqual({ fate: STAY, used: 0 });
    expect(ask({ level: 4, gapMs: 1, left: 1, wasShort: true })).toEqual({ fate: STAY, used: 0 });
  });

  it("splits for a reservation only into parts that can hold twelve such counts", () => {
    expect(fateIn({ gapMs: 1, reserve: true })).toEqual(splitTo(1));
    // 1,024 tokens are 10.7 times twelve counts of 8: 8 rows.
    expect(fateIn({ level: 2, gapMs: 1, reserve: true, count: 8 })).toEqual(splitTo(3));
    expect(ask({ level: 3, gapMs: 1, reserve: true, count: 8 })).toEqual({ fate: STAY, used: 0 });
    expect(fateIn({ level: 3, gapMs: 1, count: 8 })).toEqual(splitTo(4));
  });

  it("does not split while tokens are promised", () => {
    const sliding = parseLimit("send", { kind: "sliding window", rate: 100, period: 1000, shards: 8 });
    const state = (at: number) => ({
      value: 90 * sliding.unitsPerToken,
      ts: NOW,
      recent: [{ at, units: 10 * sliding.unitsPerToken }],
    });
    const fate = (at: number) => {
      const before = shardAt(sliding, WHOLE, { ...state(NOW - 1), ts: NOW - 1 });
      const after = { ...before, state: state(at) };
      const demand = { units: sliding.unitsPerToken, reserve: false };
      const bucket = { name: "send", limit: sliding, key: undefined };
      return changeOf(0, levelAfter(bucket, before, after, demand, { now: NOW, random: () => 0 }));
    };
    expect([fate(NOW), fate(NOW + 1)]).toEqual([splitTo(1), STAY]);
  });
});

describe("a row of a limit whose refill does not bring the count within 50 ms", () => {
  const slow = upTo(64, { rate: 19, capacity: 1024 });
  const fate = (given: Partial<Case>) => ask({ limit: slow, level: 4, gapMs: 1, ...given });

  it("folds with its neighbours when it is left with less than the count, and takes no random number", () => {
    const fold: Change = { kind: "fold", level: 3 };
    for (const more of [
      {},
      { gapMs: 0 },
      { gapMs: 1e9 },
      { wasShort: true },
      { reserve: true },
      { left: 4, count: 5 },
    ]) {
      expect(fate({ left: 0, ...more })).toEqual({ fate: fold, used: 0 });
    }
    expect(fate({ level: 1, left: 0 }).fate).toMatchObject({ level: 0 });
    expect(fate({ left: 5, count: 5 }).fate).toEqual(STAY);
  });

  it("stays as it is when it is the whole", () => {
    expect(fate({ level: 0, left: 0 })).toEqual({ fate: STAY, used: 0 });
    const most = upTo({ atLeast: 4, atMost: 64 }, { rate: 19, capacity: 1024 });
    expect(fate({ limit: most, level: 0, left: 0 })).toEqual({ fate: STAY, used: 0 });
  });
});

describe("a cold row", () => {
  const fold = (level: number): Change => ({ kind: "fold", level });

  it("folds after 2,000 ms; sooner it stays", () => {
    expect(fateIn({ level: 1, gapMs: 1999, random: [1] })).toEqual(STAY);
    expect(fateIn({ level: 1, gapMs: 2000, random: [1] })).toEqual(fold(0));
  });

  it("folds the further up the longer it was idle, at most to the whole", () => {
    const levelAfter = (gapMs: number) => fateIn({ level: 6, gapMs });
    expect([2000, 3999, 4000, 7999, 8000, 16_000, 1e9].map(levelAfter)).toEqual([5, 5, 4, 4, 3, 2, 0].map(fold));
  });

  it("takes one random number where it could split instead, none where it could not", () => {
    for (const level of [1, 2, 3, 5]) expect(ask({ level, gapMs: 2000, random: [1] })).toMatchObject({ used: 1 });
    expect(ask({ level: 6, gapMs: 2000 })).toEqual({ fate: fold(5), used: 0 });
    expect(ask({ level: 3, gapMs: 2000, left: 3 })).toEqual({ fate: fold(2), used: 0 });
  });

  it("never folds the whole", () => {
    expect(fateIn({ gapMs: 1e9, random: [1] })).toEqual(STAY);
  });

  it("folds after a reservation, too", () => {
    expect(fateIn({ level: 6, gapMs: 2000, reserve: true })).toEqual(fold(5));
  });
});

describe("a limit without keys that chooses its rows itself", () => {
  const auto = upTo("auto");
  const fate = (given: Partial<Case>) => fateIn({ limit: auto, key: null, gapMs: 1, random: [1], ...given });

  it("splits a row into 64 of the whole at its next write, whatever the random number", () => {
    expect([0, 1, 5].map((level) => fate({ level }))).toEqual([6, 6, 6].map(splitTo));
    expect(ask({ limit: auto, key: null, gapMs: 1999 })).toEqual({ fate: splitTo(6), used: 0 });
    expect(fate({ level: 6 })).toEqual(STAY);
    expect(fate({ level: 6, random: [0] })).toEqual(splitTo(7));
  });

  it("splits a row no further than so that each part holds four such counts", () => {
    expect([256, 255, 8, 7].map((left) => fate({ left }))).toEqual([splitTo(6), splitTo(5), splitTo(1), STAY]);
  });

  it("splits a row for reservations no further than so that each part can hold twelve such counts", () => {
    expect(fate({ reserve: true, count: 8 })).toEqual(splitTo(3));
  });

  it("does not split at once a row that is cold, nor in the same millisecond", () => {
    expect(fate({ gapMs: 2000 })).toEqual(STAY);
    expect(fate({ gapMs: 0 })).toEqual(STAY);
  });

  it("stays split into 64 when it cools down", () => {
    expect(fate({ level: 8, gapMs: 1e9 })).toEqual({ kind: "fold", level: 6 });
    expect(fate({ level: 6, gapMs: 1e9 })).toEqual(STAY);
  });

  it("keeps what such a limit can have, where that is less", () => {
    const small = upTo("auto", { rate: 8, capacity: 8 });
    expect(small.levels.most).toBe(2);
    expect(fate({ limit: small, level: 2, gapMs: 1e9, random: [0] })).toEqual(STAY);
  });

  it("is the only one: buckets with a key and limits with a number of rows start as one row, and become one again", () => {
    for (const other of [{ key: "alice" }, { limit }]) {
      expect(fate(other)).toEqual(STAY);
      expect(fate({ level: 5, gapMs: 1e9, ...other })).toEqual({ kind: "fold", level: 0 });
    }
  });
});

describe("bounds on the number of rows", () => {
  const bounded = upTo({ atLeast: 4, atMost: 16 });

  it("split a row down to the least at its next write, hot or not", () => {
    for (const gapMs of [-1, 1, 1e9]) {
      for (const level of [0, 1]) {
        expect(ask({ limit: bounded, level, gapMs, random: [1] })).toEqual({ fate: splitTo(2), used: 0 });
      }
    }
    expect(fateIn({ limit: bounded, gapMs: 1, reserve: true, random: [1] })).toEqual(splitTo(2));
    expect(fateIn({ limit: bounded, gapMs: 1, reserve: true, count: 50, random: [1] })).toEqual(splitTo(2));
    expect(fateIn({ limit: bounded, level: 2, gapMs: 1, random: [1] })).toEqual(STAY);
  });

  it("split a row only as far as each part holds four such counts", () => {
    expect([16, 15, 8, 7, 1].map((left) => fateIn({ limit: bounded, gapMs: 1e9, left, random: [1] }))).toEqual([
      splitTo(2),
      splitTo(1),
      splitTo(1),
      STAY,
      STAY,
    ]);
  });

  it("keep a cold row from being folded further", () => {
    expect(fateIn({ limit: bounded, level: 4, gapMs: 1e9, random: [0] })).toEqual({ kind: "fold", level: 2 });
    expect(fateIn({ limit: bounded, level: 2, gapMs: 1e9, random: [1, 0] })).toEqual(STAY);
  });

  it("that were lowered fold a row at its next write", () => {
    const fold: Change = { kind: "fold", level: 4 };
    for (const gapMs of [0, 1, 1e9]) expect(ask({ limit: bounded, level: 5, gapMs })).toEqual({ fate: fold, used: 0 });
  });
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
