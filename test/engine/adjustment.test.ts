/** Charges and refunds of callers and of the wire, in units. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { adjustmentOf, parseAdjustment } from "../../src/engine/adjustment.js";
import { parseLimit } from "../../src/engine/limit.js";
import { bucketAt, requestTo } from "../../src/engine/request.js";
import { MAX_UNITS } from "../../src/engine/units.js";

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 };
const limit = parseLimit("send", config);
const { unitsPerToken } = limit;

describe("the units of an adjustment", () => {
  it("is rounded in the limit's favour", () => {
    expect(parseAdjustment(limit, 1e-12)).toBe(1);
    expect(parseAdjustment(limit, -1e-12) + 0).toBe(0);
    expect(parseAdjustment(limit, 3)).toBe(3 * unitsPerToken);
    expect(parseAdjustment(limit, -3)).toBe(-3 * unitsPerToken);
    expect(parseAdjustment(limit, 0) + 0).toBe(0);
  });

  it("is cut off where no bucket could hold more", () => {
    expect(parseAdjustment(limit, 1e12)).toBe(2 * MAX_UNITS);
    expect(parseAdjustment(limit, -1e12)).toBe(-2 * MAX_UNITS);
  });

  it.each<[unknown, string]>([
    [NaN, "NaN"],
    [Infinity, "Infinity"],
    [1e12 + 1, "1000000000001"],
    [-1e12 - 1, "-1000000000001"],
    ["1", '"1"'],
    [undefined, "undefined"],
  ])("cannot be %s", (count, shown) => {
    expect(() => parseAdjustment(limit, count as number)).toThrow(
      `Rate limit "send": count must be a number from -1e12 to 1e12, got ${shown}.`,
    );
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
