/** Demands: the request of a caller, in units. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAdjustment } from "../../src/engine/adjustment.js";
import { show } from "../../src/engine/misuse.js";
import { type DemandArgs, isServable, neverServedError, parseDemand, parseRequest } from "../../src/engine/request.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { forAny } from "../support/random.js";

const bucket: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 };
const limit = parseLimit("send", bucket);
const { unitsPerToken } = limit;

describe("a demand", () => {
  it.each<[DemandArgs, object]>([
    [{}, {}],
    [{ count: undefined, reserve: undefined }, {}],
    [{ count: 1, reserve: false }, {}],
    // Counts are rounded up to whole units.
    [{ count: 1e-12 }, { units: 1 }],
    [{ count: 2.5 }, { units: 2.5 * unitsPerToken }],
    [{ reserve: true }, { reserve: true }],
    [{ reserve: { within: Infinity } }, { reserve: true }],
    [{ reserve: { within: 0 } }, { reserve: true, withinMs: 0 }],
    [{ reserve: { within: 250 } }, { reserve: true, withinMs: 250 }],
    [
      { count: 15, reserve: true },
      { units: 15 * unitsPerToken, reserve: true },
    ],
  ])("is one token, taken now, unless the caller says otherwise: %j", (asked, differing) => {
    const plain = { units: unitsPerToken, reserve: false, withinMs: Infinity };
    expect(parseDemand(limit, asked)).toEqual({ ...plain, ...differing });
  });

  const within = { count: 6, atLeast: 2 };
  it.each<[field: string, permitted: string, given: unknown[], other?: object]>([
    ["count", "a finite number of at least 0", [NaN, Infinity, -Infinity, -1, -5e-324, "1", 1n, null, true]],
    [
      "reserve",
      "true, false or { within: a number of milliseconds of at least 0 }",
      [null, 1, "true", {}, { within: -1 }, { within: NaN }, { within: "5" }, { within: 5, from: 0 }, [5]],
    ],
    ["refundable", "true or false", [1, "true", null]],
    ["atLeast", "a number of at least 0 and at most count (6)", [-1, NaN, 6.1, "1", null], { count: 6 }],
  ])("has a %s that is %s", (field, permitted, given, other) => {
    for (const value of given) {
      const asked = { ...other, [field]: value } as DemandArgs;
      const problem = `Rate limit "send": ${field} must be ${permitted}, got ${show(value)}.`;
      expect(() => parseDemand(limit, asked)).toThrow(problem);
    }
  });

  it.each([true, { within: 5 }])("cannot combine atLeast with a reservation: %j", (reserve) => {
    const problem = "atLeast and reserve cannot be combined: atLeast takes only what is there now.";
    expect(() => parseDemand(limit, { ...within, reserve })).toThrow(`Rate limit "send": ${problem}`);
  });

  const bounds = "(rate, capacity and maxReserved say how much).";
  const most = (count: string, size: string) => `${count} can never be served: ${size} ${bounds}`;
  const plainly = "it can hold at most 10";
  const reserving = "with a reservation it can hold at most 15";
  it.each<[DemandArgs, string]>([
    [{ count: 10.001 }, most("count 10.001", plainly)],
    [{ count: 15.001, reserve: true }, most("count 15.001", reserving)],
    [{ count: 16, reserve: { within: 5 } }, most("count 16", reserving)],
    [{ count: 25, atLeast: 10.1 }, most("atLeast 10.1", plainly)],
    // Counts above the largest countable number.
    ...[1e16, 1e300, Number.MAX_VALUE].map((count): [DemandArgs, string] => {
      return [{ count, reserve: true }, most(`count ${count}`, reserving)];
    }),
  ])("that can never be served is an error, since no wait would help: %j", (asked, problem) => {
    const message = `Rate limit "send": ${problem}`;
    expect(() => parseDemand(limit, asked)).toThrow(message);
    expect(neverServedError(limit, asked).message).toBe(message);
  });

  it("equal to the capacity always fits, however the doubles round", () => {
    const kinds: RateLimitConfig[] = [
      { kind: "token bucket", rate: 1, period: 1000 },
      { kind: "fixed window", rate: 1, period: 1000, start: 0 },
      { kind: "sliding window", rate: 1, period: 1000 },
    ];
    const numbers = fc.oneof(
      fc.constantFrom(6.703_897_318_907_71, 1 / 3, 0.1 + 0.2, 1e12, 1e-6),
      fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
    );
    forAny([fc.constantFrom(...kinds), numbers], 1000, (config, capacity) => {
      const own =
        config.kind === "sliding window" || capacity === 1e12 ? { ...config, rate: capacity } : { ...config, capacity };
      const whole = parseLimit("whole", own);
      expect(parseDemand(whole, { count: capacity }).units).toBe(whole.capacity);
      expect(parseAdjustment(whole, capacity)).toBe(whole.capacity);
      expect(parseAdjustment(whole, -capacity)).toBe(-whole.capacity);
    });
  });

  it("can only be reserved if the capacity is less than a unit", () => {
    const tiny = parseLimit("tiny", { ...bucket, capacity: 1e-20 });
    expect(tiny.capacity).toBe(0);
    expect(() => parseDemand(tiny, { count: 1e-20 })).toThrow("count 1e-20 can never be served");
    expect(parseDemand(tiny, { count: 1e-20, reserve: true }).units).toBe(1);
  });
});

describe("a demand with atLeast", () => {
  it.each<[capacity: number, count: number, atLeast: number, tokens: number]>([
    [10, 6, 2, 6],
    [10, 6, 0, 6],
    [10, 6, 6, 6],
    [10, 25, 2.5, 9.5],
    [10, 25, 10, 10],
    [2.5, 2.5, 1, 2.5],
    [2.5, 2.6, 1, 2],
  ])("of capacity %d asks for %d tokens, or for whole ones above %d: %d", (capacity, count, atLeast, tokens) => {
    const own = parseLimit("own", { ...bucket, capacity });
    const demand = parseDemand(own, { count, atLeast, reserve: false });
    expect(demand).toMatchObject({ units: tokens * own.unitsPerToken, reserve: false, withinMs: Infinity });
    expect((demand.atLeast?.units ?? NaN) + 0).toBe(atLeast * own.unitsPerToken);
  });

  it("converts units to tokens: all units are exactly the count", () => {
    const { atLeast } = parseDemand(limit, { count: 6, atLeast: 2.5 });
    expect([2.5, 3.5, 6].map((tokens) => atLeast?.tokens(tokens * unitsPerToken))).toEqual([2.5, 3.5, 6]);
    // atLeast is rounded up to whole units. The rounding must not reduce the count.
    const least = parseDemand(limit, { count: 6, atLeast: 1.5 / unitsPerToken }).atLeast;
    expect(least?.units).toBe(2);
    expect(least?.tokens(6 * unitsPerToken)).toBe(6);
    // A count that is not a whole number of units was also rounded up. A caller that gets all gets exactly that count.
    const third = parseDemand(limit, { count: 2 + 1 / 3, atLeast: 1 / 3 });
    expect(third.atLeast?.tokens(third.units)).toBe(2 + 1 / 3);
    expect(third.atLeast?.tokens(third.atLeast.units)).toBe(1 / 3);
  });
});

describe("a demand of a limit with overrides", () => {
  it("may exceed the limit's own capacity, up to the largest count allowed (1e12)", () => {
    expect(parseDemand(limit, { count: 11 }, true).units).toBe(11 * unitsPerToken);
    expect(parseDemand(limit, { count: 1e12 }, true).units).toBeGreaterThan(limit.capacity);
    expect(() => parseDemand(limit, { count: 1e12 + 1 }, true)).toThrow("count 1000000000001 can never be served");
    const part = parseDemand(limit, { count: 30, atLeast: 20 }, true);
    expect([part.units, part.atLeast?.units]).toEqual([20 * unitsPerToken, 20 * unitsPerToken]);
    expect(parseDemand(limit, { count: 1e12, atLeast: 1e12 }, true).units).toBeGreaterThan(limit.capacity);
    expect(() => parseDemand(limit, { count: 2e12, atLeast: 1e12 + 1 }, true)).toThrow("can never be served");
  });

  it("is checked against the config in force to see if it can be served", () => {
    const overridable = { name: "send", config: bucket, overrides: true };
    const isServed = (asked: DemandArgs) => isServable(parseRequest({ ...overridable, ...asked }));
    expect([9, 10, 10.001, 15].map((count) => isServed({ count }))).toEqual([true, true, false, false]);
    expect([15, 15.001].map((count) => isServed({ count, reserve: true }))).toEqual([true, false]);
  });
});
