/** One job and one bucket: whether the bucket pays now, pays ahead, or lets the job wait. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RateLimitConfig } from "convex-rate-limits";
import type { State } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { bucketOf } from "../../src/engine/request.js";
import { adjustOnAll, adjustOnSome } from "../../src/engine/sharding/pool.js";
import { fullShard, heldBy, type Shard, splitTo } from "../../src/engine/sharding/shard.js";
import { unitsOf } from "../../src/engine/units.js";
import { type Control, NO_CONTROL } from "../../src/engine/control.js";
import { termsOf } from "../../src/operations/terms.js";
import { mostPaidFrom, payFor, type PayableJob, waitWhenFull } from "../../src/queue/pay.js";
import { whenBroughtByAll } from "../../src/queue/payers.js";
import { forAny } from "../support/random.js";

const NOW = 1_700_000_000_000;
const YEAR = 366 * 86_400_000;
const AHEAD = 1050;

/** 10 tokens a second, at most 10. */
const ten: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 };
const debtless: RateLimitConfig = { ...ten, maxReserved: 0 };
const seven: RateLimitConfig = { ...ten, maxReserved: 7 };
const yearly: RateLimitConfig = { kind: "token bucket", rate: 1, period: YEAR, capacity: 1 };

/** The terms at a time; `until`: it is paused until then. */
function termsAt(config: RateLimitConfig, now = NOW, control: Control = NO_CONTROL) {
  return termsOf(
    bucketOf({ name: "llm", config }),
    { control, rows: [], row: null, point: "" },
    { now, random: Math.random },
  );
}

function bucketWith(config: RateLimitConfig, held: number) {
  const limit = parseLimit("llm", config);
  const units = limit.capacity - unitsOf(limit, held);
  return { limit, shards: adjustOnAll([fullShard(limit)], NOW, { units }) };
}

function paid(config: RateLimitConfig, held: number, count: number, control?: Control) {
  const { limit, shards } = bucketWith(config, held);
  const payment = payFor(termsAt(config, NOW, control), shards, { count });
  if (!payment.isPaid) return { waitMs: payment.dueAt - NOW, isAhead: payment.isAhead };
  expect(payment.takenAt).toBe(NOW);
  const [left] = payment.left;
  return { runMs: payment.runAt - NOW, holds: left && heldBy(left, NOW) / unitsOf(limit, 1) };
}

describe("a job", () => {
  it.each([
    ["that the bucket can pay runs now", ten, 10, 4, { runMs: 0, holds: 6 }],
    ["that the bucket can pay within 1,050 ms is paid ahead", ten, 0, 10, { runMs: 1000, holds: -10 }],
    ["that the bucket can pay later waits until 1,050 ms before", ten, -1, 10, { waitMs: 50, isAhead: true }],
    ["waits for room under maxReserved, and is not paid ahead", debtless, 5, 10, { waitMs: 500, isAhead: false }],
    ["larger than a full bucket is paid when the bucket is full", ten, 10, 45, { runMs: 3500, holds: -35 }],
    ["larger than a full bucket waits while the bucket is not full", ten, 9, 45, { waitMs: 100, isAhead: true }],
    // These start when the bucket has all that it can give, and owe the rest.
    ["too large for a lowered limit is paid by a full bucket", debtless, 10, 25, { runMs: 0, holds: -15 }],
    ["too large for a lowered limit reserves all it may", seven, 10, 25, { runMs: 700, holds: -15 }],
    ["too large for a lowered limit waits until then", debtless, 9, 25, { waitMs: 100, isAhead: false }],
    ["whose tokens take five years is paid ahead by a full bucket", yearly, 1, 6, { runMs: 5 * YEAR, holds: -5 }],
    ["whose tokens take over five years is paid by a full bucket", yearly, 1, 10, { runMs: 0, holds: -9 }],
    ["whose tokens take over five years waits until then", yearly, 0, 10, { waitMs: YEAR - AHEAD, isAhead: true }],
    ["of 0 tokens runs now", ten, 0, 0, { runMs: 0, holds: 0 }],
    ["of 0 tokens waits behind a debt", ten, -20, 0, { waitMs: 950, isAhead: true }],
  ] as const)("%s", (_what, config, held, count, expected) => {
    expect(paid(config, held, count)).toEqual(expected);
  });

  it("runs now if there is no bound, and what it takes is counted", () => {
    const control = { ...NO_CONTROL, override: { unlimited: true } } as const;
    expect(paid(ten, 5, 45, control)).toEqual({ runMs: 0, holds: -40 });
  });

  it("is remembered only if it may give tokens back", () => {
    const { shards } = bucketWith(ten, 10);
    const remembers = (job: PayableJob) => {
      const payment = payFor(termsAt(ten, NOW), shards, job);
      return payment.isPaid && payment.left.some(({ state }) => state.headroom);
    };
    expect([remembers({ count: 4 }), remembers({ count: 4, settles: "action" })]).toEqual([false, true]);
  });

  const configs: readonly RateLimitConfig[] = [
    ten,
    seven,
    { kind: "fixed window", rate: 10, period: 1000, start: 0 },
    { kind: "sliding window", rate: 10, period: 1000 },
  ];

  it("that waits is paid at its dueAt, and not a millisecond earlier", () => {
    const counts = fc.integer({ min: 1, max: 10 });
    forAny([fc.constantFrom(...configs), fc.integer({ min: -15, max: 10 }), counts], 100, (config, held, count) => {
      const { shards } = bucketWith(config, held);
      const payAt = (now: number) => payFor(termsAt(config, now), shards, { count });
      const first = payAt(NOW);
      if (first.isPaid) return;
      expect(first.dueAt).toBeGreaterThan(NOW);
      expect(payAt(first.dueAt).isPaid).toBe(true);
      expect(payAt(first.dueAt - 1).isPaid).toBe(false);
    });
  });
});

it("some rows pay all that they hold, and no more; it may come back, and no more than it", () => {
  const config = { ...ten, shards: 2 };
  const limit = parseLimit("llm", config);
  const half = splitTo(limit, fullShard(limit), 1, NOW).slice(1);
  const [five, six] = [5, 6].map((count) => payFor(termsAt(config), half, { count, settles: "mutation" }));
  const left = [{ state: { value: 0, headroom: [{ at: NOW, units: 0 }] } }];
  expect(five).toMatchObject({ isPaid: true, runAt: NOW, takenAt: NOW, left });
  expect(payFor(termsAt(config), half, { count: 5 })).not.toMatchObject({ left });
  expect(six).toEqual({ isPaid: false, dueAt: NOW, isAhead: false });
  // Five tokens come back, as five were taken. More is for other rows.
  const taking = { takenAt: NOW, startsAt: NOW };
  const settled = [-5, -6].map((count) => {
    const change = { units: unitsOf(limit, count), taking };
    return five?.isPaid && adjustOnSome(five.left, NOW, change, false)?.map((shard) => heldBy(shard, NOW));
  });
  expect(settled).toEqual([[unitsOf(limit, 5)], undefined]);
});

describe("jobs that are to leave a full queue", () => {
  const broughtIn = (terms: ReturnType<typeof termsAt>, held: readonly Shard[]) =>
    whenBroughtByAll([{ terms, shards: [], held }], [{ count: 3 }], 10) - NOW;

  it.each([
    ["token bucket", 2000, 2500],
    ["sliding window", 3000, 3000],
  ] as const)("count rows of a %s that were not read as empty", (kind, all, half) => {
    const terms = termsAt({ kind, rate: 10, period: 1000, shards: 2 });
    const { limit } = terms.bucket;
    expect(broughtIn(terms, [fullShard(limit)])).toBe(all);
    expect(broughtIn(terms, splitTo(limit, fullShard(limit), 1, NOW).slice(1))).toBe(half);
  });

  it.each([
    ["in time", 10, 1000, 1000],
    ["too late: nothing counts that it brings", 10, 999, 3999],
    ["too late, and a debt stays", -5, 1000, 4500],
  ])("are brought by a faster override %s", (_when, tokens, untilMs, inMs) => {
    const control = { ...NO_CONTROL, override: { config: { ...ten, rate: 20 }, until: NOW + untilMs } };
    const terms = termsAt(ten, NOW, control);
    const { limit } = terms.counted;
    expect(broughtIn(terms, adjustOnAll([fullShard(limit)], NOW, { units: unitsOf(limit, 10 - tokens) }))).toBe(inMs);
  });
});

it("waitWhenFull is how long a full bucket lets a job wait", () => {
  const limit = parseLimit("llm", ten);
  expect([0, 10, 11, 45].map((count) => waitWhenFull(limit, unitsOf(limit, count), NOW))).toEqual([0, 0, 100, 3500]);
});

const times = Array.from({ length: 64 }, () => ({ at: NOW, units: 1 }));
it.each<[rows: number, remembered: string, state: Partial<State>, most: number]>([
  [64, "nothing", {}, 256],
  [2048, "nothing", {}, 8],
  [64, "64 times", { recent: times }, 51],
  [2048, "64 times", { recent: times }, 1],
  // More than a run should, since none would be paid otherwise.
  [2048, "256 times", { recent: Array.from({ length: 4 }, () => times).flat() }, 1],
  [2048, "their window", { window: { since: NOW, used: 1 } }, 2],
  [2048, "what may come back", { headroom: [] }, 2],
])("of %i rows that remember %s a run pays few enough jobs for 50 ms of CPU", (rows, _, remembered, most) => {
  const limit = parseLimit("llm", { kind: "sliding window", rate: 100_000, period: 1000, shards: rows });
  const shards = splitTo(limit, fullShard(limit), Math.log2(rows), NOW);
  expect(mostPaidFrom(shards.map((shard) => ({ ...shard, state: { value: 1, ts: NOW, ...remembered } })))).toBe(most);
});
