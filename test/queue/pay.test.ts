/** One job and one bucket: paid now, soon, or waited for. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RateLimitConfig } from "convex-rate-limits";
import { parseLimit } from "../../src/engine/limit.js";
import { fullShard, heldBy, type Shard } from "../../src/engine/sharding/shard.js";
import { unitsOf } from "../../src/engine/units.js";
import { payFor, waitWhenFull } from "../../src/queue/pay.js";
import { adjustOnAll } from "../../src/engine/sharding/pool.js";

const NOW = 1_700_000_000_000;
const YEAR = 365 * 86_400_000;
const AHEAD = 1050;

/** Ten tokens a second, ten at most. */
const ten: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 };
const yearly: RateLimitConfig = { kind: "token bucket", rate: 1, period: YEAR, capacity: 1 };

function bucketOf(
  config: RateLimitConfig,
  held?: number,
): { limit: ReturnType<typeof parseLimit>; shards: readonly Shard[] } {
  const limit = parseLimit("llm", config);
  const full = fullShard(limit);
  if (held === undefined) return { limit, shards: [full] };
  return { limit, shards: adjustOnAll(limit, [full], NOW, { units: limit.capacity - unitsOf(limit, held) }) };
}

function paid(config: RateLimitConfig, held: number | undefined, count: number, withinMs = AHEAD) {
  const { limit, shards } = bucketOf(config, held);
  const payment = payFor(limit, shards, NOW, { count, withinMs });
  if (!payment.isPaid) return { waitMs: payment.dueAt - NOW, isAhead: payment.isAhead };
  const [left] = payment.left;
  return { runMs: payment.runAt - NOW, holds: left && heldBy(left, NOW) / unitsOf(limit, 1) };
}

describe("a job", () => {
  it.each([
    ["of what is there runs now", ten, undefined, 4, { runMs: 0, holds: 6 }],
    ["of what comes within the time is paid ahead", ten, 0, 10, { runMs: 1000, holds: -10 }],
    ["of what comes later waits, until so long before", ten, -1, 10, { waitMs: 50, isAhead: true }],
    [
      "waits for room under maxReserved to the time itself",
      { ...ten, maxReserved: 0 },
      5,
      10,
      { waitMs: 500, isAhead: false },
    ],
    ["of more than a full bucket is paid when that is full", ten, undefined, 45, { runMs: 3500, holds: -35 }],
    ["and waits while it is not", ten, 9, 45, { waitMs: 100, isAhead: true }],
    [
      "that a lowered limit cannot hold starts when the bucket is full, and owes the rest",
      { ...ten, maxReserved: 0 },
      undefined,
      25,
      { runMs: 0, holds: -15 },
    ],
    ["and waits while it is not", { ...ten, maxReserved: 0 }, 9, 25, { waitMs: 100, isAhead: false }],
    [
      "of what takes longer than five years starts when the bucket is full, and owes the rest",
      yearly,
      undefined,
      10,
      { runMs: 0, holds: -9 },
    ],
    ["and is not near because of that", yearly, 0, 10, { waitMs: YEAR - AHEAD, isAhead: true }],
    ["of nothing runs now", ten, 0, 0, { runMs: 0, holds: 0 }],
    ["of nothing waits behind a debt", ten, -20, 0, { waitMs: 950, isAhead: true }],
  ] as const)("%s", (_what, config, held, count, expected) => {
    expect(paid(config, held, count)).toEqual(expected);
  });

  const configs: readonly RateLimitConfig[] = [
    ten,
    { ...ten, maxReserved: 7 },
    { kind: "fixed window", rate: 10, period: 1000, start: 0 },
    { kind: "sliding window", rate: 10, period: 1000 },
  ];

  it("that waits is paid at the time that it was told, and not a millisecond before", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...configs),
        fc.integer({ min: -15, max: 10 }),
        fc.integer({ min: 1, max: 10 }),
        (config, held, count) => {
          const { limit, shards } = bucketOf(config, held);
          const first = payFor(limit, shards, NOW, { count, withinMs: AHEAD });
          if (first.isPaid) return;
          expect(first.dueAt).toBeGreaterThan(NOW);
          expect(payFor(limit, shards, first.dueAt, { count, withinMs: AHEAD }).isPaid).toBe(true);
          expect(payFor(limit, shards, first.dueAt - 1, { count, withinMs: AHEAD }).isPaid).toBe(false);
        },
      ),
    );
  });

  it("takes its count, whatever the limit has become", () => {
    fc.assert(
      fc.property(fc.constantFrom(...configs.slice(0, 2)), fc.integer({ min: 0, max: 60 }), (config, count) => {
        expect(paid(config, undefined, count)).toMatchObject({ holds: 10 - count });
      }),
    );
  });
});

it("how long a full bucket lets a job wait", () => {
  const limit = parseLimit("llm", ten);
  expect([0, 10, 11, 45].map((count) => waitWhenFull(limit, unitsOf(limit, count), NOW))).toEqual([0, 0, 100, 3500]);
});
