/** Shards: their shares add up, splits and folds create no unit, and later the shards hold no more than the whole. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fullState, type Limit } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { halves, MAX_LEVEL, WHOLE } from "../../../src/engine/sharding/interval.js";
import {
  advance,
  balance,
  fold,
  fullShard,
  heldBy,
  heldByAll,
  type Shard,
  shardAt,
  shareOf,
  splitTo,
} from "../../../src/engine/sharding/shard.js";
import { partsOf } from "../../support/parts.js";
import { histories, limits, NOW, stateAfter } from "../arbitraries.js";
import { forAny } from "../../support/random.js";

const levels = fc.integer({ min: 0, max: MAX_LEVEL });
const capacityOf = (shares: readonly Limit[]) => shares.reduce((sum, { capacity }) => sum + capacity, 0);
/** The units that arrive per ms or per window. A sliding window has no refill. */
const refillOf = (limit: Limit) => (limit as Limit & { refill: number }).refill;

describe("the share of an interval", () => {
  it("is the limit itself for the whole", () => {
    const limit = parseLimit("send", { kind: "token bucket", rate: 5, period: 1000 });
    expect(shareOf(limit, WHOLE)).toBe(limit);
    expect(fullShard(limit)).toEqual({ interval: WHOLE, limit, state: fullState(limit) });
  });

  it("adds up to the limit on every level, in capacity and rate", () => {
    forAny([limits, levels], 60, (limit, level) => {
      const shares = partsOf(level).map((part) => shareOf(limit, part));
      expect(capacityOf(shares)).toBe(limit.capacity);
      if (limit.config.kind === "fixed window") {
        expect(shares.reduce((sum, share) => sum + refillOf(share), 0)).toBe(refillOf(limit));
      }
      if (limit.config.kind !== "token bucket") return;
      // The number of equal parts is a power of two, so the product is exact to the last bit.
      for (const share of shares) expect(refillOf(share) * 2 ** level).toBe(refillOf(limit));
    });
  });
});

const withoutUse = (shard: Shard) => {
  const { window, ...state } = shard.state;
  return { ...shard, state: { ...state, since: window?.since } };
};

describe("a shard", () => {
  it("does not change if it is split to any level and folded, for every kind", () => {
    forAny([limits, histories, levels, fc.nat(3000)], 60, (limit, history, level, laterMs) => {
      const { state, now } = stateAfter(limit, history);
      const later = now + laterMs;
      const whole = shardAt(limit, WHOLE, state);
      const shards = splitTo(limit, whole, level, later);
      expect(shards.map(({ interval }) => interval.length)).toEqual(Array(2 ** level).fill(level));
      expect(heldByAll(shards, later)).toBe(heldBy(whole, later));
      const [folded, exact] = [fold(limit, shards, later), advance(whole, later)];
      expect(withoutUse(folded)).toEqual(withoutUse(exact));
      // If a window saves up, each row counts what its own misses as used. Only a quota reads that.
      const [used, least] = [folded, exact].map(({ state }) => state.window?.used ?? 0) as [number, number];
      expect(used).toBeGreaterThanOrEqual(least);
      if (limit.kind.lapses?.(limit)) expect(used).toBe(least);
    });
  });

  it("splits into halves within their shares, which later hold no more than the whole would", () => {
    forAny([limits, histories, fc.nat(5000)], 1000, (limit, history, laterMs) => {
      const { state, now } = stateAfter(limit, history);
      const whole = shardAt(limit, WHOLE, state);
      const parts = splitTo(limit, whole, 1, now);
      expect(parts.map(({ interval }) => interval)).toEqual(halves(WHOLE));
      for (const { limit: share, state } of parts) {
        expect(state.value).toBeGreaterThanOrEqual(0);
        expect(state.value).toBeLessThanOrEqual(share.capacity);
      }
      expect(heldByAll(parts, now + laterMs)).toBeLessThanOrEqual(heldBy(whole, now + laterMs));
    });
  });

  it("in debt splits into halves that are paid at the same time, to a token, for every refilling kind", () => {
    const debts = fc.integer({ min: 1, max: 1000 });
    forAny([limits, debts], 300, (limit, tokens) => {
      if (limit.config.kind === "sliding window" || limit.capacity < 2 * limit.unitsPerToken) return;
      const value = -tokens * limit.unitsPerToken;
      const parts = splitTo(limit, shardAt(limit, WHOLE, { value, ts: NOW }), 1, NOW);
      expect(heldByAll(parts, NOW)).toBe(value);
      const [left = 0, right = 0] = parts.map(({ state }) => state.value);
      const [refillLeft = 0, refillRight = 0] = parts.map((part) => part.limit.refill);
      // In proportion to what pays them.
      const owed = (value * refillLeft) / (refillLeft + refillRight || 1);
      expect(Math.abs(left - owed)).toBeLessThanOrEqual(1);
      expect(left + right).toBe(value);
    });
  });

  it("gives another half of what it has more, but nothing to one that owes, and no less than two tokens", () => {
    const limit = parseLimit("send", { kind: "token bucket", rate: 64, period: 1000, shards: 16 });
    const row = (interval: string, tokens: number, ts = NOW) =>
      shardAt(limit, interval, { value: tokens * limit.unitsPerToken, ts });
    const moved = (short: number, other: number, ts = NOW) =>
      balance(row("0", short), row("1", other, ts))?.map(({ state }) => state.value / limit.unitsPerToken);
    expect([moved(0, 20), moved(0.5, 5), moved(-1, 20), moved(0, 20, NOW + 1)]).toEqual([
      [10, 10],
      [2.5, 3],
      undefined,
      undefined,
    ]);
    expect(moved(0, 3)).toBeUndefined();
  });
});
