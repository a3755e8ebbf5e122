/** The units of a limit: exact, with room for debts, or refused. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { countIn } from "../../../src/engine/kinds/terms.js";
import { MAX_UNITS } from "../../../src/engine/units.js";
import { forAny } from "../../support/random.js";

const DAY = 86_400_000;

const terms = { rate: 5, per: 1, periodMs: DAY / 24, capacity: 7.5, maxReserved: undefined, shards: undefined };
const counted = (more: Partial<Parameters<typeof countIn>[1]>) => countIn("send", { ...terms, ...more });

describe("the units of a limit", () => {
  it("express rate, capacity and reserve", () => {
    const unitsPerToken = 1_024_000;
    const reserved = { maxReserved: 2.5 * unitsPerToken, mostReserved: 10 * unitsPerToken };
    const units = { refill: 5 * unitsPerToken, capacity: 7.5 * unitsPerToken, ...reserved };
    const levels = { most: 0, least: 0, isAuto: false };
    expect(counted({ maxReserved: 2.5 })).toEqual({ tokens: 7.5, unitsPerToken, periodMs: DAY / 24, ...units, levels });
    expect(counted({}).maxReserved).toBe(MAX_UNITS);
  });

  it("count the largest reserve as exactly as the capacity", () => {
    const { unitsPerToken, maxReserved } = counted({ rate: 1, per: 1000, periodMs: 1, capacity: 1, maxReserved: 1e12 });
    expect(maxReserved).toBe(1e12 * unitsPerToken);
    expect(maxReserved).toBeLessThanOrEqual(2 ** 48);
  });

  it("leave room for debts of 1,000 full buckets and of a day of the rate", () => {
    const rates = fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.constantFrom(1e9, 1e12));
    const periods = fc.constantFrom(1, 1000, 60_000, DAY, 30 * DAY);
    const capacities = fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.constantFrom(1e9, 1e12));
    const kinds = fc.constantFrom("token bucket" as const, "fixed window" as const);
    forAny([kinds, rates, periods, capacities], 500, (kind, rate, period, capacity) => {
      const { unitsPerToken } = parseLimit("send", { kind, rate, period, capacity });
      const debt = Math.max(1000 * capacity, (rate / period) * DAY);
      // If there is less room, a unit is a token.
      if (unitsPerToken > 1) expect(MAX_UNITS / unitsPerToken).toBeGreaterThanOrEqual(debt);
      else expect(unitsPerToken).toBe(1);
    });
  });

  it("arrive whole with each window, at most one part in 10^9 below the rate", () => {
    for (const rate of [1 / 3, Math.PI, 6.703_897_318_907_71, 1e-9, 12_345.678_901_234]) {
      const { refill, unitsPerToken } = counted({ rate, per: "window", capacity: rate });
      expect(Number.isInteger(refill)).toBe(true);
      expect(refill / unitsPerToken).toBeLessThanOrEqual(rate);
      expect(refill / unitsPerToken).toBeGreaterThanOrEqual(rate * (1 - 1e-9));
    }
  });

  it("leave less room for debts if a window would otherwise add too few of them", () => {
    const half = parseLimit("send", { kind: "fixed window", rate: 0.5, period: 1000, capacity: 1e12 });
    // The units per token are too many for debts of 1,000 full buckets.
    expect(half.refill).toBe(half.unitsPerToken / 2);
    expect(MAX_UNITS / half.unitsPerToken).toBeGreaterThanOrEqual(1e12);
    expect(MAX_UNITS / half.unitsPerToken).toBeLessThan(1000 * 1e12);
    const third = parseLimit("send", { kind: "fixed window", rate: 1 / 3, period: 1 });
    const { refill } = third;
    expect(refill / third.unitsPerToken).toBeLessThanOrEqual(1 / 3);
    expect(refill / third.unitsPerToken).toBeGreaterThanOrEqual((1 / 3) * (1 - 1e-9));
    expect(MAX_UNITS / third.unitsPerToken).toBeGreaterThanOrEqual(1000 / 3);
    expect(MAX_UNITS / third.unitsPerToken).toBeLessThan(DAY / 3);
  });

  const third = { kind: "fixed window", rate: 1 / 3, period: 1000 } as const;
  const fine = { kind: "fixed window", rate: 999_999.999, period: 1000 } as const;

  it.each<[config: RateLimitConfig, field: string, most: number | undefined]>([
    [{ ...third, capacity: 1e6 }, "capacity 1000000", 1e5],
    [{ ...third, capacity: 1e9 }, "capacity 1000000000", 1e5],
    [{ ...fine, maxReserved: 1e12 }, "maxReserved 1000000000000", 1e11],
    [{ ...third, rate: 1e-5 / 3, capacity: 50 }, "capacity 50", 1],
    [{ ...third, rate: 1e-6 / 3, capacity: 50 }, "capacity 50", undefined],
    [{ kind: "fixed window", rate: 1e-10, period: 1000 }, "capacity 1e-10", undefined],
    [{ kind: "sliding window", rate: 1e-10, period: 1000 }, "capacity 1e-10", undefined],
  ])("are refused if a window's rate would lose more; the error says what to change: %j", (config, field, most) => {
    const [advised = ""] = field.split(" ");
    const advice = most === undefined ? "" : `, or ${advised} of at most ${most}`;
    expect(() => parseLimit("send", config)).toThrow(
      `Rate limit "send": rate ${config.rate} has too many decimals to be counted with ${field}: each window would bring too little. ` +
        `Use a rate with fewer decimals, such as 0.3333 in place of 1/3${advice}.`,
    );
    // The advised value is accepted.
    if (most !== undefined) expect(parseLimit("send", { ...config, [advised]: most }).name).toBe("send");
  });

  it("count a rate with fewer decimals, as that error advises", () => {
    expect(parseLimit("send", { ...third, rate: 0.3333, capacity: 1e6 }).name).toBe("send");
  });
});
