/** Charges and refunds of callers and of the wire, in units. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { adjustmentOf, parseAdjustment } from "../../src/engine/adjustment.js";
import { parseLimit } from "../../src/engine/limit.js";
import { show } from "../../src/engine/misuse.js";
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

  it.each([NaN, Infinity, 1e12 + 1, -1e12 - 1, "1", undefined])("cannot be %s", (count) => {
    const problem = `Rate limit "send": count must be a number from -1e12 to 1e12, got ${show(count)}.`;
    expect(() => parseAdjustment(limit, count as number)).toThrow(problem);
    expect(() => adjustmentOf(bucketAt(limit, "alice"), { count: count as number })).toThrow(problem);
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
});
