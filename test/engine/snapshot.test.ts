/** Snapshots: what is stored, and the answer at any moment from it. */
import type { RateLimitConfig, RateLimitSnapshot } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../src/engine/decide.js";
import { parseDemand } from "../../src/engine/request.js";
import { fullState } from "../../src/engine/kinds/kind.js";
import { forKey, parseLimit } from "../../src/engine/limit.js";
import { toShard, WHOLE } from "../../src/engine/sharding/interval.js";
import { decideOnAll } from "../../src/engine/sharding/pool.js";
import { fullShard, shardAt, splitTo } from "../../src/engine/sharding/shard.js";
import { projectRateLimit, snapshotOf } from "../../src/engine/snapshot.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { histories, limits, NOW, stateAfter } from "./arbitraries.js";

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, shards: 4 };
const limit = parseLimit("send", config);
const tokens = (count: number) => count * limit.unitsPerToken;

describe("a snapshot", () => {
  it("of a bucket without a row is full since the epoch", () => {
    expect(snapshotOf(limit, [fullShard(limit)])).toEqual({
      name: "send",
      value: 10,
      ts: 0,
      config: { ...config, capacity: 10 },
    });
  });

  it("of a split bucket has each row, and their sum at the latest moment that one was written", () => {
    const shards = splitTo(limit, { interval: WHOLE, limit, state: { value: tokens(4), ts: NOW } }, 1, NOW);
    const [left, right] = shards;
    if (!left || !right) throw new Error("two halves");
    const later = { ...right, state: { value: tokens(1), ts: NOW + 200 } };
    expect(snapshotOf(limit, [left, later])).toEqual({
      name: "send",
      // 2 + 1 of the left half by then, and 1 of the right half.
      value: 4,
      ts: NOW + 200,
      config: { ...config, capacity: 10 },
      shards: [
        { shard: toShard(left.interval), value: 2, ts: NOW },
        { shard: toShard(right.interval), value: 1, ts: NOW + 200 },
      ],
    });
  });

  it("says what the key has chosen, and what a sliding window remembers", () => {
    const window = forKey(parseLimit("send", { kind: "fixed window", rate: 1, period: 64 }), "alice");
    expect(snapshotOf(window, [fullShard(window)]).config).toEqual({
      kind: "fixed window",
      rate: 1,
      capacity: 1,
      period: 64,
      start: 41,
    });
    const sliding = parseLimit("slide", { kind: "sliding window", rate: 10, period: 1000 });
    const { taken } = decide(sliding, fullState(sliding), NOW, parseDemand(sliding, { count: 3 }));
    if (!taken) throw new Error("3 of 10 are taken");
    expect(snapshotOf(sliding, [shardAt(sliding, WHOLE, taken)])).toEqual({
      name: "slide",
      value: 7,
      ts: NOW,
      recent: [{ at: NOW, count: 3 }],
      config: { kind: "sliding window", rate: 10, period: 1000 },
    });
  });
});

describe("a projection", () => {
  const snapshot: RateLimitSnapshot = { name: "send", value: 0, ts: NOW, config };

  it("is the answer at a moment, whatever the moment of the snapshot", () => {
    expect(projectRateLimit(snapshot, { now: NOW })).toEqual({
      ok: false,
      retryAt: NOW + 100,
      remaining: 0,
      resetAt: NOW + 1000,
    });
    expect(projectRateLimit(snapshot, { now: NOW + 100.9 })).toEqual({ ok: true, remaining: 0, resetAt: NOW + 1100 });
    expect(projectRateLimit(snapshot, { now: NOW, count: 2, reserve: true })).toMatchObject({
      ok: true,
      retryAt: NOW + 200,
    });
    expect(projectRateLimit(snapshot, { now: END_OF_TIME })).toMatchObject({ ok: true, remaining: 9 });
  });

  it("is what a call that reads all rows would answer, for every kind, on one row and on several", () => {
    const asked = fc.record({ part: fc.double({ min: 0, max: 1, noNaN: true }), reserve: fc.boolean() });
    fc.assert(
      fc.property(
        limits,
        histories,
        fc.nat(3),
        asked,
        fc.nat(3000),
        (whole, history, level, { part, reserve }, later) => {
          const { state, now } = stateAfter(whole, history);
          const shards = splitTo(whole, shardAt(whole, WHOLE, state), level, now);
          const count = (part * whole.capacity) / whole.unitsPerToken;
          const demand = parseDemand(whole, { count, reserve });
          expect(projectRateLimit(snapshotOf(whole, shards), { now: now + later, count, reserve })).toEqual(
            decideOnAll(whole, shards, now + later, demand).status,
          );
        },
      ),
    );
  });

  it.each<[unknown, unknown, string]>([
    [null, { now: NOW }, "the snapshot must be what getRateLimit returns, got null."],
    [5, { now: NOW }, "the snapshot must be what getRateLimit returns, got 5."],
    [snapshot, undefined, "now must be a number of milliseconds from -8.64e15 to 8.64e15, got NaN."],
    [snapshot, null, "now must be a number of milliseconds from -8.64e15 to 8.64e15, got NaN."],
    [snapshot, NOW, "now must be a number of milliseconds"],
    [snapshot, {}, "now must be a number of milliseconds"],
    [snapshot, { now: Infinity }, "got Infinity."],
    [snapshot, { now: 8.64e15 + 2 }, "got 8640000000000002."],
    [snapshot, { now: "5" }, 'got "5".'],
    [snapshot, { now: NOW, count: 11 }, "count 11 can never be served"],
    [{ ...snapshot, config: { ...config, rate: 0 } }, { now: NOW }, "rate must be"],
    [{ ...snapshot, value: NaN }, { now: NOW }, "the stored state is unusable (value NaN,"],
    [{ ...snapshot, shards: [{ shard: 17, value: 0, ts: NOW }] }, { now: NOW }, "the snapshot's shard 17 is unusable"],
    [
      { ...snapshot, shards: [{ shard: 1, value: Infinity, ts: NOW }] },
      { now: NOW },
      "the stored state is unusable (value Infinity,",
    ],
  ])("of %j with %j is misuse", (given, options, problem) => {
    const project = projectRateLimit as (snapshot: unknown, options: unknown) => unknown;
    expect(() => project(given, options)).toThrow(problem);
  });
});
