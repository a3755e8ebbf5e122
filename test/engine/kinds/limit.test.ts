/** The permitted values of every field of every kind, up to their bounds, and values that are refused. */
import { describe, expect, it } from "vitest";
import type { TokensConfig } from "../../support/configs.js";
import { decide } from "../../../src/engine/decide.js";
import { fullState } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { bucketOf, demandOf } from "../../../src/engine/request.js";
import { show } from "../../../src/engine/misuse.js";
import { fromStored, toStored } from "../../../src/engine/units.js";

const NOW = 1_700_000_000_000;
const timing = { now: NOW, pausedUntil: 0 };
const bucket: TokensConfig = { kind: "token bucket", rate: 10, period: 1000 };
const window: TokensConfig = { kind: "fixed window", rate: 10, period: 1000 };
const sliding: TokensConfig = { kind: "sliding window", rate: 10, period: 1000 };

const extremes: [string, TokensConfig][] = [
  ["the lowest rate", { ...bucket, rate: 1e-12, capacity: 1 }],
  ["the highest rate", { ...bucket, rate: 1e12 }],
  ["the highest rate of a window", { ...window, rate: 1e12 }],
  ["the lowest rate of a window", { ...window, rate: 1e-9 }],
  ["the highest rate of a sliding window", { ...sliding, rate: 1e12 }],
  ["the lowest rate of a sliding window", { ...sliding, rate: 1e-9 }],
  ["the shortest period", { ...bucket, period: 1e-3 }],
  ["the shortest window", { ...window, period: 1 }],
  ["the shortest sliding window", { ...sliding, period: 1 }],
  ["the most tokens per ms", { ...bucket, rate: 1e12, period: 1 }],
  ["the longest period", { ...bucket, period: 1e15 }],
  ["the longest window", { ...window, period: 1e15 }],
  ["the longest sliding window", { ...sliding, period: 1e15 }],
  ["capacity 0", { ...bucket, capacity: 0 }],
  ["capacity 0 in a window", { ...window, capacity: 0 }],
  ["the largest capacity", { ...bucket, capacity: 1e12 }],
  ["the largest capacity with a very low rate", { ...bucket, rate: 1e-6, period: 1e15, capacity: 1e12 }],
  ["no reservations", { ...bucket, maxReserved: 0 }],
  ["the largest reserve", { ...window, maxReserved: 1e12 }],
  ["one shard", { ...bucket, shards: 1 }],
  ["some shards", { ...window, shards: 7 }],
  ["the most shards", { ...bucket, shards: 2048 }],
  ['shards "auto"', { ...window, shards: "auto" }],
  ["bounds for shards", { ...sliding, shards: { atLeast: 2, atMost: 64 } }],
  ["the earliest start", { ...window, start: -1e15 }],
  ["the latest start", { ...window, start: 1e15 }],
  ["days of a time zone", { ...window, period: "day", timeZone: "Europe/Berlin", anchor: 1439 }],
  ["weeks", { ...window, period: "week", anchor: 7 }],
  ["weeks with the lowest anchor", { ...window, period: "week", anchor: 1 }],
  ["months", { ...window, period: "month", anchor: 31 }],
  ["months with the lowest anchor", { ...window, period: "month", anchor: 1 }],
  ["years", { ...window, period: "year", anchor: 12 }],
  ["days with the lowest anchor", { ...window, period: "day", anchor: 0 }],
];

it.each(extremes)(
  "a config with %s is accepted, serves its capacity and no more, and answers with whole ms",
  (_what, config) => {
    const limit = parseLimit("extreme", config);
    const { capacity = config.rate } = config;
    const calendar = typeof config.period === "string" && { timeZone: "UTC" };
    expect(limit.config).toEqual(config.kind === "sliding window" ? config : { ...calendar, ...config, capacity });
    const full = decide(limit, fullState(limit), timing, demandOf(limit, { count: capacity }));
    expect(full.status.ok).toBe(true);
    const left = full.taken ? fromStored(limit, toStored(limit, full.taken), undefined) : fullState(limit);
    expect(left.value).toBe(0);
    const reserve = config.maxReserved !== 0;
    const count = Math.min(capacity === 0 ? config.rate : capacity, 1);
    const { status } = decide(limit, left, timing, demandOf(limit, { count, reserve }));
    expect(status.ok).toBe(reserve);
    expect([status.retryAt, status.resetAt].every(Number.isInteger)).toBe(true);
    expect(status.retryAt).toBeGreaterThan(NOW);
  },
);

const QUANTITY = "a number at least 0 and at most 1e12";
const WHOLE_MS = "a whole number of milliseconds above 0 and at most 1e15";
const SHARDS = 'a whole number from 1 to 2048, "auto", or { atLeast, atMost } of such numbers';
const KIND = '"token bucket" or "fixed window" or "sliding window" or "concurrency"';
const PERIOD = `${WHOLE_MS}, or "day", "week", "month" or "year"`;
const START = "a whole number of milliseconds at least -1e15 and at most 1e15";
const NOT_CALENDAR = 'left out unless period is "day", "week", "month" or "year"';
const every = [bucket, window, sliding];
const by = (period: "day" | "week" | "month" | "year"): TokensConfig[] => [{ ...window, period }];

/** Values that a field of these configs must not have. */
const bad: [configs: TokensConfig[], field: string, permitted: string, values: unknown[]][] = [
  [[bucket], "kind", KIND, [undefined, "leaky bucket", "toString", ["token bucket"], null]],
  [every, "rate", "a number at least 1e-12 and at most 1e12", [0, -1, 5e-324, NaN, Infinity, 1e12 + 1, "5", null]],
  [every, "maxReserved", QUANTITY, [-1, NaN, Infinity, 1e12 + 1, null]],
  [every, "shards", SHARDS, [0, 2049, 1.5, -1, NaN, "1", "Auto", null, true, [], [5], { about: 5 }]],
  [every, "shards", SHARDS, [0, "1", null].map((atLeast) => ({ atLeast }))],
  [every, "shards", SHARDS, [{ atMost: 2049 }, { atLeast: 9, atMost: 8 }, { atLeast: 1, about: 5 }]],
  [[bucket, window], "capacity", QUANTITY, [-1, NaN, 1e12 + 1]],
  [[bucket], "period", "a number above 0 and at most 1e15", [0, -1, NaN, 1e15 + 1, "day"]],
  [[bucket], "period", "at least 1e-11 at this rate", [5e-324, 1e-12]],
  [[{ ...bucket, rate: 5 }], "period", "at least 5e-12 at this rate", [1e-12]],
  [[sliding], "period", WHOLE_MS, [0, -1, NaN, 1e15 + 1, 0.5, undefined]],
  [[window], "period", PERIOD, [0, -1, NaN, 1e15 + 1, 0.5, "hour", "toString", ["day"], undefined]],
  [[window], "start", START, [-1e15 - 1, 1e15 + 1, 0.5, NaN]],
  [by("day"), "start", 'left out when period is "day": give anchor', [5]],
  [by("day"), "timeZone", 'the IANA name of a time zone, such as "Europe/Berlin"', ["Mars/Base"]],
  [[window], "timeZone", NOT_CALENDAR, ["UTC"]],
  [[window], "anchor", NOT_CALENDAR, [1]],
  [by("day"), "anchor", "a whole number", [0.5]],
  [by("day"), "anchor", 'a whole number from 0 to 1439 (period is "day")', [-1, 1440]],
  [by("week"), "anchor", 'a whole number from 1 to 7 (period is "week")', [0, 8]],
  [by("year"), "anchor", 'a whole number from 1 to 12 (period is "year")', [0, 13]],
  [by("month"), "anchor", 'a whole number from 1 to 31 (period is "month")', [0, 32]],
];

describe("a config", () => {
  const refused = (config: unknown, problem: string) => {
    expect(() => parseLimit("send", config as TokensConfig)).toThrow(`Rate limit "send": ${problem}`);
  };

  it.each(bad)("%j is refused if its %s is not %s: the error names the field", (configs, field, permitted, values) => {
    for (const config of configs) {
      for (const value of values) {
        refused({ ...config, [field]: value }, `${field} must be ${permitted}, got ${show(value)}.`);
      }
    }
  });

  it("is refused if it is not an object", () => {
    for (const given of [null, undefined, 5, "token bucket"])
      refused(given, `config must be an object, got ${show(given)}.`);
  });

  const all = "kind, rate, period, capacity, maxReserved, shards";
  it.each([
    [bucket, "start", `a token bucket, which has ${all}.`],
    [window, "maxReserve", `a fixed window, which has ${all}, start, timeZone, anchor.`],
    [sliding, "capacity", "a sliding window, which has kind, rate, period, maxReserved, shards."],
  ])("%j is refused with the field %s, which its kind does not have", (config, field, known) => {
    refused({ ...config, [field]: 5 }, `"${field}" is not a field of ${known}`);
  });

  it("is refused if the limit has no valid name", () => {
    expect(() => parseLimit("", bucket)).toThrow("A rate limit's name must be");
  });
});

it("the limit of a key is the limit itself if nothing depends on the key", () => {
  for (const config of [bucket, sliding, { ...window, start: 7 }, ...by("day")]) {
    const term = { config, limit: parseLimit("send", config) };
    expect(bucketOf({ name: "send", key: "alice", config, term }).limit).toBe(term.limit);
  }
});
