/** What a config may hold, to its very ends. What it may not hold: test/misuse.test.ts. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { parseDemand } from "../../src/engine/request.js";
import { parseLimit } from "../../src/engine/limit.js";
import { toStored } from "../../src/engine/stored.js";
import { decideWhole, fromStored, fullBucket } from "./whole.js";

const NOW = 1_700_000_000_000;
const bucket: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000 };
const window: RateLimitConfig = { kind: "fixed window", rate: 10, period: 1000 };

const extremes: [string, RateLimitConfig][] = [
  ["the least rate", { ...bucket, rate: Number.MIN_VALUE, capacity: 1 }],
  ["the greatest rate", { ...bucket, rate: 1e12 }],
  ["the greatest rate of a window", { ...window, rate: 1e12 }],
  ["the least rate of a window", { ...window, rate: 1e-9 }],
  ["the shortest period", { ...bucket, period: 1e-3 }],
  ["the shortest window", { ...window, period: 1 }],
  ["the longest period", { ...bucket, period: 1e15 }],
  ["the longest window", { ...window, period: 1e15 }],
  ["no capacity", { ...bucket, capacity: 0 }],
  ["no capacity in a window", { ...window, capacity: 0 }],
  ["the greatest capacity", { ...bucket, capacity: 1e12 }],
  ["the greatest capacity with the least rate", { ...bucket, rate: 1e-6, period: 1e15, capacity: 1e12 }],
  ["no reservations", { ...bucket, maxReserved: 0 }],
  ["the greatest reserve", { ...window, maxReserved: 1e12 }],
  ["one shard", { ...bucket, shards: 1 }],
  ["some shards", { ...window, shards: 7 }],
  ["the most shards", { ...bucket, shards: 256 }],
  ["shards by themselves", { ...window, shards: "auto" }],
  ["the earliest start", { ...window, start: -1e15 }],
  ["the latest start", { ...window, start: 1e15 }],
];

describe("a config with", () => {
  it.each(extremes)("%s is accepted, serves its capacity and no more, and names whole moments", (_what, config) => {
    const limit = parseLimit("extreme", config);
    const { capacity = config.rate } = config;
    expect(limit.config).toEqual({ ...config, capacity });
    const full = decideWhole(limit, fullBucket(limit), NOW, parseDemand(limit, { count: capacity }));
    expect(full.status.ok).toBe(true);
    const left = full.next ? fromStored(limit, toStored(limit, full.next)) : fullBucket(limit);
    expect(left.value).toBe(0);
    const reserve = config.maxReserved !== 0;
    const count = Math.min(capacity === 0 ? config.rate : capacity, 1);
    const { status } = decideWhole(limit, left, NOW, parseDemand(limit, { count, reserve }));
    expect(status.ok).toBe(reserve);
    expect([status.retryAt, status.resetAt].every(Number.isInteger)).toBe(true);
    expect(status.retryAt).toBeGreaterThan(NOW);
  });
});
