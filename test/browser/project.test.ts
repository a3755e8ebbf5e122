/** The client's projection against the server's decision, and what only the snapshot's form can express. */
import { projectRateLimit, type RateLimitConfig, type RateLimitSnapshot } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { project } from "../../src/browser/project.js";
import { readySnapshot } from "../../src/browser/ready.js";
import type { ReadySnapshot } from "../../src/browser/snapshot.js";
import { parseLimit } from "../../src/engine/limit.js";
import { partOf } from "../../src/engine/sharding/heap.js";
import { snapshotOf } from "../../src/engine/snapshot.js";
import type { Part } from "../../src/engine/types.js";
import { configs, partitions } from "../engine/arbitraries.js";

const NOW = 1_700_000_000_000;

/** The answer or, where there is none, that there is none. */
function outcome<Status>(status: () => Status): Status | "an error" {
  try {
    return status();
  } catch {
    return "an error";
  }
}

function expectAgreement(snapshot: RateLimitSnapshot, asked: { now: number; count: number; reserve: boolean }): void {
  const theirs = outcome(() => projectRateLimit(snapshot, asked));
  const ready = readySnapshot(snapshot);
  const ours = outcome(() => project(ready, asked));
  if (typeof ours === "string" || typeof theirs === "string") {
    expect(ours).toBe(theirs);
    return;
  }
  const { value, ...status } = ours;
  expect(theirs).toMatchObject(status);
  // Which of several rows pays is the server's choice: only then is it left open when all of them are full.
  if (status.resetAt === undefined && theirs.resetAt < 8.64e15) {
    expect([status.ok, ready.parts.length > 1]).toEqual([true, true]);
  }
  expect(ours.retryAt).toBe(theirs.retryAt);
  expect(value).toBeLessThanOrEqual(snapshot.config.capacity ?? snapshot.config.rate);
}

/** Moments from well before the state was written to long after it, most of them near it. */
const moments = fc.oneof(
  fc.integer({ min: -10_000, max: 10_000 }).map((ms) => NOW + ms),
  fc.double({ min: NOW, max: NOW + 1000, noNaN: true }),
  fc.integer({ min: 0, max: 2 * NOW }),
  fc.constantFrom(NaN, Infinity, 8.64e15, 8.64e15 + 1),
);
const counts = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.integer({ min: 0, max: 6000 }),
  fc.integer({ min: 0, max: 20_000 }).map((thousandths) => thousandths / 1000),
  fc.constantFrom(0.29, 0.5, 1 / 3, 12.75, -1, NaN, 1e13),
);
const questions = fc.record({ now: moments, count: counts, reserve: fc.boolean() });

describe("agrees with projectRateLimit", () => {
  it("on one row", () => {
    const states = fc.record({
      value: fc.oneof(fc.integer({ min: -6000, max: 6000 }), fc.double({ min: -20, max: 20, noNaN: true })),
      ts: fc.oneof(fc.constant(0), fc.integer({ min: NOW - 5000, max: NOW + 5000 })),
    });
    const single = configs.map((config): RateLimitConfig => ({ ...config, shards: 1 }));
    fc.assert(
      fc.property(single, states, questions, (config, { value, ts }, asked) => {
        const { capacity = config.rate } = config;
        expectAgreement({ name: "any", value: Math.min(capacity, value), ts, config }, asked);
      }),
      { numRuns: 3000 },
    );
  });

  it("on the rows that any history of shard counts may leave", () => {
    fc.assert(
      fc.property(partitions, questions, ({ limit, stored }, asked) => {
        fc.pre(stored.length > 0);
        expectAgreement(snapshotOf(limit, stored), asked);
      }),
      { numRuns: 3000 },
    );
  });

  it("on rows that are all but empty, of limits that refill fast", () => {
    const emptied = fc
      .record({
        kind: fc.constantFrom("token bucket" as const, "fixed window" as const),
        rate: fc.integer({ min: 10, max: 10_000 }),
        period: fc.constantFrom(10, 50, 1000),
        capacity: fc.integer({ min: 10, max: 5000 }),
        shards: fc.constantFrom(2, 4, 16),
      })
      .chain((config) => {
        const limit = parseLimit("fast", config);
        const held = fc.record({ tokens: fc.double({ min: -3, max: 1.5, noNaN: true }), agoMs: fc.nat(3) });
        const rows = fc.array(held, { minLength: limit.shards, maxLength: limit.shards }).map((states) =>
          states.map(({ tokens, agoMs }, index): Part => {
            const node = limit.shards + index;
            const part = partOf(limit, node);
            const value = Math.min(part.capacity, Math.floor(tokens * limit.unitsPerToken));
            return { node, limit: part, bucket: { value, ts: NOW - agoMs } };
          }),
        );
        return fc.record({ limit: fc.constant(limit), rows });
      });
    fc.assert(
      fc.property(emptied, fc.nat(3), fc.nat(60), fc.boolean(), ({ limit, rows }, waited, count, reserve) => {
        expectAgreement(snapshotOf(limit, rows), { now: NOW + waited, count, reserve });
      }),
      { numRuns: 3000 },
    );
  });
});

describe("a sliding window", () => {
  // Five tokens in any second; two were taken at 0, two at 300.
  const snapshot: ReadySnapshot = {
    name: "slide",
    unitsPerToken: 1000,
    capacity: 5000,
    maxReserved: 0,
    refill: 1,
    period: 1000,
    parts: [
      {
        value: 1000,
        ts: NOW + 300,
        recent: [
          [NOW, 2000],
          [NOW + 300, 2000],
        ] as const,
      },
    ],
  };

  it("gives back what was taken a period ago, to the millisecond", () => {
    expect(project(snapshot, { now: NOW + 300 })).toEqual({ ok: true, value: 1, remaining: 0, resetAt: NOW + 1300 });
    expect(project(snapshot, { now: NOW + 999, count: 2 })).toMatchObject({ ok: false, retryAt: NOW + 1000, value: 1 });
    expect(project(snapshot, { now: NOW + 1000, count: 3 })).toEqual({
      ok: true,
      value: 3,
      remaining: 0,
      resetAt: NOW + 2000,
    });
    expect(project(snapshot, { now: NOW + 400, count: 4 })).toMatchObject({ ok: false, retryAt: NOW + 1300 });
    expect(project(snapshot, { now: NOW + 1300, count: 0 })).toMatchObject({ value: 5, resetAt: NOW + 1300 });
  });

  it("lets no period hold more than its capacity, whatever is taken at the moments that it names", () => {
    const takes = fc.array(fc.record({ wait: fc.nat(1500), count: fc.integer({ min: 1, max: 5 }) }), { maxLength: 30 });
    fc.assert(
      fc.property(takes, (asks) => {
        let now = NOW + 300;
        let state = snapshot;
        const taken: [at: number, units: number][] = [
          [NOW, 2000],
          [NOW + 300, 2000],
        ];
        for (const { wait, count } of asks) {
          const asked = project(state, { now: (now += wait), count });
          if (!asked.ok) {
            expect(project(state, { now: asked.retryAt - 1, count }).ok).toBe(false);
            now = asked.retryAt;
          }
          const { ok, value } = project(state, { now, count });
          expect(ok).toBe(true);
          taken.push([now, count * 1000]);
          const inPeriod = taken.filter(([at]) => at > now - 1000).reduce((sum, [, units]) => sum + units, 0);
          expect(inPeriod).toBeLessThanOrEqual(5000);
          state = { ...state, parts: [{ value: value * 1000 - count * 1000, ts: now, recent: [...taken] }] };
        }
      }),
    );
  });
});

describe("calendar windows", () => {
  const DAY = 86_400_000;
  // Months of 31, 28 and 31 days: 10 tokens at each start, at most 15 are kept.
  const starts = [NOW + 31 * DAY, NOW + 59 * DAY, NOW + 90 * DAY];
  const at = (value: number): ReadySnapshot => ({
    name: "monthly",
    unitsPerToken: 1000,
    capacity: 15_000,
    maxReserved: 30_000,
    refill: 10_000,
    starts,
    parts: [{ value: value * 1000, ts: NOW }],
  });

  it("bring their tokens at the starts that the server has listed", () => {
    expect(project(at(0), { now: NOW })).toEqual({
      ok: false,
      retryAt: starts[0],
      value: 0,
      remaining: 0,
      resetAt: starts[0],
    });
    expect(project(at(0), { now: NOW, count: 11 })).toMatchObject({ ok: false, retryAt: starts[1] });
    expect(project(at(0), { now: NOW + 31 * DAY })).toEqual({ ok: true, value: 10, remaining: 9, resetAt: starts[1] });
    expect(project(at(0), { now: NOW + 60 * DAY })).toMatchObject({ value: 15, resetAt: starts[2] });
    expect(project(at(-5), { now: NOW, count: 20, reserve: true })).toMatchObject({ ok: true, retryAt: starts[2] });
  });

  it("say nothing about the next start after the last that is listed", () => {
    const status = project(at(0), { now: NOW + 91 * DAY });
    expect(status).toEqual({ ok: true, value: 15, remaining: 14 });
  });
});
