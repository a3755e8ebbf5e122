/** How many shards a limit gets: what was asked for, rounded up to a power of two, and what "auto" makes of rate and capacity. */
import { DAY, HOUR, MINUTE, type RateLimitConfig, SECOND } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { shardCount } from "../../../src/engine/sharding/shardCount.js";

const bucket = { kind: "token bucket" as const, rate: 1000, period: SECOND, capacity: 2000 };
const rows: [what: string, config: RateLimitConfig, shards: number][] = [
  ["none asked for", bucket, 1],
  ["one", { ...bucket, shards: 1 }, 1],
  ["two", { ...bucket, shards: 2 }, 2],
  ["three, rounded up", { ...bucket, shards: 3 }, 4],
  ["the most", { ...bucket, shards: 256 }, 256],
  ["more than two tokens each allow", { ...bucket, capacity: 20, shards: 256 }, 8],
  ["a capacity of three", { ...bucket, capacity: 3, shards: 16 }, 1],
  ["a capacity of four", { ...bucket, capacity: 4, shards: 16 }, 2],
  [
    "a window that brings fewer tokens than there are shards",
    { kind: "fixed window", rate: 5, period: SECOND, capacity: 100, shards: 16 },
    2,
  ],
  ["no capacity", { ...bucket, capacity: 0, shards: 16 }, 1],
  ["the capacity that defaults to the rate", { kind: "fixed window", rate: 5, period: SECOND, shards: 10 }, 2],
  ["auto at 10 a second", { ...bucket, rate: 10, capacity: 20, shards: "auto" }, 2],
  ["auto at 300 a second", { ...bucket, rate: 300, capacity: 600, shards: "auto" }, 64],
  ["auto at 1,000 a second", { ...bucket, shards: "auto" }, 256],
  ["auto at 3,000 a second", { ...bucket, rate: 3000, capacity: 6000, shards: "auto" }, 256],
  ["auto for 40,000 a minute", { kind: "token bucket", rate: 40_000, period: MINUTE, shards: "auto" }, 256],
  ["auto for one user's messages", { kind: "token bucket", rate: 10, period: MINUTE, shards: "auto" }, 1],
  [
    "auto for a day's million, which may come at once",
    { kind: "fixed window", rate: 1e6, period: DAY, shards: "auto" },
    256,
  ],
  ["auto for an hour's hundred", { kind: "fixed window", rate: 100, period: HOUR, shards: "auto" }, 8],
];

describe("the number of shards for", () => {
  it.each(rows)("%s", (_what, config, shards) => {
    expect(shardCount(config)).toBe(shards);
  });
});
