/** The client's projection against the server's decision, and what only the snapshot's form can express. */
import { projectRateLimit, type RateLimitConfig, type RateLimitSnapshot } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { project } from "../../src/browser/project.js";
import { readySnapshot } from "../../src/browser/ready.js";
import { snapshotOf } from "../../src/engine/snapshot.js";
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
  if (status.resetAt === undefined) expect([status.ok, ready.parts.length > 1]).toEqual([true, true]);
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
});
