/** Law 10. Which message each misuse gets is for the table of bad input; here nothing, whatever it is, may open the gate. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isLess, plus, exactly, rational, ZERO } from "../model/rational.js";
import { levelOf, START_OF_WALK } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { T0 } from "./arbitraries.js";
import { enough, inEveryWorld, type Request, runs, type World } from "./world.js";

const extremes = fc.constantFrom(
  ...[NaN, Infinity, -Infinity, -0, 0, 5e-324, 1e-300, 1e300, Number.MAX_VALUE, -1, 2 ** 53, 8.64e15, 1e12, 1e15],
);
const anyNumber = fc.oneof(extremes, fc.double(), fc.integer());
const anything = fc.oneof(anyNumber, fc.anything({ maxDepth: 1 }));
/** Of a reservation: what it may be, and what it may not. */
const reserves = fc.oneof(fc.boolean(), fc.constantFrom(null, 1, "yes", [], {}, { within: NaN }, { within: -1 }));
/** Whose wire may refuse what the package does not see. */
const backends = fc.constantFrom("light" as const, "light" as const, "whole" as const);

/** Whether the request was let through now; an error is a denial. */
async function goes(world: World, request: Request): Promise<boolean> {
  try {
    const { ok, retryAt, remaining, resetAt } = await world.consume(request);
    // Absent when not all rows were read.
    expect([retryAt ?? 0, remaining ?? 0, resetAt ?? 0].every(Number.isFinite)).toBe(true);
    return ok && retryAt === undefined;
  } catch (error) {
    if (error instanceof Error && error.name === "AssertionError") throw error;
    return false;
  }
}

inEveryWorld("Law 10, fail closed: nothing opens the gate", ({ worlds, open, subject }) => {
  it("no count", async () => {
    await fc.assert(
      fc.asyncProperty(
        worlds,
        subject.exact,
        anything,
        reserves,
        backends,
        async (open, config, count, reserve, on) => {
          const world = open(on);
          if (capacityOf(config) > 0) await world.consume({ config, count: capacityOf(config) });
          const before = await world.rows();
          const request = { config, count: count as number, reserve: reserve as boolean };
          const went = await goes(world, request);
          // Nothing, and a count left out of a request for something that is not there, take nothing.
          expect(went && count !== 0).toBe(false);
          if (reserve !== true) expect(await world.rows()).toEqual(before);
          for (const { value } of await world.rows()) expect(Number.isFinite(value)).toBe(true);
        },
      ),
      runs(200),
    );
  });

  it("no config", async () => {
    const odd = fc.option(anyNumber, { nil: undefined });
    const configs = fc.record(
      {
        kind: fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const),
        rate: fc.oneof(anyNumber, fc.constantFrom(1, 1e12)),
        period: fc.oneof(anyNumber, fc.constantFrom(1, 1000)),
        capacity: odd,
        maxReserved: odd,
      },
      { requiredKeys: ["kind", "rate", "period"] },
    );
    let parsed = 0;
    await fc.assert(
      fc.asyncProperty(
        worlds,
        configs,
        fc.array(fc.constantFrom(0.5, 1, "all" as const), { maxLength: 4 }),
        async (open, given, parts) => {
          const world = open();
          const config = given as RateLimitConfig;
          let granted = ZERO;
          const whole = capacityOf(config);
          for (const part of [...parts, "all" as const, 1, "all" as const]) {
            const count = part === "all" ? whole : part;
            if (await goes(world, { config, count })) granted = plus(granted, exactly(count));
          }
          if (!isLess(ZERO, granted)) return;
          parsed++;
          expect(isLess(exactly(whole), granted)).toBe(false);
        },
      ),
      runs(400),
    );
    expect(parsed).toBeGreaterThan(enough(10));
  });

  it("no stored state: a row that cannot be true denies until it is reset, any other grants what it holds", async () => {
    const value = fc.oneof(anyNumber, fc.double({ min: -10, max: 100, noNaN: true }));
    const ts = fc.oneof(anyNumber, fc.integer({ min: T0 - 100_000, max: T0 + 1000 }));
    const seen = { unusable: 0, usable: 0 };
    await fc.assert(
      fc.asyncProperty(worlds, subject.exact, value, ts, async (open, config, value, ts) => {
        const world = open();
        await world.plant({ value, ts });
        const count = capacityOf(config);
        const before = await world.rows();
        const went = count > 0 && (await goes(world, { config, count }));
        const possible = Number.isFinite(value) && Number.isInteger(ts) && ts >= 0 && ts <= 8.64e15;
        if (!possible) {
          seen.unusable++;
          await expect(world.check({ config, count: 0 })).rejects.toThrow(/unusable.*resetRateLimit/);
          expect(await world.rows()).toEqual(before);
          await world.reset({ config });
          expect(await world.check({ config, count })).toMatchObject({ ok: true });
        } else if (went) {
          seen.usable++;
          if (typeof config.period === "string" && ts < START_OF_WALK) return;
          // A row without entries holds what is missing as one entry, of its last write.
          const recent = config.kind === "sliding window" ? [{ at: ts, count: Math.max(0, count - value) }] : undefined;
          const level = levelOf(config, { value, ts, recent }, T0);
          expect(isLess(level, rational(count))).toBe(false);
        }
      }),
      runs(300),
    );
    expect(seen.unusable).toBeGreaterThan(enough(20));
    expect(seen.usable).toBeGreaterThan(enough(20));
  });

  it("no rows that overlap, or leave a gap, or are none of a bucket's", async () => {
    const config = { kind: "token bucket" as const, rate: 5, period: 1000 };
    const { kind, rate, period } = config;
    const half = (shard: string | undefined) => ({ value: 2, shard, config: { kind, rate, period, capacity: 5 } });
    const [left, right] = ["0", "1"];
    const good = open();
    for (const row of [half(left), half(right)]) await good.plant(row);
    expect(await good.check({ config, count: 4 })).toMatchObject({ ok: true });
    const bad = [
      [half(undefined), half(right)],
      [half(left), half(left)],
      [half(left)],
      [half(left), half(right), half(right)],
      [half(left), half("10")],
      [half(left), half("2")],
      [half(left), half("")],
      [half(left), half("1x")],
    ];
    for (const rows of bad) {
      const world = open();
      for (const row of rows) await world.plant(row);
      // Counts that one row could serve, and counts that need all of them.
      for (const count of [3, 5]) expect(await goes(world, { config, count }), JSON.stringify(rows)).toBe(false);
      await expect(world.check({ config })).rejects.toThrow(/resetRateLimit/);
      await world.reset({ config });
      expect(await world.consume({ config, count: 5 })).toMatchObject({ ok: true });
    }
  });

  it("no entries that are none of a sliding window's", async () => {
    const config = { kind: "sliding window" as const, rate: 5, period: 1000 };
    const entries = [
      [{ at: T0, count: -5 }],
      [{ at: T0, count: NaN }],
      [{ at: NaN, count: 1 }],
      [{ at: -1, count: 1 }],
      [{ at: T0 + 0.5, count: 1 }],
      [
        { at: T0, count: 1 },
        { at: T0 - 1, count: 1 },
      ],
    ];
    for (const recent of entries) {
      const world = open();
      await world.plant({ value: 5, recent });
      expect(await goes(world, { config }), JSON.stringify(recent)).toBe(false);
      await expect(world.check({ config })).rejects.toThrow(/unusable.*resetRateLimit/);
    }
  });

  it("not a count whose units overflow", async () => {
    const world = open();
    const config = { kind: "token bucket" as const, rate: 1, period: 1000 };
    for (const reserve of [false, true]) {
      const request = { config, count: Number.MAX_VALUE, reserve };
      await expect(world.consume(request)).rejects.toThrow();
      await expect(world.check(request)).rejects.toThrow();
    }
    expect(await world.rows()).toEqual([]);
  });

  it("not a slope that overflows", async () => {
    const world = open();
    const config = { kind: "token bucket" as const, rate: 1e12, period: 5e-324 };
    await expect(world.consume({ config })).rejects.toThrow("period must be");
    expect(await world.rows()).toEqual([]);
  });
});
