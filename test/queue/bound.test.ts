/** How exact `maxQueued` is: to the jobs of the last second. */
import { describe, expect, it } from "vitest";
import { arrivals } from "../../tools/simulator/arrivals.js";
import { Backend } from "../../tools/simulator/backend.js";
import type { Job } from "../../tools/simulator/context.js";
import { job, queueApp } from "../../tools/simulator/queues.js";
import { firstOf } from "../support/random.js";

interface Crowd {
  readonly place: "tables" | "component";
  readonly perSecond: number;
  readonly rate: number;
  readonly maxQueued: number;
  readonly fair?: boolean;
  readonly seconds: number;
  /** Of each job's arguments, about. */
  readonly bytes?: number;
  /** The share of callers that cancel a job instead of sending one. */
  readonly cancels?: number;
  readonly skewMs?: number;
  readonly seed?: string;
}

/** Counts; and `beyondLast`: the most jobs that waited beyond the bound when one was accepted, without those of the last second. */
async function overshoot(crowd: Crowd) {
  const { place, perSecond, rate, maxQueued, seconds } = crowd;
  const { fair = false, bytes = 0, cancels = 0, skewMs = 0, seed = "1" } = crowd;
  const text = "x".repeat(bytes);
  const limit = { kind: "token bucket", rate, period: 1000, capacity: rate } as const;
  const app = queueApp(place, limit, { maxQueued, fair });
  const accepted: number[] = [];
  const handles: unknown[] = [];
  const seen = { beyondLast: -Infinity, denied: 0, early: 0, late: 0, failed: 0, canceled: 0 };
  let waiting = 0;
  let fullUntilMs = 0;
  const note = (change: number) => {
    if (waiting >= maxQueued) fullUntilMs = backend.agenda.nowMs;
    waiting += change;
    // Jobs beyond the bound wait longer than a second, so `beyondLast` is checked only when another job is accepted.
    if (change <= 0) return;
    const last = accepted.filter((atMs) => atMs > backend.agenda.nowMs - 1000);
    seen.beyondLast = Math.max(seen.beyondLast, waiting - maxQueued - last.length);
  };
  const backend = new Backend(app.app, {
    seed,
    skewMs,
    onJob: ({ address }, { writes }) => {
      if (address.module !== app.worker.module) return;
      const scheduled = [...writes.values()].filter(({ table }) => table.endsWith("/_scheduled_functions"));
      const jobs = scheduled.filter(({ document }) => (document as unknown as Job).address.module === "jobs");
      note(-jobs.length);
    },
  });
  const all = arrivals({ pattern: "poisson", demand: perSecond, seconds, counts: { from: 1, to: 1 }, seed });
  for (const [label, { atMs }] of all.entries()) {
    backend.agenda.plan(atMs, () => {
      if (label % 100 < 100 * cancels && handles.length > 0) {
        backend.call(
          (ctx) => app.cancelQueued(ctx, handles.at(-3)),
          ({ outcome }) => {
            if (outcome.kind !== "committed" || !outcome.value.canceled) return;
            seen.canceled++;
            note(-1);
          },
        );
        return;
      }
      const args = { name: "llm", ...(fair && { fairBy: `user ${label % 7}` }) };
      backend.call(
        (ctx) => app.enqueueRateLimited(ctx, args, job, { label, text }),
        ({ outcome, clock }) => {
          if (outcome.kind !== "committed") seen.failed++;
          else if (outcome.value.ok) {
            accepted.push(backend.agenda.nowMs);
            handles.push(outcome.value.job);
            note(1);
          } else {
            seen.denied++;
            if (outcome.value.retryAt <= clock) seen.early++;
            // There has been room since longer than a report holds.
            if (waiting < maxQueued && backend.agenda.nowMs > fullUntilMs + 1500) seen.late++;
          }
        },
      );
    });
  }
  await backend.agenda.run();
  return { ...seen, left: waiting };
}

// The worker is the same code in both places.
const CROWDS = [
  { perSecond: 200, rate: 50, maxQueued: 300, seconds: 5 },
  // The worker sleeps between two jobs, and is woken while the queue is full.
  { perSecond: 300, rate: 1, maxQueued: 1, seconds: 4, seed: "9" },
  // The worker sleeps for minutes.
  { perSecond: 1, rate: 0.005, maxQueued: 5, seconds: 400 },
  { perSecond: 200, rate: 50, maxQueued: 300, seconds: 5, fair: true },
  // More jobs are accepted than a count that stops at the bound would find.
  { perSecond: 1000, rate: 20, maxQueued: 300, seconds: 3, seed: "3" },
  { perSecond: 200, rate: 100, maxQueued: 100, seconds: 8, cancels: 0.2 },
  { perSecond: 200, rate: 150, maxQueued: 100, seconds: 12, skewMs: 200 },
  // More than a run may count by their size, and the worker sleeps now and then.
  { perSecond: 20, rate: 1, maxQueued: 600, seconds: 45, bytes: 8000 },
];

describe.each(["tables", "component"] as const)("maxQueued in the %s", (place) => {
  it.each(place === "tables" ? firstOf(2, CROWDS) : CROWDS.slice(0, 1))(
    "is exceeded by no more than the jobs that are accepted within a second: %j",
    async (crowd) => {
      const seen = await overshoot({ ...crowd, place });
      expect(seen.beyondLast).toBeLessThanOrEqual(0);
      expect(seen.denied).toBeGreaterThan(50);
      expect(seen).toMatchObject({ early: 0, late: 0, failed: 0, left: 0 });
      if ((crowd.cancels ?? 0) > 0) expect(seen.canceled).toBeGreaterThan(20);
    },
  );
});
