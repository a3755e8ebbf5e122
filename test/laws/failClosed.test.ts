/** Law 10: nothing opens the gate. The messages are in the table of bad input (test/client/misuse.test.ts). */
import fc from "fast-check";
import { expect } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { isLess, plus, exactly, rational, ZERO } from "../support/rational.js";
import { levelOf, START_OF_WALK } from "./accrual.js";
import { capacityOf, T0 } from "./arbitraries.js";
import { holds, inEveryWorld, type Request, type World } from "./world.js";

const extremes = fc.constantFrom(
  ...[NaN, Infinity, -Infinity, -0, 0, 5e-324, 1e-300, 1e300, Number.MAX_VALUE, -1, 2 ** 53, 8.64e15, 1e12, 1e15],
);
const anyNumber = fc.oneof(extremes, fc.double(), fc.integer());
const anything = fc.oneof(anyNumber, fc.anything({ maxDepth: 1 }));
/** Values of `reserve`, allowed and not. */
const reserves = fc.oneof(fc.boolean(), fc.constantFrom(null, 1, "yes", [], {}, { within: NaN }, { within: -1 }));
/** The wire of a whole backend may refuse values before the package sees them. */
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

const odd = fc.option(anyNumber, { nil: undefined });
const oddConfigs = fc.record(
  {
    kind: fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const),
    rate: fc.oneof(anyNumber, fc.constantFrom(1, 1e12)),
    period: fc.oneof(anyNumber, fc.constantFrom(1, 1000)),
    capacity: odd,
    maxReserved: odd,
  },
  { requiredKeys: ["kind", "rate", "period"] },
);

inEveryWorld("Law 10, fail closed: nothing opens the gate", ({ worlds, subject }) => {
  holds(
    "no count",
    { runs: 200 },
    [worlds, subject.exact, anything, reserves, backends],
    async (open, config, count, reserve, on) => {
      const world = open(on);
      if (capacityOf(config) > 0) await world.consume({ config, count: capacityOf(config) });
      const before = await world.rows();
      const request = { config, count: count as number, reserve: reserve as boolean };
      const went = await goes(world, request);
      // A count of 0 may pass, and takes nothing.
      expect(went && count !== 0).toBe(false);
      if (reserve !== true) expect(await world.rows()).toEqual(before);
      for (const { value } of await world.rows()) expect(Number.isFinite(value)).toBe(true);
    },
  );

  const parts = fc.array(fc.constantFrom(0.5, 1, "all" as const), { maxLength: 4 });
  holds(
    "no config",
    { runs: 400, least: { parsed: 10 } },
    [worlds, oddConfigs, parts],
    async (open, given, parts, seen) => {
      const world = open();
      const config = given as TokensConfig;
      let granted = ZERO;
      const whole = capacityOf(config);
      for (const part of [...parts, "all" as const, 1, "all" as const]) {
        const count = part === "all" ? whole : part;
        if (await goes(world, { config, count })) granted = plus(granted, exactly(count));
      }
      if (!isLess(ZERO, granted)) return;
      seen.parsed++;
      expect(isLess(exactly(whole), granted)).toBe(false);
    },
  );

  const values = fc.oneof(anyNumber, fc.double({ min: -10, max: 100, noNaN: true }), fc.constant("full" as const));
  const ts = fc.oneof(anyNumber, fc.integer({ min: T0 - 100_000, max: T0 + 1000 }));
  holds(
    "no stored state: a row that cannot be true denies until it is reset, any other grants what it holds",
    { runs: 300, least: { unusable: 20, usable: 20 } },
    [worlds, subject.exact, values, ts],
    async (open, config, held, ts, seen) => {
      const world = open();
      const count = capacityOf(config);
      const value = held === "full" ? count : held;
      const { bucket } = parseLimit("limit", config);
      await world.plant({ value, ts, ...(bucket !== undefined && { bucket }) });
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
        expect(isLess(levelOf(config, { value, ts }, T0), rational(count))).toBe(false);
      }
    },
  );
});
