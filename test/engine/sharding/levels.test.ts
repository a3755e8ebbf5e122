/** The levels to which a bucket may be split: those that its config asks for, within what rate and capacity allow. */
import type { RateLimitConfig } from "convex-rate-limits";
import { expect, it } from "vitest";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import type { Levels } from "../../../src/engine/sharding/levels.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const bucket = { kind: "token bucket" as const, rate: 1000, period: SECOND, capacity: 2000 };
const asked = (most: number, least = 0): Levels => ({ most, least, isAuto: false });
const auto = (most: number): Levels => ({ most, least: 0, isAuto: true });

const rows: [what: string, config: RateLimitConfig, levels: Levels][] = [
  ["no shards", bucket, asked(0)],
  ["1 row", { ...bucket, shards: 1 }, asked(0)],
  ["2 rows", { ...bucket, shards: 2 }, asked(1)],
  ["at most 3 rows, rounded down to 2", { ...bucket, shards: 3 }, asked(1)],
  ["at most 255 rows, rounded down to 128", { ...bucket, shards: 255 }, asked(7)],
  ["1,024 rows, lowered to 512 by two tokens each", { ...bucket, shards: 1024 }, asked(9)],
  ["1,024 rows", { ...bucket, capacity: 2048, shards: 1024 }, asked(10)],
  ["more rows than two tokens each allow", { ...bucket, capacity: 20, shards: 256 }, asked(3)],
  ["a capacity of three", { ...bucket, capacity: 3, shards: 16 }, asked(0)],
  ["a capacity of four", { ...bucket, capacity: 4, shards: 16 }, asked(1)],
  ["a window that adds few", { kind: "fixed window", rate: 5, period: SECOND, capacity: 100, shards: 16 }, asked(1)],
  ["a window that saves few", { kind: "fixed window", rate: 100, period: SECOND, capacity: 4, shards: 16 }, asked(1)],
  ["a sliding window of twenty", { kind: "sliding window", rate: 20, period: SECOND, shards: 256 }, asked(3)],
  ["capacity 0", { ...bucket, capacity: 0, shards: 16 }, asked(0)],
  ["a capacity that defaults to the rate", { kind: "fixed window", rate: 5, period: SECOND, shards: 10 }, asked(1)],
  ["auto at 10 a second", { ...bucket, rate: 10, capacity: 20, shards: "auto" }, auto(2)],
  ["auto at 300 a second", { ...bucket, rate: 300, capacity: 600, shards: "auto" }, auto(7)],
  ["auto in a window of 300 a second", { kind: "fixed window", rate: 600, period: 2000, shards: "auto" }, auto(7)],
  ["auto in a sliding window", { kind: "sliding window", rate: 600, period: 2000, shards: "auto" }, auto(7)],
  ["auto at 1,000 a second", { ...bucket, shards: "auto" }, auto(9)],
  ["auto at 3,000 a second", { ...bucket, rate: 3000, capacity: 6000, shards: "auto" }, auto(10)],
  ["auto at a million a second", { ...bucket, rate: 1e6, capacity: 1e6, shards: "auto" }, auto(11)],
  ["auto for one user's messages", { kind: "token bucket", rate: 10, period: MINUTE, shards: "auto" }, auto(0)],
  ["auto for a million a day at once", { kind: "fixed window", rate: 1e6, period: DAY, shards: "auto" }, auto(11)],
  ["auto for a hundred an hour", { kind: "fixed window", rate: 100, period: HOUR, shards: "auto" }, auto(4)],
  ["at least 8 rows", { ...bucket, rate: 10, capacity: 20, shards: { atLeast: 8 } }, asked(3, 3)],
  ["at least 5 rows, rounded up to 8", { ...bucket, shards: { atLeast: 5 } }, asked(9, 3)],
  ["at least as many rows as two tokens each allow", { ...bucket, capacity: 20, shards: { atLeast: 64 } }, asked(3, 3)],
  ["at most 64 rows", { ...bucket, shards: { atMost: 64 } }, asked(6)],
  ["at most 64 rows, but it chooses fewer", { ...bucket, rate: 10, capacity: 20, shards: { atMost: 64 } }, asked(2)],
  ["4 to 16 rows", { ...bucket, shards: { atLeast: 4, atMost: 16 } }, asked(4, 2)],
  ["4 to 4 rows", { ...bucket, shards: { atLeast: 4, atMost: 4 } }, asked(2, 2)],
  ["no bounds", { ...bucket, shards: {} }, asked(9)],
];

it.each(rows)("the levels of a limit with %s", (_what, config, levels) => {
  expect(parseLimit("send", config).levels).toEqual(levels);
});
