/** Charges and refunds in units, from callers and from the wire. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { adjustmentOf, parseAdjustment } from "../../src/engine/adjustment.js";
import { show } from "../../src/engine/misuse.js";
import { bucketOf, requestTo } from "../../src/engine/request.js";
import { MAX_UNITS } from "../../src/engine/units.js";

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 };
const bucket = bucketOf({ name: "send", key: "alice", config });
const { limit } = bucket;
const { unitsPerToken } = limit;

describe("the units of an adjustment", () => {
  it.each([
    // In the limit's favour: a charge is at least what it says, a refund at most that.
    [1.5 / unitsPerToken, 2],
    [-1.5 / unitsPerToken, -1],
    [-1e-12, 0],
    [3, 3 * unitsPerToken],
    [-3, -3 * unitsPerToken],
    [0, 0],
    // No bucket could hold more.
    [1e12, 2 * MAX_UNITS],
    [-1e12, -2 * MAX_UNITS],
  ])("of %d tokens are %d", (count, units) => {
    expect(parseAdjustment(limit, count) + 0).toBe(units);
    expect(adjustmentOf(bucket, { count })).toMatchObject({ asked: { count }, taking: undefined });
  });

  it("of a cancelled reservation equal all that was charged for it", () => {
    const count = 1.5 / unitsPerToken;
    expect(requestTo(bucket, { count }).demand.units).toBe(2);
    const adjusted = adjustmentOf(bucket, { count: -count, at: 7, takenAt: 5 });
    expect(adjusted).toMatchObject({ units: -2, asked: { at: 7 }, taking: { takenAt: 5, startsAt: 7 } });
  });

  it.each([NaN, Infinity, 1e12 + 1, -1e12 - 1, "1", undefined])("cannot be %s", (count) => {
    const problem = `Rate limit "send": count must be a number at least -1e12 and at most 1e12, got ${show(count)}.`;
    expect(() => parseAdjustment(limit, count as number)).toThrow(problem);
    expect(() => adjustmentOf(bucket, { count: count as number })).toThrow(problem);
    expect(() => adjustmentOf(bucket, { count: -1, takenAt: NaN })).toThrow('Rate limit "send": takenAt must be');
  });
});
