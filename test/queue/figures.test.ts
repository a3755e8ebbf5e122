// @vitest-environment node
/** The figures of docs/queue.md, as far as seconds show them; and what happens at the moment at which a worker stops. */
import { describe, expect, it } from "vitest";
import { runQueueLoad } from "../../bench/queues.js";
import { Backend } from "../../bench/simulator/backend.js";
import { job, queueApp } from "../../bench/simulator/queues.js";

describe("callers on one bucket that is short by a fifth", () => {
  it.each([
    { perSecond: 60, seconds: 4, place: "tables" },
    { perSecond: 200, seconds: 3, place: "component" },
    { perSecond: 1000, seconds: 1, place: "tables" },
  ] as const)("$perSecond jobs a second in the $place do not conflict, none is lost, the bound holds", async (load) => {
    const figures = await runQueueLoad({ ...load, platform: "S256", seed: "1" });
    expect(figures.jobs).toBeGreaterThan(0.9 * load.perSecond * load.seconds);
    expect(figures).toMatchObject({ lost: 0, overGrant: 0, failed: 0 });
    expect(figures.attemptsPerJob).toBeLessThanOrEqual(1.05);
    expect(figures.runsPerSecond).toBeLessThanOrEqual(50);
    expect(figures.extraWaitMs).toBeLessThanOrEqual(100);
    if (load.perSecond < 1000) expect(figures.meanDecidedMs).toBeLessThanOrEqual(100);
  });
});

describe("a caller that comes while the worker stops", () => {
  it("is not forgotten, whatever the moment", async () => {
    const config = { kind: "token bucket", rate: 1000, period: 1000 } as const;
    const stuck: number[] = [];
    for (let gapMs = 200; gapMs < 500; gapMs += 3) {
      const app = queueApp("tables", config, {});
      let ran = 0;
      const onJob = ({ address }: { address: { module: string } }) => {
        if (address.module === "jobs") ran++;
      };
      const backend = new Backend(app.app, { seed: "1", onJob });
      for (const atMs of [0, gapMs]) {
        backend.agenda.plan(atMs, () => {
          backend.call(
            (ctx) => app.enqueueRateLimited(ctx, { name: "llm" }, job, { label: atMs }),
            () => undefined,
          );
        });
      }
      await backend.agenda.run();
      if (ran !== 2) stuck.push(gapMs);
    }
    expect(stuck).toEqual([]);
  });

  it("costs nothing when nobody comes: after the last job nothing is planned any more", async () => {
    const app = queueApp("tables", { kind: "token bucket", rate: 1, period: 1000 }, {});
    const backend = new Backend(app.app, { seed: "1" });
    backend.call(
      (ctx) => app.enqueueRateLimited(ctx, { name: "llm" }, job, { label: 1 }),
      () => undefined,
    );
    // The agenda is empty in the end: no polling. So many runs a lone job costs, itself included.
    await backend.agenda.run();
    expect(backend.background.runs).toBeLessThanOrEqual(9);
    expect(backend.agenda.nowMs).toBeLessThan(1000);
  });
});

describe("cost", () => {
  it("a caller reads one row and inserts one; a cancel among thousands reads one and deletes one", async () => {
    const app = queueApp("tables", { kind: "token bucket", rate: 1, period: 86_400_000, capacity: 1 }, {});
    const backend = new Backend(app.app, { seed: "1" });
    const handles: unknown[] = [];
    for (let i = 0; i < 2000; i += 500) {
      backend.agenda.plan(i, () => {
        backend.call(
          async (ctx) => {
            for (let j = i; j < i + 500; j++) {
              const status = await app.enqueueRateLimited(ctx, { name: "llm" }, job, { label: j });
              if (status.ok) handles.push(status.job);
            }
          },
          () => undefined,
        );
      });
    }
    let [enqueuing, canceling] = [{}, {}];
    backend.agenda.plan(5000, () => {
      backend.call(
        (ctx) => app.cancelQueued(ctx, handles.at(-7)),
        ({ lastCost, outcome }) => {
          canceling = { ...lastCost, outcome };
        },
      );
    });
    backend.agenda.plan(1520, () => {
      backend.call(
        (ctx) => app.enqueueRateLimited(ctx, { name: "llm" }, job, { label: -1 }),
        ({ lastCost }) => (enqueuing = lastCost),
      );
    });
    await backend.agenda.run(() => backend.agenda.nowMs > 6000);
    expect(enqueuing).toMatchObject({ rowsRead: 1, rowsWritten: 1 });
    expect(canceling).toMatchObject({ rowsRead: 1, rowsReread: 1, rowsWritten: 1 });
    expect(canceling).toMatchObject({ outcome: { kind: "committed", value: { canceled: true } } });
  });
});
