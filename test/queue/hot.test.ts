/** A worker beside plain calls on the same split bucket: it mostly reads some rows, so that it does not conflict with each of them. */
import { expect, it, vi } from "vitest";
import { arrivals } from "../../bench/simulator/arrivals.js";
import { Backend } from "../../bench/simulator/backend.js";
import { job, queueApp } from "../../bench/simulator/queues.js";

const SECONDS = 6;
const poisson = (demand: number, seed: string) =>
  arrivals({ pattern: "poisson", demand, seconds: SECONDS, counts: { from: 1, to: 1 }, seed });
const second = { kind: "token bucket", rate: 1000, period: 1000, capacity: 1000 } as const;
const auto = { ...second, shards: "auto" } as const;
const split = { ...second, shards: { atLeast: 64 } } as const;

it.each([
  // A worker that reads all rows lets these wait until the plain calls have ended.
  { place: "tables", jobs: 2, count: 1, plain: 500, limit: auto },
  { place: "component", jobs: 2, count: 1, plain: 500, limit: auto },
  // A row holds 7 to 15 tokens.
  { place: "tables", jobs: 2, count: 12, plain: 500, limit: auto },
  { place: "tables", jobs: 2, count: 20, plain: 500, limit: auto },
  // One row at a time would pay for too few: a row holds two tokens, or 15.
  { place: "tables", jobs: 500, count: 1, plain: 5, limit: { ...split, capacity: 128, maxReserved: 0 } },
  { place: "tables", jobs: 800, count: 1, plain: 20, limit: split },
] as const)(
  "$jobs jobs of $count a second start within two seconds beside $plain plain calls, in the $place",
  async ({ place, jobs, count, plain, limit }) => {
    const app = queueApp(place, limit, {});
    const enqueuedAt = new Map<number, number>();
    const waits: number[] = [];
    const backend = new Backend(app.app, {
      seed: "1",
      onJob: ({ address, args: [args] }, { nowMs }) => {
        if (address.module === "jobs") waits.push(nowMs - (enqueuedAt.get((args as { label: number }).label) ?? NaN));
      },
    });
    const noted = vi.fn();
    for (const { atMs } of poisson(plain, "plain")) {
      backend.agenda.plan(atMs, () => {
        backend.call((ctx) => app.rateLimit(ctx, { name: "llm" }), noted);
      });
    }
    for (const [label, { atMs }] of poisson(jobs, "jobs").entries()) {
      backend.agenda.plan(atMs, () => {
        enqueuedAt.set(label, atMs);
        backend.call((ctx) => app.enqueueRateLimited(ctx, { name: "llm", count }, job, { label }), noted);
      });
    }
    await backend.agenda.run();
    expect(waits).toHaveLength(enqueuedAt.size);
    // Their tokens are always there.
    expect(Math.max(...waits)).toBeLessThan(2000);
  },
);
