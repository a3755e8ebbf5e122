import { describe, expect, it } from "vitest";
import { Backend } from "../backend.js";
import { type Answer, type Design, UNKEYED } from "../design.js";
import { type BucketConfig, ExactBucket } from "../oracle.js";
import { ours } from "../ours.js";
import { peer, peerAsynchronous } from "../peer.js";
import { PLATFORM } from "../platform.js";
import { createRandom, exponential, wholeNumber } from "../random.js";
import type { Scenario } from "../scenario.js";
import { simulate } from "../simulation.js";

const limits: BucketConfig[] = [
  { kind: "token bucket", rate: 20, period: 1000, capacity: 30 },
  { kind: "fixed window", rate: 20, period: 1000, capacity: 30, start: 0 },
];
const singleRow: Design[] = [ours(1), ours(1, "component"), peer(1)];

/** Calls that follow one another with gaps long enough that no two overlap, with their answers. */
async function serially(design: Design, limit: BucketConfig) {
  const backend = new Backend(design.app, { seed: "serial", epochMs: 0 });
  const consume = design.limit(limit, design.shards, UNKEYED);
  const random = createRandom("serial");
  const asked: { count: number; clock: number; answer: Answer; attempts: number }[] = [];
  let atMs = 1000;
  for (let i = 0; i < 400; i++) {
    // Only one in many millions of executions takes longer than this.
    atMs += 500 + exponential(random, 300);
    const count = wholeNumber(random, 1, 30);
    backend.agenda.plan(atMs, () => {
      backend.call(
        async (ctx) => await consume(ctx, { count }),
        ({ outcome, clock, attempts }) => {
          if (outcome.kind !== "committed") throw new Error(outcome.kind);
          asked.push({ count, clock, answer: outcome.value, attempts });
        },
      );
    });
  }
  await backend.agenda.run();
  return asked;
}

describe.each(singleRow)("$label, with calls that do not overlap", (design) => {
  it.each(limits)("answers like one exact bucket: $kind", async (limit) => {
    const asked = await serially(design, limit);
    const exact = new ExactBucket(limit);
    const expected = asked.map(({ clock, count }) => exact.take({ atMs: clock, count }));
    expect(asked.map(({ answer }) => answer.ok)).toEqual(expected);
    expect(new Set(expected)).toEqual(new Set([true, false]));
    expect(asked.every(({ attempts }) => attempts === 1)).toBe(true);
  });
});

const busy: Scenario = {
  limit: { kind: "token bucket", rate: 200, period: 1000, capacity: 100 },
  callers: { kind: "open", pattern: "poisson", demand: 300, counts: { from: 1, to: 1 } },
  seconds: 1,
  probes: 30,
};

describe("under load", () => {
  it.each([...singleRow, ours(16), peer(16)])("$label never exceeds the limit", async (design) => {
    const metrics = await simulate(design, busy, { seed: "load" });
    expect(metrics).toMatchObject({ overGrant: 0, threw: 0 });
    expect(metrics.admittedCalls).toBeGreaterThan(50);
    expect(metrics.attemptsPerCall).toBeGreaterThan(1);
  });

  // test/laws/agreement.test.ts tests that both places decide alike.
  it("a call into the component takes the time of a hop", async () => {
    const calm: Scenario = {
      limit: { kind: "token bucket", rate: 1, period: 10_000, capacity: 3 },
      callers: { kind: "open", pattern: "poisson", demand: 0.2, counts: { from: 1, to: 1 } },
      seconds: 500,
    };
    const tables = await simulate(ours(1), calm, { seed: "places" });
    const component = await simulate(ours(1, "component"), calm, { seed: "places" });
    expect([tables.perCall.hops, component.perCall.hops]).toEqual([0, 1]);
    expect(component.p50Ms).toBeCloseTo(tables.p50Ms + PLATFORM.hopMs, 6);
  });

  it("the peer's asynchronous mode runs its worker, never conflicts, and admits too much", async () => {
    const metrics = await simulate(
      peerAsynchronous(),
      { ...busy, callers: { kind: "open", pattern: "poisson", demand: 900, counts: { from: 1, to: 1 } } },
      { seed: "worker" },
    );
    expect(metrics.firstError).toBeUndefined();
    expect(metrics.attemptsPerCall).toBeLessThan(1.05);
    expect(metrics.backgroundPerCall.rowsWritten).toBeGreaterThan(0.2);
    expect(metrics.deniedCalls).toBeGreaterThan(100);
    expect(metrics.overGrant).toBeGreaterThan(1);
  });

  it("a seed repeats a run, and another seed does not", async () => {
    const first = await simulate(ours(1), busy, { seed: "1" });
    expect(await simulate(ours(1), busy, { seed: "1" })).toEqual(first);
    expect(await simulate(ours(1), busy, { seed: "2" })).not.toEqual(first);
  });

  it("clocks that differ grant no token beyond their difference", async () => {
    const metrics = await simulate(ours(1), busy, { seed: "skew", skewMs: 40 });
    expect(metrics.overGrant).toBe(0);
  });

  it('closed-loop callers wait for their answers, and have a bucket each with keys "own"', async () => {
    const closed = (keys: "own" | "shared"): Scenario => ({
      limit: { kind: "token bucket", rate: 10, period: 1000, capacity: 10 },
      callers: { kind: "closed", callers: 8, thinkMs: 0, counts: { from: 1, to: 1 }, keys },
      seconds: 2,
    });
    const shared = await simulate(ours(1), closed("shared"), { seed: "closed" });
    const own = await simulate(ours(1), closed("own"), { seed: "closed" });
    expect(shared.admitted).toBeLessThanOrEqual(30);
    expect(own.attemptsPerCall).toBe(1);
    expect(own.overGrant).toBe(0);
    expect(own.admitted).toBeGreaterThan(8 * 25);
    expect(own.admitted).toBeLessThanOrEqual(8 * 30);
  });

  it("a change of the shard count takes effect at its time", async () => {
    const drained: Scenario = { ...overloaded, limit: { ...overloaded.limit, capacity: 200 }, seconds: 6 };
    const scenario: Scenario = { ...drained, changes: [{ atMs: 4000, shards: 16 }] };
    const stayed = await simulate(peer(4), drained, { seed: "c" });
    const changed = await simulate(peer(4), scenario, { seed: "c" });
    expect(stayed.overGrant).toBe(0);
    // The peer's new shards begin full, which this project avoids.
    expect(changed.overGrant).toBeGreaterThan(50);
  });

  it("probes test whether a denial's retryAt is true if no other caller calls", async () => {
    const exact = await simulate(ours(1), overloaded, { seed: "probe" });
    expect(exact).toMatchObject({ probes: 20, honest: 1 });
    const guessed = await simulate(peer(16), overloaded, { seed: "probe" });
    expect(guessed.probes).toBe(20);
    expect(guessed.honest).toBeLessThan(1);
  });

  const overloaded: Scenario = {
    limit: { kind: "token bucket", rate: 20, period: 1000, capacity: 20 },
    callers: { kind: "open", pattern: "bursty", demand: 60, counts: { from: 1, to: 1 } },
    seconds: 6,
    probes: 20,
  };
});
