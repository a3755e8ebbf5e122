/** Resharding: parts are split and folded on the way, and every unit stays where it is or moves, but is never made or lost. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ancestorsOf, partOf, ROOT } from "../../../src/engine/sharding/heap.js";
import { parseLimit } from "../../../src/engine/limit.js";
import { cover, foldInto, fullPart, splitTo } from "../../../src/engine/sharding/reshard.js";
import { NOW, partitions, unitsIn, unitsOf } from "../arbitraries.js";

const limit = parseLimit("reshard", { kind: "token bucket", rate: 60, period: 60_000, shards: 4 });
const tokens = (count: number) => count * limit.unitsPerToken;

describe("resharding", () => {
  it("splits a part down to any node below it, without making or losing a unit", () => {
    fc.assert(
      fc.property(partitions, fc.integer({ min: 0, max: 255 }), ({ limit: whole, stored }, path) => {
        for (const part of stored) {
          const depth = path % 4;
          const node = part.node * 2 ** depth + (path % 2 ** depth);
          const parts = splitTo(whole, part, node, NOW);
          expect(parts).toHaveLength(depth + 1);
          expect(parts[0]?.node).toBe(node);
          expect(unitsIn(parts, NOW)).toBe(unitsIn([part], NOW));
          expect(unitsIn(parts, NOW + 1234) - unitsIn([part], NOW + 1234)).toBeLessThanOrEqual(0);
          for (const each of parts) expect(each.bucket.value).toBeLessThanOrEqual(each.limit.capacity);
        }
      }),
    );
  });

  it("folds what lies below a node into it, counting as full what is not stored", () => {
    fc.assert(
      fc.property(partitions, ({ limit: whole, stored }) => {
        const folded = foldInto(whole, ROOT, stored, NOW);
        expect(unitsIn([folded], NOW)).toBe(unitsOf(whole, stored, NOW));
        expect(folded.bucket.value).toBeLessThanOrEqual(whole.capacity);
      }),
    );
  });

  it("covers a limit exactly once with what is stored and what is full", () => {
    fc.assert(
      fc.property(partitions, ({ limit: whole, stored }) => {
        const parts = cover(whole, new Map(stored.map((part) => [part.node, part])));
        const nodes = new Set(parts.map(({ node }) => node));
        expect(parts.filter(({ node }) => ancestorsOf(node).some((above) => nodes.has(above)))).toEqual([]);
        expect(parts.reduce((sum, part) => sum + part.limit.capacity, 0)).toBe(whole.capacity);
        expect(unitsIn(parts, NOW)).toBe(unitsOf(whole, stored, NOW));
      }),
    );
  });

  it("leaves no part below a shard's size where nothing was ever stored", () => {
    expect(cover(limit, new Map()).map(({ node }) => node)).toEqual([4, 5, 6, 7]);
    expect(cover(limit, new Map([[3, fullPart(limit, 3)]])).map(({ node }) => node)).toEqual([4, 5, 3]);
    expect(cover(limit, new Map([[9, fullPart(limit, 9)]])).map(({ node }) => node)).toEqual([8, 9, 5, 6, 7]);
  });

  it("gives whole tokens to the left half and the fraction to the right", () => {
    const part = { node: ROOT, limit, bucket: { value: tokens(7) + 5, ts: NOW } };
    const [left, right] = splitTo(limit, part, 2, NOW).map(({ bucket }) => bucket.value);
    expect([left, right]).toEqual([tokens(3), tokens(4) + 5]);
  });

  it("splits a debt as it splits tokens", () => {
    const part = { node: ROOT, limit, bucket: { value: -tokens(7), ts: NOW } };
    expect(splitTo(limit, part, 2, NOW).map(({ bucket }) => bucket.value)).toEqual([-tokens(3), -tokens(4)]);
  });

  it("makes nothing to spend out of half a token's debt", () => {
    const part = { node: ROOT, limit, bucket: { value: -tokens(1) / 2, ts: NOW } };
    expect(splitTo(limit, part, 2, NOW).map(({ bucket }) => bucket.value + 0)).toEqual([0, -tokens(1) / 2]);
  });

  it("gives neither half more than it can hold", () => {
    const odd = parseLimit("odd", { kind: "token bucket", rate: 61, period: 1000 });
    const whole = fullPart(odd, ROOT);
    const halves = splitTo(odd, whole, 2, NOW);
    expect(halves.map(({ node, bucket }) => bucket.value - partOf(odd, node).capacity)).toEqual([0, 0]);
  });

  it("refuses stored parts that overlap", () => {
    const overlapping = new Map([2, 4].map((node) => [node, fullPart(limit, node)]));
    expect(() => cover(limit, overlapping)).toThrow("the stored shards overlap at 2, so nothing is let through");
  });
});
