/** Limits and rows of any number of shards. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { fullBucket, project } from "../../src/engine/kinds/bucket.js";
import { partOf, ROOT } from "../../src/engine/sharding/heap.js";
import { parseLimit } from "../../src/engine/limit.js";
import type { Limit, Part } from "../../src/engine/types.js";

export const NOW = 1_700_000_000_000;

export const configs = fc
  .record({
    kind: fc.constantFrom("token bucket" as const, "fixed window" as const),
    rate: fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.constantFrom(0.5, 2.25, 1 / 3, 1e9)),
    period: fc.constantFrom(1, 7, 1000, 60_000, 3_600_000, 86_400_000),
    capacity: fc.oneof(fc.nat(5000), fc.constantFrom(0.5, 12.75)),
    maxReserved: fc.option(fc.nat(5000), { nil: undefined }),
    shards: fc.integer({ min: 1, max: 256 }),
  })
  .map(({ maxReserved, ...config }): RateLimitConfig =>
    maxReserved === undefined ? config : { ...config, maxReserved },
  );

/** A limit and stored parts of it, as they may be left by any history of shard counts: no part below another. */
export const partitions = fc
  .tuple(configs, fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })))
  .map(([config, dice]) => {
    const limit = parseLimit("partition", config);
    let rolled = 0;
    const roll = () => dice[rolled++] ?? 0.2;
    const stored: Part[] = [];
    const visit = (node: number): void => {
      const fate = roll();
      if (fate < 0.3) stored.push(someBucket(limit, node, roll()));
      else if (fate < 0.9 && node < 64) [2 * node, 2 * node + 1].forEach(visit);
    };
    visit(ROOT);
    return { limit, stored };
  });

function someBucket(whole: Limit, node: number, roll: number): Part {
  const limit = partOf(whole, node);
  const most = limit.capacity + Math.min(limit.maxReserved, limit.capacity);
  const bucket = { value: limit.capacity - Math.floor(roll * most), ts: NOW - Math.floor(roll * 5000) };
  return { node, limit, bucket };
}

/** The units in all parts now. */
export function unitsIn(parts: readonly Part[], now: number): number {
  return parts.reduce((sum, { limit, bucket }) => sum + project(limit, bucket, now).value, 0);
}

/** The units of a whole limit of which some parts are stored, the rest being full. */
export function unitsOf(limit: Limit, stored: readonly Part[], now: number): number {
  const covered = stored.reduce((sum, part) => sum + part.limit.capacity, 0);
  return fullBucket(limit).value - covered + unitsIn(stored, now);
}
