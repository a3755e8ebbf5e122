/** Snapshots: the stored rows, and all that is needed to compute the answer at any time. */
import { HOUR, type RateLimitConfig } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import type { FixedWindowConfig } from "../../src/wire/configs.js";
import { describe, expect, it } from "vitest";
import type { Calendar } from "../../src/engine/kinds/calendar.js";
import { type Limit, type State, withUsed } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { pointAt, WHOLE } from "../../src/engine/sharding/interval.js";
import { fullShard, heldByAll, type Shard, shardAt, splitTo } from "../../src/engine/sharding/shard.js";
import { snapshotOf } from "../../src/engine/snapshot.js";
import { NOW } from "./arbitraries.js";

type Part = RateLimitSnapshot["parts"][number];

/** The window starts that a snapshot lists: the first, and each start at which units arrive. */
const startsIn = (runs: Part["runs"]) => [
  ...runs.slice(0, 1).map(({ start }) => start),
  ...runs.flatMap(({ start, period, count = NaN }) =>
    Array.from({ length: count }, (_, i) => start + (i + 1) * period),
  ),
];

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, shards: 4 };
const limit = parseLimit("send", config);
const tokens = (count: number) => count * limit.unitsPerToken;
const run = { start: 0, period: 1, units: tokens(0.01) };
const terms = {
  tokens: 10,
  unitsPerToken: limit.unitsPerToken,
  capacity: limit.capacity,
  mostReserved: limit.capacity + limit.maxReserved,
  least: -limit.maxReserved,
  lastsMs: 0,
  lastStart: 0,
  restMs: 0,
  pausedUntil: 0,
  // Half a token arrives in 50 ms.
  few: tokens(0.5),
  used: 0,
};

describe("a snapshot", () => {
  it("of a bucket without a row has been full since the epoch", () => {
    expect(snapshotOf(limit, [fullShard(limit)])).toEqual({
      name: "send",
      value: 10,
      ts: 0,
      config: { ...config, capacity: 10 },
      ...terms,
      fullAt: 0,
      parts: [{ value: tokens(10), ts: 0, capacity: tokens(10), least: terms.least, runs: [run] }],
    });
  });

  it("of a split bucket has each row, and their sum at the latest write of any row", () => {
    const whole = shardAt(limit, WHOLE, { value: tokens(4), ts: NOW });
    const [left, right] = splitTo(limit, whole, 1, NOW) as [Shard, Shard];
    const later = { ...right, state: { value: tokens(1), ts: NOW + 200 } };
    const half = ({ interval: shard, limit: own }: Shard, value: number, ts: number) => {
      const runs = [{ ...run, start: ts, units: run.units / 2 }];
      return { shard, value, ts, capacity: tokens(5), least: -own.maxReserved, runs };
    };
    expect(snapshotOf(limit, [left, later])).toEqual({
      name: "send",
      // The left half then holds 2 + 1, and the right half 1.
      value: 4,
      ts: NOW + 200,
      config: { ...config, capacity: 10 },
      ...terms,
      runs: [run],
      // The left half lacks 3 tokens and the right half 4 of its 5. Each gets 5 a second.
      fullAt: NOW + 1000,
      parts: [half(left, tokens(2), NOW), half(right, tokens(1), NOW + 200)],
    });
  });

  it.each<[FixedWindowConfig["period"], number]>([
    [999, 1000],
    [1000, 0],
    ["day", 0],
  ])("shows windows of less than a second once a second: %s", (period, restMs) => {
    const windows = parseLimit("short", { kind: "fixed window", rate: 1, period });
    expect(snapshotOf(windows, [fullShard(windows)]).restMs).toBe(restMs);
  });

  it("holds nothing if the capacity is less than a unit", () => {
    const none = parseLimit("none", { kind: "token bucket", rate: 1, period: 1000, capacity: 1e-300 });
    expect(snapshotOf(none, [fullShard(none)])).toMatchObject({ tokens: 0, capacity: 0 });
  });

  it("covers all windows of a fixed length, and calendar windows since the earliest write of a row", () => {
    const windowsFrom = (when: Pick<FixedWindowConfig, "period" | "timeZone">) => {
      const limit = parseLimit("export", { kind: "fixed window", rate: 64, shards: 2, ...when });
      const [left, right] = splitTo(limit, shardAt(limit, WHOLE, { value: 0, ts: NOW }), 1, NOW) as [Shard, Shard];
      const later = { ...right, state: { ...right.state, ts: NOW + 180 * 24 * HOUR } };
      const { windowsFrom, parts } = snapshotOf(limit, [left, later]);
      // For each row it lists only the windows after the row's last write.
      for (const { ts, runs } of parts)
        for (const { start, period, count = Infinity } of runs) expect(start + period * count).toBeGreaterThan(ts);
      return windowsFrom;
    };
    for (const period of [HOUR, "day"] as const) expect(windowsFrom({ period })).toBeLessThanOrEqual(0);
    // The midnight of Berlin before a quarter past eleven in the evening there.
    expect(windowsFrom({ period: "day", timeZone: "Europe/Berlin" })).toBe(Date.UTC(2023, 10, 13, 23));
    expect(snapshotOf(limit, [fullShard(limit)]).windowsFrom).toBeUndefined();
  });

  it("lists the windows that fill each of several rows", () => {
    const when = { period: "day", timeZone: "Europe/Berlin", shards: 2 } as const;
    const days = parseLimit("export", { kind: "fixed window", rate: 4, capacity: 18, ...when });
    const { unitsPerToken } = days;
    const [left, right] = splitTo(days, fullShard(days), 1, 0) as [Shard, Shard];
    const { capacity, maxReserved } = left.limit;
    const units = unitsPerToken * 2;
    const [midnight, ts] = [Date.UTC(2026, 2, 26, 23), Date.UTC(2026, 2, 27, 12)];
    const value = capacity - 4 * unitsPerToken;
    const state = { value, ts, window: { since: midnight + 12 * HOUR, used: 4 * unitsPerToken } };
    const [part] = snapshotOf(days, [{ ...left, state }, right]).parts;
    // Four tokens are missing. The first midnight brings one, since a window with another start began at noon, and each later one
    // brings two. In the third night Berlin's clocks go forward.
    expect(part).toStrictEqual({
      shard: left.interval,
      value,
      ts,
      capacity,
      least: -maxReserved,
      runs: [
        { start: midnight, period: 24 * HOUR, count: 2, units },
        // The next window starts 23 hours after the previous one. Later windows are 24 hours apart again, until October.
        { start: midnight + 47 * HOUR, period: 24 * HOUR, count: 210, units },
        { start: midnight, period: 24 * HOUR, count: 1, units: -unitsPerToken },
      ],
    });
  });

  it("lists ten years of a calendar from the last write, or from 2026 for a bucket that was never used", () => {
    const TEN_YEARS = 10 * 366 * 86_400_000;
    const of = (period: "day" | "week" | "month", timeZone?: string) =>
      parseLimit("export", { kind: "fixed window", rate: 1, period, ...(timeZone && { timeZone }) });
    const zones = [of("day", "Europe/Berlin"), of("week", "Africa/Casablanca"), of("month", "Asia/Kolkata")];
    for (const limit of [...zones, of("month")]) {
      for (const ts of [0, NOW]) {
        const begin = ts || Date.UTC(2026, 0, 1);
        const state = { value: limit.capacity, ts, window: { since: -1e12, used: 0 } };
        const [{ runs }] = snapshotOf(limit, [shardAt(limit, WHOLE, state)]).parts as [Part];
        const { windows } = limit as Limit & { windows: Calendar };
        const last = windows.windowAt(begin + TEN_YEARS);
        const listed = startsIn(runs);
        const first = last - listed.length + 1;
        expect(listed).toEqual(listed.map((_, i) => windows.startOf(first + i)));
        expect(windows.windowAt(begin) - windows.windowAt(listed[0] ?? NaN)).toBeOneOf([0, 1, 2, 3, 4]);
        // The runs that are sent stay small.
        expect(JSON.stringify(runs).length).toBeLessThan(4000);
      }
    }
    for (const limit of [of("day"), of("week")]) {
      expect(snapshotOf(limit, [fullShard(limit)]).parts).toMatchObject([{ runs: [{ units: limit.refill }] }]);
    }
  });

  it("has the start that the key chose, and the log of a sliding window", () => {
    const windows = parseLimit("send", { kind: "fixed window", rate: 1, period: 64 });
    const window = windows.kind.forKey?.(windows, "alice") ?? windows;
    const shown = { kind: "fixed window", rate: 1, capacity: 1, period: 64, start: 27 };
    expect(snapshotOf(window, [fullShard(window)]).config).toEqual(shown);
    const sliding = parseLimit("slide", { kind: "sliding window", rate: 10, period: 1000 });
    const { unitsPerToken, capacity, maxReserved } = sliding;
    const least = capacity - maxReserved;
    const units = 3 * unitsPerToken;
    const taken = {
      value: capacity - units,
      ts: NOW,
      recent: [
        { at: NOW - 9, units: 0 },
        { at: NOW, units },
      ],
    };
    expect(snapshotOf(sliding, [shardAt(sliding, WHOLE, taken)])).toEqual({
      ...{ name: "slide", config: sliding.config, value: 7, ts: NOW, fullAt: NOW + 1000 },
      ...{
        tokens: 10,
        unitsPerToken,
        capacity,
        mostReserved: capacity,
        least,
        lastsMs: 1000,
        lastStart: NOW,
        few: 0,
        used: 0,
      },
      ...{ restMs: 0, pausedUntil: 0 },
      parts: [
        { value: capacity - units, ts: NOW, capacity, least, runs: [{ start: NOW, period: 1000, count: 1, units }] },
      ],
    });
  });

  // The fuzzer found that the snapshot had 0 of 60 tokens although 59 were left, until the next write.
  it("of a sliding window has what is left under the current rate", () => {
    const sliding = (rate: number, period: number) =>
      parseLimit("slide", { kind: "sliding window", rate, period, maxReserved: 0 });
    const [former, raised] = [sliding(1, 1000), sliding(60, 1000)];
    const state = { value: 0, ts: NOW, recent: [{ at: NOW - 500, units: former.unitsPerToken }] };
    expect(former.unitsPerToken).toBe(raised.unitsPerToken);
    expect(snapshotOf(former, [shardAt(former, WHOLE, state)]).value).toBe(0);
    expect(snapshotOf(raised, [shardAt(raised, WHOLE, state)]).value).toBe(59);
  });

  describe("of the largest bucket", () => {
    const rows = (limit: Limit, stateOf: (i: number) => State) =>
      Array.from({ length: 2048 }, (_, i) => shardAt(limit, pointAt(i / 2048), stateOf(i)));
    const slide = parseLimit("send", { kind: "sliding window", rate: 131_072, period: 60_000, shards: 2048 });
    const logs = rows(slide, (i) => {
      const recent = Array.from({ length: 64 }, (_, j) => ({
        at: NOW + 500 * j + (i % 500),
        units: slide.unitsPerToken,
      }));
      return { value: 0, ts: NOW + 32_000, recent };
    });
    const quota = { kind: "fixed window", rate: 4096, capacity: 4096 * 60, period: "month", shards: 2048 } as const;
    const months = parseLimit("send", quota);
    const debts = rows(months, () => ({
      value: -100 * months.unitsPerToken,
      ts: NOW,
      window: { since: NOW, used: 0 },
    }));

    // An override may show it twice. Convex passes 16 MiB.
    it.each([
      ["a sliding window", slide, logs],
      ["months", months, debts],
    ] as const)("has at most 2 MiB: %s", (_what, whole, shards) => {
      expect(JSON.stringify(snapshotOf(whole, shards)).length).toBeLessThan(2 * 2 ** 20);
    });

    it("shows no token of a log sooner than it is there, and all of them when they are", () => {
      // Twice the rows from which on a snapshot joins times.
      const some = logs.slice(0, 256);
      const snapshot = snapshotOf(slide, some);
      const { fullAt, ts, unitsPerToken } = snapshot;
      for (let now = ts; now <= fullAt; now += (fullAt - ts) / 4) {
        const shown = projectRateLimit(snapshot, { now, count: 0 }).value * unitsPerToken;
        expect(shown).toBeLessThanOrEqual(heldByAll(some, now));
        if (now === ts || now === fullAt) expect(shown).toBe(heldByAll(some, now));
      }
    });
  });

  it("says until when the bucket is paused, and what a quota used above a capacity that was lowered", () => {
    expect(snapshotOf(limit, [fullShard(limit)], NOW).pausedUntil).toBe(NOW);
    const quota = (rate: number, capacity = rate) => {
      return parseLimit("quota", { kind: "fixed window", rate, period: "month", capacity });
    };
    const used = (limit: Limit, count: number, value: number) => {
      const window = withUsed({ since: NOW }, count * limit.unitsPerToken);
      const state = { value: value * limit.unitsPerToken, ts: NOW, window };
      return snapshotOf(limit, [shardAt(limit, WHOLE, state)]).used;
    };
    expect([used(quota(100), 150, 0), used(quota(200), 150, 50), used(quota(100), 103, -3)]).toEqual([50, 0, 0]);
    // A pause has used nothing, and tokens that are saved up are no quota.
    expect([used(quota(100), Infinity, 0), used(quota(10, 100), 150, 0)]).toEqual([0, 0]);
  });
});
