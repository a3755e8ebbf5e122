/** The client's projection against the server's decision: the same answer, on any rows, at any moment. */
import { projectRateLimit, type RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { project } from "../../src/browser/project.js";
import { parseLimit } from "../../src/engine/limit.js";
import { parseDemand } from "../../src/engine/request.js";
import { MAX_LEVEL } from "../../src/engine/sharding/interval.js";
import { decideOnAll } from "../../src/engine/sharding/pool.js";
import { fullShard, type Shard, split } from "../../src/engine/sharding/shard.js";
import { snapshotOf } from "../../src/engine/snapshot.js";

const NOW = 1_700_000_000_000;

const shared = {
  rate: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constantFrom(0.5, 1 / 3, 2.25)),
  shards: fc.constantFrom<RateLimitConfig["shards"]>(1, 2, 16, 1024, "auto"),
  maxReserved: fc.constantFrom(undefined, 0, 7, 100),
};
const period = fc.constantFrom(1, 50, 1000, 60_000);
const capacity = fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined });

/** Without the fields that are undefined: a config has none. */
const config = fc
  .oneof(
    fc.record({ kind: fc.constant("token bucket" as const), period, capacity, ...shared }),
    fc.record({
      kind: fc.constant("fixed window" as const),
      period,
      capacity,
      start: fc.constantFrom(0, 123),
      ...shared,
    }),
    fc.record({ kind: fc.constant("sliding window" as const), period, ...shared }),
  )
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)))
  .map((fields) => fields as unknown as RateLimitConfig);

/** What has happened to a bucket: rows split, and each takes, owes or is promised something at its own moment. */
const history = fc.record({
  splits: fc.array(fc.nat({ max: 20 }), { maxLength: 6 }),
  takes: fc.array(
    fc.record({ row: fc.nat({ max: 20 }), share: fc.double({ min: 0, max: 1, noNaN: true }), ago: fc.nat(3000) }),
    {
      maxLength: 12,
    },
  ),
  reserved: fc.array(fc.nat({ max: 40 }), { maxLength: 3 }),
});
type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never;

function shardsAfter(config: RateLimitConfig, { splits, takes, reserved }: History) {
  const limit = parseLimit("any", config);
  let shards: Shard[] = [fullShard(limit)];
  for (const pick of splits) {
    const at = pick % shards.length;
    const shard = shards[at];
    if (!shard || shard.interval.level >= Math.min(MAX_LEVEL, limit.levels.most)) continue;
    shards = [...shards.slice(0, at), ...split(limit, shard, NOW - 3000), ...shards.slice(at + 1)];
  }
  for (const { row, share, ago } of [...takes].sort((a, b) => b.ago - a.ago)) {
    const at = row % shards.length;
    shards = shards.map((shard, i) => {
      if (i !== at) return shard;
      const { kind } = shard.limit;
      const state = kind.advance(shard.limit, shard.state, NOW - ago);
      const units = Math.floor(Math.max(0, state.value) * share);
      return { ...shard, state: kind.take(shard.limit, state, units) };
    });
  }
  const [only] = shards;
  if (only && shards.length === 1) {
    for (const tokens of reserved) {
      const { kind } = only.limit;
      const state = kind.advance(only.limit, shards[0]?.state ?? only.state, NOW - 100);
      const units = Math.min(tokens * limit.unitsPerToken, limit.capacity);
      shards = [{ ...only, state: kind.reserve(only.limit, state, units).state }];
    }
  }
  return { limit, shards };
}

const question = fc.record({
  now: fc.oneof(fc.integer({ min: -4000, max: 5000 }), fc.integer({ min: 0, max: 10_000_000 })).map((ms) => NOW + ms),
  count: fc.oneof(
    fc.integer({ min: 0, max: 20 }),
    fc.constantFrom(0.25, 1 / 3, 0.001),
    fc.integer({ min: 0, max: 300 }),
  ),
  reserve: fc.boolean(),
});

describe("projectRateLimit", () => {
  it("says what the server decides on all rows", () => {
    let several = 0;
    fc.assert(
      fc.property(config, history, question, (config, history, { now, count, reserve }) => {
        const { limit, shards } = shardsAfter(config, history);
        if (shards.length > 1) several++;
        const snapshot = snapshotOf(limit, shards);
        let demand;
        try {
          demand = parseDemand(limit, { count, reserve });
        } catch {
          expect(() => projectRateLimit(snapshot, { now, count, reserve })).toThrow("count must be from 0 to");
          return;
        }
        const status = projectRateLimit(snapshot, { now, count, reserve });
        const { value } = project(snapshot, { now, count, reserve });
        expect(status).toEqual(decideOnAll(limit, shards, now, demand).status);
        expect(value * limit.unitsPerToken).toBeLessThanOrEqual(limit.capacity);
      }),
      { numRuns: 4000 },
    );
    expect(several).toBeGreaterThan(500);
  });

  it("of a calendar window knows the windows that the snapshot lists", () => {
    const limit = parseLimit("export", { kind: "fixed window", rate: 3, period: "day", timeZone: "Europe/Berlin" });
    const taken = limit.kind.take(
      limit,
      limit.kind.advance(limit, { value: limit.capacity, ts: 0 }, NOW),
      limit.capacity,
    );
    const shards = [{ ...fullShard(limit), state: taken }];
    const snapshot = snapshotOf(limit, shards);
    for (const ahead of [0, 3_600_000, 86_400_000]) {
      const demand = parseDemand(limit, {});
      const status = projectRateLimit(snapshot, { now: NOW + ahead });
      expect(status).toEqual(decideOnAll(limit, shards, NOW + ahead, demand).status);
    }
  });

  it.each([undefined, null, 5, {}])("asks for a snapshot, not %s", (given) => {
    expect(() => projectRateLimit(given as never, { now: NOW })).toThrow("needs a snapshot");
  });
});
