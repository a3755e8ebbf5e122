/** Arguments of callers and of the wire, as requests that can be trusted. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { parseLimit } from "../../src/engine/limit.js";
import { adjustmentOf } from "../../src/engine/adjustment.js";
import { bucketAt, parseBucket, parseRequest, requestTo } from "../../src/engine/request.js";

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000 };
const limit = parseLimit("send", config);

describe("a request", () => {
  it("is a limit at a key, what the caller said, and the same in units", () => {
    const request = parseRequest({ name: "send", key: "alice", config, count: 2, reserve: { within: 5 } });
    expect(request).toMatchObject({
      limit: { name: "send", capacity: 10 * limit.unitsPerToken },
      key: "alice",
      asked: { count: 2, reserve: { within: 5 } },
      demand: { units: 2 * limit.unitsPerToken, reserve: true, withinMs: 5 },
    });
  });

  it("has the limit as it applies to its key", () => {
    const window: RateLimitConfig = { kind: "fixed window", rate: 10, period: 3_600_000 };
    const startOf = (key?: string) => {
      const own = parseBucket({ name: "send", key, config: window }).limit;
      return own.kind.shownConfig(own);
    };
    expect(startOf("alice")).not.toEqual(startOf("bob"));
    expect(startOf("alice")).toEqual(startOf("alice"));
  });

  it("is refused for a bad name, a bad config, a bad key or a bad count", () => {
    const good = { name: "send", config };
    expect(() => parseRequest({ ...good, name: "" })).toThrow("name must be");
    expect(() => parseRequest({ ...good, config: { ...config, rate: 0 } })).toThrow("rate must be");
    expect(() => parseRequest({ ...good, key: "" })).toThrow('Rate limit "send": key must be a non-empty string');
    expect(() => parseRequest({ ...good, count: -1 })).toThrow("count must be");
    expect(() => bucketAt(limit, "k".repeat(257))).toThrow("key must be at most 256");
    expect(() => requestTo(bucketAt(limit, "alice"), { count: 11 })).toThrow("can never be served");
  });
});

describe("an adjustment", () => {
  const bucket = bucketAt(limit, "alice");
  const unit = 1 / limit.unitsPerToken;

  it("charges at least what it says, and gives back at most that", () => {
    expect(adjustmentOf(bucket, { count: 1.5 * unit })).toMatchObject({ count: 1.5 * unit, units: 2, at: undefined });
    expect(adjustmentOf(bucket, { count: -1.5 * unit }).units).toBe(-1);
  });

  it("of a cancelled reservation gives back all that was charged for it", () => {
    expect(requestTo(bucket, { count: 1.5 * unit }).demand.units).toBe(2);
    expect(adjustmentOf(bucket, { count: -1.5 * unit, at: 7 })).toMatchObject({ units: -2, at: 7 });
  });

  it("is refused for a bad count", () => {
    expect(() => adjustmentOf(bucket, { count: NaN })).toThrow("count must be a number from -1e12 to 1e12, got NaN");
  });
});
