/** The heap of parts: what a node holds, and that its halves make it up. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ancestorsOf, descendantsAt, levelOf, partOf, ROOT } from "../../../src/engine/sharding/heap.js";
import { parseLimit } from "../../../src/engine/limit.js";
import { configs } from "../arbitraries.js";

describe("the heap of parts", () => {
  it("numbers levels, ancestors and descendants like a binary heap", () => {
    expect([1, 2, 3, 4, 7, 8, 255, 256, 511].map(levelOf)).toEqual([0, 1, 1, 2, 2, 3, 7, 8, 8]);
    expect(ancestorsOf(ROOT)).toEqual([]);
    expect(ancestorsOf(13)).toEqual([6, 3, 1]);
    expect(descendantsAt(3, 3)).toEqual({ first: 12, last: 15 });
    expect(descendantsAt(ROOT, 8)).toEqual({ first: 256, last: 511 });
  });

  it("has halves that add up to the whole, in every quantity", () => {
    fc.assert(
      fc.property(configs, fc.integer({ min: 1, max: 255 }), (config, node) => {
        const limit = parseLimit("heap", config);
        const [whole, left, right] = [node, 2 * node, 2 * node + 1].map((each) => partOf(limit, each));
        for (const field of ["capacity", "maxReserved", "refill"] as const) {
          expect((left?.[field] ?? NaN) + (right?.[field] ?? NaN)).toBe(whole?.[field]);
        }
      }),
    );
  });

  it("has parts of one level that are as even as whole tokens allow", () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.integer({ min: 0, max: 8 }), (capacity, level) => {
        const limit = parseLimit("heap", { kind: "fixed window", rate: 10, period: 1000, capacity });
        const { first, last } = descendantsAt(ROOT, level);
        for (let node = first; node <= last; node++) {
          const tokens = partOf(limit, node).capacity / limit.unitsPerToken;
          expect(Number.isInteger(tokens)).toBe(true);
          expect(Math.abs(tokens - capacity / 2 ** level)).toBeLessThan(1);
        }
      }),
    );
  });
});
