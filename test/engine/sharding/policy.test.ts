/** When a row splits and when it folds. */
import { describe, expect, it } from "vitest";
import type { RateLimitConfig } from "convex-rate-limits";
import type { Limit } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/limit.js";
import { areIdle, type Fate, fateOf, isJustWritten } from "../../../src/engine/sharding/policy.js";
import { type Shard, shardAt } from "../../../src/engine/sharding/shard.js";

const NOW = 1_000_000;
const config: RateLimitConfig = { kind: "token bucket", rate: 1024, period: 1000 };
const upTo = (shards: RateLimitConfig["shards"], more: Partial<RateLimitConfig> = {}) =>
  parseLimit("send", { ...config, ...more, shards } as RateLimitConfig);
const limit = upTo(64);
const STAY: Fate = { kind: "stay" };

interface Case {
  limit?: Limit;
  level?: number;
  /** Since the last write. */
  gapMs: number;
  /** Tokens left after the call, of a whole bucket's 1,024. */
  left?: number;
  count?: number;
  key?: string;
  /** The random numbers, one after another. */
  random?: number[];
}

/** The fate of a row, and how many random numbers it has taken. */
function ask({ limit: whole = limit, level = 0, gapMs, left, count = 1, key = "alice", random = [0] }: Case) {
  const { unitsPerToken } = whole;
  const interval = { start: 0, level };
  const full = shardAt(whole, interval, { value: 0, ts: 0 }).limit.capacity;
  const value = left === undefined ? full : left * unitsPerToken;
  const before = shardAt(whole, interval, { value: full, ts: NOW - gapMs });
  const after = shardAt(whole, interval, { value, ts: Math.max(NOW, NOW - gapMs) });
  let used = 0;
  const fate = fateOf(whole, before, after, {
    units: count * unitsPerToken,
    now: NOW,
    key,
    random: () => random[used++] ?? NaN,
  });
  return { fate, used };
}
const fateIn = (given: Case) => ask(given).fate;

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

  it("does not split when it has less than four such counts left, unless that is half of what it holds", () => {
    expect(fateIn({ gapMs: 1, left: 40, count: 10 })).toEqual({ kind: "split" });
    expect(fateIn({ gapMs: 1, left: 39, count: 10 })).toEqual(STAY);
    expect(fateIn({ gapMs: 1, left: 512, count: 250 })).toEqual({ kind: "split" });
    expect(fateIn({ gapMs: 1, left: 511, count: 250 })).toEqual(STAY);
  });

  it("does not split when its halves could not hold two such counts", () => {
    expect(fateIn({ gapMs: 1, count: 256 })).toEqual({ kind: "split" });
    expect(fateIn({ gapMs: 1, count: 257 })).toEqual(STAY);
  });

  it("does not split while tokens are promised", () => {
    const sliding = parseLimit("send", { kind: "sliding window", rate: 100, period: 1000, shards: 8 });
    const state = (at: number) => ({
      value: 90 * sliding.unitsPerToken,
      ts: NOW,
      recent: [{ at, units: 10 * sliding.unitsPerToken }],
    });
    const fate = (at: number) => {
      const before = shardAt(sliding, { start: 0, level: 0 }, { ...state(NOW - 1), ts: NOW - 1 });
      const after = { ...before, state: state(at) };
      return fateOf(sliding, before, after, {
        units: sliding.unitsPerToken,
        now: NOW,
        key: undefined,
        random: () => 0,
      });
    };
    expect([fate(NOW), fate(NOW + 1)]).toEqual([{ kind: "split" }, STAY]);
  });
});

describe("a cold row", () => {
  it("folds after 700 ms, if its neighbours are idle; sooner it stays", () => {
    expect(fateIn({ level: 1, gapMs: 699, random: [1, 0] })).toEqual(STAY);
    expect(fateIn({ level: 1, gapMs: 700, random: [1, 0] })).toEqual({ kind: "fold", level: 0, mustBeIdle: true });
  });

  it("folds the further up the longer it was idle, at most to the whole", () => {
    const levelAfter = (gapMs: number) => fateIn({ level: 6, gapMs, random: [0] });
    expect([700, 1399, 1400, 2800, 5600, 1e9].map(levelAfter)).toEqual(
      [5, 5, 4, 3, 2, 0].map((level) => ({ kind: "fold", level, mustBeIdle: true })),
    );
  });

  it("always folds while there are few rows, and one time in four while there are many", () => {
    expect(fateIn({ level: 2, gapMs: 700, random: [1, 0.999] }).kind).toBe("fold");
    expect(fateIn({ level: 3, gapMs: 700, random: [1, 0.249] }).kind).toBe("fold");
    expect(fateIn({ level: 3, gapMs: 700, random: [1, 0.25] })).toEqual(STAY);
  });

  it("of a limit without keys that chooses its rows itself stays split into 16", () => {
    const auto = upTo("auto");
    const floorOf = (key: string | undefined, whole = auto) => {
      const { limit: share } = shardAt(whole, { start: 0, level: 5 }, { value: 0, ts: 0 });
      const shard = shardAt(whole, { start: 0, level: 5 }, { value: share.capacity, ts: NOW - 1e9 });
      return fateOf(whole, shard, shard, { units: 1, now: NOW, key, random: () => 0.2 });
    };
    expect(floorOf(undefined)).toEqual({ kind: "fold", level: 4, mustBeIdle: true });
    expect(floorOf("alice")).toEqual({ kind: "fold", level: 0, mustBeIdle: true });
    expect(floorOf(undefined, limit)).toEqual({ kind: "fold", level: 0, mustBeIdle: true });
  });

  it("of a limit without keys keeps what such a limit can have, where that is less", () => {
    const small = upTo("auto", { rate: 8, capacity: 8 });
    expect(small.levels.most).toBe(2);
    const shard = shardAt(small, { start: 0, level: 2 }, { value: 0, ts: NOW - 1e9 });
    expect(fateOf(small, shard, shard, { units: 1, now: NOW, key: undefined, random: () => 0 })).toEqual(STAY);
  });
});

describe("bounds on the number of rows", () => {
  const bounded = upTo({ atLeast: 4, atMost: 16 });

  it("split a row that is not split so far at its next write, hot or not", () => {
    expect(fateIn({ limit: bounded, level: 1, gapMs: 1e9, random: [1] })).toEqual({ kind: "split" });
    expect(fateIn({ limit: bounded, level: 1, gapMs: 1e9, left: 0, random: [1] })).toEqual(STAY);
  });

  it("keep a cold row from being folded further", () => {
    expect(fateIn({ limit: bounded, level: 4, gapMs: 1e9, random: [0] })).toEqual({
      kind: "fold",
      level: 2,
      mustBeIdle: true,
    });
    expect(fateIn({ limit: bounded, level: 2, gapMs: 1e9, random: [1, 0] })).toEqual(STAY);
  });

  it("that were lowered fold a row at its next write, whether its neighbours are idle or not", () => {
    const fold: Fate = { kind: "fold", level: 4, mustBeIdle: false };
    for (const gapMs of [0, 1, 1e9]) expect(ask({ limit: bounded, level: 5, gapMs })).toEqual({ fate: fold, used: 0 });
  });
});

describe("neighbours", () => {
  const writtenAgo = (...gaps: number[]): Shard[] =>
    gaps.map((gapMs) => shardAt(limit, { start: 0, level: 1 }, { value: 0, ts: NOW - gapMs }));

  it("are idle when none was written for 350 ms", () => {
    expect(areIdle(writtenAgo(350, 1000), NOW)).toBe(true);
    expect(areIdle(writtenAgo(349, 1000), NOW)).toBe(false);
    expect(areIdle([], NOW)).toBe(true);
  });

  it("are just written when one was this millisecond, or by a clock that is ahead", () => {
    expect(isJustWritten(writtenAgo(5, 0), NOW)).toBe(true);
    expect(isJustWritten(writtenAgo(5, -7), NOW)).toBe(true);
    expect(isJustWritten(writtenAgo(5, 1), NOW)).toBe(false);
  });
});
