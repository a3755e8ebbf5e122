import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KINDS } from "../../../src/engine/kinds/limit.js";
import { allLimits, histories, stateAfter } from "../arbitraries.js";
import { forAny } from "../../support/random.js";

it("the registry of kinds has each kind under its own name", () => {
  expect(Object.keys(KINDS)).toEqual(["token bucket", "fixed window", "sliding window", "concurrency"]);
  for (const [kind, own] of Object.entries(KINDS)) {
    expect(
      own.parse("send", { kind, rate: 1, period: 1, slots: 1, lease: 1 } as unknown as RateLimitConfig).config.kind,
    ).toBe(kind);
  }
});

describe("a bucket of any kind", () => {
  it("holds the same at a time whether or not it was read before, and never less later", () => {
    forAny([allLimits, histories, fc.nat(5000), fc.nat(5000)], 100, (limit, history, firstMs, secondMs) => {
      const { state, now } = stateAfter(limit, history);
      const advance = limit.kind.advance.bind(limit.kind, limit);
      const once = advance(state, now + firstMs + secondMs);
      const twice = advance(advance(state, now + firstMs), now + firstMs + secondMs);
      // A rate that is not a short decimal may lose a unit at each write.
      expect(once.value - twice.value).toBeGreaterThanOrEqual(0);
      expect(once.value - twice.value).toBeLessThanOrEqual(1);
      expect(once.value).toBeGreaterThanOrEqual(advance(state, now).value);
      expect(advance(once, now)).toEqual(once);
    });
  });

  it("holds the wanted units at the time that it names, and not one millisecond earlier", () => {
    const parts = fc.double({ min: 0, max: 1, noNaN: true });
    forAny([allLimits, histories, parts, parts], 100, (limit, history, owing, wanted) => {
      const { state } = stateAfter(limit, history);
      const before = limit.kind.take(limit, state, Math.floor(owing * limit.capacity));
      const units = Math.floor(wanted * limit.capacity);
      const at = limit.kind.whenHolding(limit, before, units);
      const held = (now: number) => limit.kind.advance(limit, before, now).value;
      expect(held(at)).toBeGreaterThanOrEqual(units);
      if (at > before.ts) expect(held(at - 1)).toBeLessThan(units);
    });
  });
});
