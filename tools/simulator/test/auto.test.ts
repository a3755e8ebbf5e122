/** The figures of the loads that hot limits are made for. */
import { describe, expect, it } from "vitest";
import { DEFAULTS, runContention } from "../../../bench/contention.js";
import { type CaseName, CASES } from "../../../bench/contention/scenarios.js";
import { arrivals } from "../arrivals.js";
import { Backend, type Call } from "../backend.js";
import { ours } from "../ours.js";
import { queueApp } from "../queues.js";
import { simulate } from "../simulation.js";
import { effort, firstOf } from "../../../test/support/random.js";

/** The figures of `auto` with 256 permits in docs/benchmarks.md, measured over a few seconds. EFFORT=1 also runs the heavy loads. */
describe("auto", () => {
  const runAuto = async (name: CaseName, seconds: number) => {
    const options = { ...DEFAULTS, seconds };
    const { scenario, resends = false } = CASES[name](options);
    const metrics = await simulate(ours("auto"), scenario, { ...options, resends, platform: "S256" });
    expect(metrics.overGrant).toBe(0);
    return { ...metrics, rowsPerKey: metrics.rowsAtEnd / metrics.keys };
  };

  it("keeps cold keys on one row, which each call reads once", async () => {
    const { rowsPerKey, perCall } = await runAuto("cold-keys", 10);
    expect(rowsPerKey).toBeLessThanOrEqual(1.1);
    // A bucket that may be split has its control row beside its row: the first call on a key reads a second range.
    expect(perCall.rangesRead).toBeLessThanOrEqual(1.1);
  });

  it("splits a key with 20 calls within a second into at most four rows", async () => {
    expect((await runAuto("herd-20", 1)).rowsPerKey).toBeLessThanOrEqual(4);
  });

  const steady = [
    // The first seconds, in which rows still split.
    { name: "load-1000", seconds: 1.5, attempts: 1.09, admitted: 0.995, failures: 0 },
    ...(effort < 1
      ? []
      : ([
          { name: "load-1000", seconds: 10, attempts: 1.08, admitted: 0.995, failures: 0 },
          { name: "load-1000x3", seconds: 4, attempts: 1.12, admitted: 0.97, failures: 0 },
          { name: "load-3000x3", seconds: 1, attempts: 1.3, admitted: 0.9, failures: 0.001 },
        ] as const)),
  ] as const;
  it.each(steady)("$name: few conflicts, few lost tokens", async ({ name, seconds, attempts, admitted, failures }) => {
    const { attemptsPerCall, failed, utilisation } = await runAuto(name, seconds);
    expect(attemptsPerCall).toBeLessThanOrEqual(attempts);
    expect(failed).toBeLessThanOrEqual(failures);
    expect(utilisation).toBeGreaterThanOrEqual(admitted);
  });

  it("survives a step from 1/s to 1000/s", async () => {
    expect((await runAuto("step", 1)).failed).toBeLessThan(0.01);
  });

  it.each(firstOf(1, ["flash-crowd", "flash-crowd-windows"] as const))(
    "a denial reads up to 3 rows, after a %s",
    async (name) => {
      const { admitted, attemptsPerCall, perDenial, falseDenials } = await runAuto(name, 10);
      expect(admitted).toBe(1000);
      expect(falseDenials).toBe(0);
      expect(attemptsPerCall).toBeLessThanOrEqual(1.1);
      expect(perDenial.rowsRead).toBeLessThanOrEqual(3);
    },
  );

  it.each(firstOf(1, ["token bucket", "fixed window", "sliding window"] as const))(
    "refunds by date to a %s do not conflict with its calls",
    async (kind) => {
      const app = queueApp("tables", { kind, rate: 1200, period: 1000, shards: "auto" }, {});
      const backend = new Backend(app.app, { seed: "1", platform: "S256" });
      const refunds: Call<unknown>[] = [];
      const take = () => {
        backend.call(
          (ctx) => app.rateLimit(ctx, { name: "llm", count: 10, refundable: true }) as Promise<{ takenAt?: number }>,
          ({ outcome, endedMs }) => {
            if (outcome.kind !== "committed" || outcome.value.takenAt === undefined) return;
            const refund = { name: "llm", count: -4, takenAt: outcome.value.takenAt };
            backend.agenda.plan(endedMs + 500, () => {
              backend.call((ctx) => app.adjustRateLimit(ctx, refund), refunds.push.bind(refunds));
            });
          },
        );
      };
      const callers = { pattern: "poisson", demand: 100, seconds: 5, counts: { from: 1, to: 1 }, seed: "1" } as const;
      for (const { atMs } of arrivals(callers)) backend.agenda.plan(atMs, take);
      await backend.agenda.run();
      expect(refunds.length).toBeGreaterThan(450);
      const failed = refunds.filter(({ outcome }) => outcome.kind !== "committed");
      expect(failed.length).toBeLessThan(0.01 * refunds.length);
      const attempts = refunds.reduce((sum, call) => sum + call.attempts, 0);
      expect(attempts / refunds.length).toBeLessThan(1.6);
    },
  );

  /** The figures of the registry in docs/benchmarks.md. */
  it("fails no call of a registry's API, under a load at which 16 shards of the official component fail", async () => {
    const options = { ...DEFAULTS, cases: ["registry"], classes: ["S256"], official: [16], seconds: 3 } as const;
    const [result] = await runContention(options);
    const [tables, component, official] = result?.runs[0]?.metrics ?? [];
    for (const own of [tables, component]) {
      expect(own).toMatchObject({ library: "ours", failed: 0, overGrant: 0 });
      expect(own?.attemptsPerCall).toBeLessThanOrEqual(1.06);
    }
    expect(official?.failed).toBeGreaterThan(0.005);
    expect(official?.attemptsPerCall).toBeGreaterThan(1.4);
  });

  // Each of its calls asks several limits, so this test takes four times as long as the others.
  if (effort >= 1) {
    it("does not retry a bundle because of its cold limits", async () => {
      expect((await runAuto("bundle", 1.5)).attemptsPerCall).toBeLessThanOrEqual(1.09);
    });
  }
});
