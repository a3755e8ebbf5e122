/** Shards: their shares add up, they are split and folded without making a unit, and later they hold no more. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fullState, type Limit } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/limit.js";
import { halves, MAX_LEVEL, WHOLE } from "../../../src/engine/sharding/interval.js";
import {
  advance,
  fold,
  fullShard,
  heldBy,
  heldByAll,
  shardAt,
  shareOf,
  splitTo,
} from "../../../src/engine/sharding/shard.js";
import { partsOf } from "../../support/parts.js";
import { histories, limits, stateAfter } from "../arbitraries.js";

const levels = fc.integer({ min: 0, max: MAX_LEVEL });
const capacityOf = (shares: readonly Limit[]) => shares.reduce((sum, { capacity }) => sum + capacity, 0);
/** What arrives per ms or per window; a sliding window has none. */
const refillOf = (limit: Limit) => (limit as Limit & { refill: number }).refill;

describe("the share of an interval", () => {
  it("is the limit itself for the whole", () => {
    const limit = parseLimit("send", { kind: "token bucket", rate: 5, period: 1000 });
    expect(shareOf(limit, WHOLE)).toBe(limit);
    expect(fullShard(limit)).toEqual({ interval: WHOLE, limit, state: fullState(limit) });
  });

  it("adds up to the limit on every level, in capacity and rate", () => {
    fc.assert(
      fc.property(limits, levels, (limit, level) => {
        const shares = partsOf(level).map((part) => shareOf(limit, part));
        expect(capacityOf(shares)).toBe(limit.capacity);
        if (limit.kind.name === "fixed window") {
          expect(shares.reduce((sum, share) => sum + refillOf(share), 0)).toBe(refillOf(limit));
        }
        if (limit.kind.name !== "token bucket") return;
        // A power of two of equal parts: to the last bit.
        for (const share of shares) expect(refillOf(share) * 2 ** level).toBe(refillOf(limit));
      }),
      { numRuns: 60 },
    );
  });
});

describe("a shard", () => {
  it("is split and folded into the same, for every kind, down to every level", () => {
    fc.assert(
      fc.property(limits, histories, levels, fc.nat(3000), (limit, history, level, laterMs) => {
        const { state, now } = stateAfter(limit, history);
        const moment = now + laterMs;
        const whole = shardAt(limit, WHOLE, state);
        const shards = splitTo(limit, whole, level, moment);
        expect(shards.map(({ interval }) => interval.length)).toEqual(Array(2 ** level).fill(level));
        expect(heldByAll(shards, moment)).toBe(heldBy(whole, moment));
        expect(fold(limit, WHOLE, shards, moment)).toEqual(advance(whole, moment));
      }),
      { numRuns: 60 },
    );
  });

  it("is within its share when it is split, and later the halves hold no more than it would", () => {
    fc.assert(
      fc.property(limits, histories, fc.nat(5000), (limit, history, laterMs) => {
        const { state, now } = stateAfter(limit, history);
        const whole = shardAt(limit, WHOLE, state);
        const parts = splitTo(limit, whole, 1, now);
        expect(parts.map(({ interval }) => interval)).toEqual(halves(WHOLE));
        for (const { limit: share, state } of parts) {
          expect(state.value).toBeGreaterThanOrEqual(0);
          expect(state.value).toBeLessThanOrEqual(share.capacity);
        }
        expect(heldByAll(parts, now + laterMs)).toBeLessThanOrEqual(heldBy(whole, now + laterMs));
      }),
      { numRuns: 1000 },
    );
  });
});
