/** What a config may hold, to its very ends, and what it may not: every field of every kind. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { decide } from "../../src/engine/decide.js";
import { parseDemand } from "../../src/engine/request.js";
import { fullState, type Limit } from "../../src/engine/kinds/kind.js";
import { parseChecked, parseLimit } from "../../src/engine/limit.js";
import { fromStored, toStored } from "../../src/engine/units.js";

/** The limit as it applies to a key. */
const at = (limit: Limit, key: string | undefined) => limit.kind.forKey(limit, key);

const NOW = 1_700_000_000_000;
const bucket: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000 };
const window: RateLimitConfig = { kind: "fixed window", rate: 10, period: 1000 };
const sliding: RateLimitConfig = { kind: "sliding window", rate: 10, period: 1000 };

const extremes: [string, RateLimitConfig][] = [
  ["the least rate", { ...bucket, rate: Number.MIN_VALUE, capacity: 1 }],
  ["the greatest rate", { ...bucket, rate: 1e12 }],
  ["the greatest rate of a window", { ...window, rate: 1e12 }],
  ["the least rate of a window", { ...window, rate: 1e-9 }],
  ["the greatest rate of a sliding window", { ...sliding, rate: 1e12 }],
  ["the least rate of a sliding window", { ...sliding, rate: 1e-9 }],
  ["the shortest period", { ...bucket, period: 1e-3 }],
  ["the shortest window", { ...window, period: 1 }],
  ["the shortest sliding window", { ...sliding, period: 1 }],
  ["the steepest rate", { ...bucket, rate: 1e12, period: 1 }],
  ["the longest period", { ...bucket, period: 1e15 }],
  ["the longest window", { ...window, period: 1e15 }],
  ["the longest sliding window", { ...sliding, period: 1e15 }],
  ["no capacity", { ...bucket, capacity: 0 }],
  ["no capacity in a window", { ...window, capacity: 0 }],
  ["the greatest capacity", { ...bucket, capacity: 1e12 }],
  ["the greatest capacity with the least rate", { ...bucket, rate: 1e-6, period: 1e15, capacity: 1e12 }],
  ["no reservations", { ...bucket, maxReserved: 0 }],
  ["the greatest reserve", { ...window, maxReserved: 1e12 }],
  ["one shard", { ...bucket, shards: 1 }],
  ["some shards", { ...window, shards: 7 }],
  ["the most shards", { ...bucket, shards: 2048 }],
  ["shards by themselves", { ...window, shards: "auto" }],
  ["bounds on shards", { ...sliding, shards: { atLeast: 2, atMost: 64 } }],
  ["the earliest start", { ...window, start: -1e15 }],
  ["the latest start", { ...window, start: 1e15 }],
  ["windows that are days of a place", { ...window, period: "day", timeZone: "Europe/Berlin", anchor: 1439 }],
  ["weeks", { ...window, period: "week", anchor: 7 }],
  ["weeks from their first day", { ...window, period: "week", anchor: 1 }],
  ["months", { ...window, period: "month", anchor: 31 }],
];

describe("a config with", () => {
  it.each(extremes)("%s is accepted, serves its capacity and no more, and names whole moments", (_what, config) => {
    const limit = parseLimit("extreme", config);
    const { capacity = config.rate } = config;
    const calendar = typeof config.period === "string" && { timeZone: "UTC" };
    expect(limit.config).toEqual(config.kind === "sliding window" ? config : { ...calendar, ...config, capacity });
    const full = decide(limit, fullState(limit), NOW, parseDemand(limit, { count: capacity }));
    expect(full.status.ok).toBe(true);
    const left = full.taken ? fromStored(limit, toStored(limit, full.taken), undefined) : fullState(limit);
    expect(left.value).toBe(0);
    const reserve = config.maxReserved !== 0;
    const count = Math.min(capacity === 0 ? config.rate : capacity, 1);
    const { status } = decide(limit, left, NOW, parseDemand(limit, { count, reserve }));
    expect(status.ok).toBe(reserve);
    expect([status.retryAt, status.resetAt].every(Number.isInteger)).toBe(true);
    expect(status.retryAt).toBeGreaterThan(NOW);
  });
});

const RATE = "a number above 0 and at most 1e12";
const QUANTITY = "a number at least 0 and at most 1e12";
const WHOLE_MS = "a whole number of milliseconds above 0 and at most 1e15";
const SHARDS = 'a whole number from 1 to 2048, "auto", or { atLeast, atMost } of such numbers';
const NOT_CALENDAR = 'left out unless period is "day", "week" or "month"';
const everyKind = [bucket, window, sliding];

/** Config, and the problem that the error names. */
const bad: [unknown, string][] = [
  ...[null, undefined, 5, "token bucket"].map((config): [unknown, string] => [
    config,
    `config must be an object, got ${config === null ? "null" : JSON.stringify(config)}.`,
  ]),
  ...[undefined, "leaky bucket", "toString", ["token bucket"], null].map((kind): [unknown, string] => [
    { ...bucket, kind },
    `kind must be "token bucket" or "fixed window" or "sliding window", got ${kind === undefined ? "undefined" : JSON.stringify(kind)}.`,
  ]),
  ...everyKind.flatMap((base) =>
    [0, -1, NaN, Infinity, 1e12 + 1, "5", null].map((rate): [unknown, string] => [
      { ...base, rate },
      `rate must be ${RATE}, got ${typeof rate === "string" ? '"5"' : String(rate)}.`,
    ]),
  ),
  ...everyKind.flatMap((base) =>
    [-1, NaN, Infinity, 1e12 + 1, null].map((maxReserved): [unknown, string] => [
      { ...base, maxReserved },
      `maxReserved must be ${QUANTITY}, got ${String(maxReserved)}.`,
    ]),
  ),
  ...everyKind.flatMap((base) =>
    [0, 2049, 1.5, -1, "many", null, {}, { atLeast: 0 }, { atMost: 2049 }, { atLeast: 9, atMost: 8 }, { about: 5 }]
      .filter((shards) => JSON.stringify(shards) !== "{}")
      .map((shards): [unknown, string] => [
        { ...base, shards },
        `shards must be ${SHARDS}, got ${JSON.stringify(shards)}.`,
      ]),
  ),
  ...[bucket, window].flatMap((base) =>
    [-1, NaN, 1e12 + 1].map((capacity): [unknown, string] => [
      { ...base, capacity },
      `capacity must be ${QUANTITY}, got ${capacity}.`,
    ]),
  ),
  ...[0, -1, NaN, 1e15 + 1, "day"].map((period): [unknown, string] => [
    { ...bucket, period },
    `period must be a number above 0 and at most 1e15, got ${period === "day" ? '"day"' : period}.`,
  ]),
  ...[0, -1, NaN, 1e15 + 1, 0.5, undefined].map((period): [unknown, string] => [
    { ...sliding, period },
    `period must be ${WHOLE_MS}, got ${period}.`,
  ]),
  ...[0, -1, NaN, 1e15 + 1, 0.5, "year", "toString", undefined].map((period): [unknown, string] => [
    { ...window, period },
    `period must be ${WHOLE_MS}, or "day", "week" or "month", got ${typeof period === "string" ? JSON.stringify(period) : period}.`,
  ]),
  [{ ...window, period: ["day"] }, `period must be ${WHOLE_MS}, or "day", "week" or "month", got ["day"].`],
  ...[-1e15 - 1, 1e15 + 1, 0.5, NaN].map((start): [unknown, string] => [
    { ...window, start },
    `start must be a whole number of milliseconds at least -1e15 and at most 1e15, got ${start}.`,
  ]),
  [
    { ...window, period: "day", timeZone: "Mars/Base" },
    'timeZone must be the IANA name of a time zone, such as "Europe/Berlin", got "Mars/Base".',
  ],
  [{ ...window, period: "day", anchor: 0.5 }, "anchor must be a whole number, got 0.5."],
  [
    { ...window, period: "day", anchor: 1440 },
    'anchor must be a whole number from 0 to 1439 (period is "day"), got 1440.',
  ],
  [{ ...window, period: "week", anchor: 0 }, 'anchor must be a whole number from 1 to 7 (period is "week"), got 0.'],
  [
    { ...window, period: "month", anchor: 32 },
    'anchor must be a whole number from 1 to 31 (period is "month"), got 32.',
  ],
  [{ ...window, period: "day", start: 5 }, 'start must be left out when period is "day": give anchor, got 5.'],
  [{ ...window, timeZone: "UTC" }, `timeZone must be ${NOT_CALENDAR}, got "UTC".`],
  [{ ...window, anchor: 1 }, `anchor must be ${NOT_CALENDAR}, got 1.`],
  [{ ...bucket, rate: 5, period: 1e-12 }, "period must be at least 5e-12 at this rate, got 1e-12."],
  [{ ...bucket, period: 5e-324 }, "period must be at least 1e-11 at this rate, got 5e-324."],
  [
    { ...bucket, start: 5 },
    '"start" is not a field of a token bucket, which has kind, rate, period, capacity, maxReserved, shards.',
  ],
  [
    { ...window, maxReserve: 5 },
    '"maxReserve" is not a field of a fixed window, which has kind, rate, period, capacity, maxReserved, shards, start, timeZone, anchor.',
  ],
  [
    { ...sliding, capacity: 5 },
    '"capacity" is not a field of a sliding window, which has kind, rate, period, maxReserved, shards.',
  ],
];

describe("a config that is", () => {
  it.each(bad)("%j is refused, and the error names limit, field, value and range", (config, problem) => {
    expect(() => parseLimit("send", config as RateLimitConfig)).toThrow(`Rate limit "send": ${problem}`);
  });

  it("of a kind that is not registered is refused", () => {
    const unknown = { ...bucket, kind: "leaky bucket" as never };
    expect(() => parseChecked("send", unknown)).toThrow("Rate limit kind leaky bucket has fields but no parser.");
  });

  it("of a limit without a proper name is refused", () => {
    expect(() => parseLimit("", bucket)).toThrow("A rate limit's name must be");
  });
});

describe("the number of rows that a limit chooses", () => {
  it.each([bucket, window, sliding])("depends on its tokens a second: $kind", (config) => {
    const { levels } = parseLimit("send", { ...config, rate: 600, period: 2000, shards: "auto" });
    expect(levels).toEqual({ most: 7, least: 0, isAuto: true });
  });
});

describe("the number of rows of a fixed window", () => {
  it("is bounded by what a window brings, and by what is saved: each row gets two tokens of both", () => {
    const mostOf = (rate: number, capacity: number) =>
      parseLimit("send", { kind: "fixed window", rate, period: 1000, capacity, shards: 64 }).levels.most;
    expect([mostOf(1000, 1000), mostOf(4, 1000), mostOf(1000, 4)]).toEqual([6, 1, 1]);
  });
});

describe("the limit of a key", () => {
  it("is the limit itself where nothing depends on the key", () => {
    for (const config of [bucket, sliding, { ...window, start: 7 }, { ...window, period: "day" as const }]) {
      const limit = parseLimit("send", config);
      expect(at(limit, "alice")).toBe(limit);
    }
  });

  it("has windows of its own where the config does not say when they start", () => {
    const limit = parseLimit("send", window);
    const resetAt = (key: string | undefined) =>
      decide(at(limit, key), fullState(limit), NOW, parseDemand(limit, {})).status.resetAt;
    expect(resetAt(undefined)).toBe(decide(limit, fullState(limit), NOW, parseDemand(limit, {})).status.resetAt);
    expect(resetAt("alice")).not.toBe(resetAt("bob"));
  });
});
