/** A worker beside what others write to its bucket: plain calls, of which it mostly reads some rows, and the ends of jobs, which it settles. */
import { expect, it, vi } from "vitest";
import { arrivals } from "../../tools/simulator/arrivals.js";
import { Backend } from "../../tools/simulator/backend.js";
import { job, queueApp } from "../../tools/simulator/queues.js";
import { firstOf } from "../support/random.js";

const SECONDS = 4;
const poisson = (demand: number, seed: string) =>
  arrivals({ pattern: "poisson", demand, seconds: SECONDS, counts: { from: 1, to: 1 }, seed });
const second = { kind: "token bucket", rate: 1000, period: 1000, capacity: 1000 } as const;
const auto = { ...second, shards: "auto" } as const;
const split = { ...second, shards: { atLeast: 64 } } as const;

const CROWDS = [
  // A worker that reads all rows lets these wait until the plain calls have ended.
  { place: "tables", jobs: 2, count: 1, plain: 500, limit: auto },
  // A worker that settles each job on a random row, or on all, lets others wait until the plain calls have ended.
  { place: "component", jobs: 30, count: 3, used: 6, plain: 300, limit: auto },
  // A row holds 7 to 15 tokens.
  { place: "tables", jobs: 2, count: 20, plain: 500, limit: auto },
  // One row at a time would pay for too few: a row holds two tokens, or 15.
  { place: "tables", jobs: 500, count: 1, plain: 5, limit: { ...split, capacity: 128, maxReserved: 0 } },
  { place: "component", jobs: 2, count: 1, plain: 500, limit: auto },
  { place: "tables", jobs: 2, count: 12, plain: 500, limit: auto },
  { place: "tables", jobs: 800, count: 1, plain: 20, limit: split },
  { place: "tables", jobs: 30, count: 3, used: 1, plain: 300, limit: auto },
] as const;
it.each(firstOf(2, CROWDS))(
  "$jobs jobs of $count a second start within two seconds beside $plain plain calls, in the $place",
  async ({ place, jobs, count, plain, limit, ...rest }) => {
    const args = { name: "llm", count, ...("used" in rest && { settles: "mutation" }) };
    const app = queueApp(place, limit, {});
    const enqueuedAt = new Map<number, number>();
    const waits: number[] = [];
    const backend = new Backend(app.app, {
      seed: "1",
      onJob: ({ address, args: [args] }, { nowMs }) => {
        const { job: settling } = args as { job?: { args: object } };
        const { label } = (settling?.args ?? args) as { label: number };
        if (settling || address.module === "jobs") waits.push(nowMs - (enqueuedAt.get(label) ?? NaN));
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
        backend.call((ctx) => app.enqueueRateLimited(ctx, args, job, { label, ...rest }), noted);
      });
    }
    await backend.agenda.run();
    expect(waits).toHaveLength(enqueuedAt.size);
    // Their tokens are always there.
    expect(Math.max(...waits)).toBeLessThan(2000);
  },
);

/** Jobs that each give 4 of 10 tokens back to a bucket that hardly refills: how late they and the last run are, what it then lacks, rows left. */
async function playSettling(times: readonly number[], config: object = {}) {
  const capacity = 1e6;
  const app = queueApp("tables", { kind: "token bucket", rate: 1, period: 1e12, capacity, ...config }, {});
  const lateMs: number[] = [];
  const backend = new Backend(app.app, {
    seed: "1",
    onJob: ({ args: [args], scheduledTime }, { clock }) => {
      if ((args as { job?: object }).job) lateMs.push(clock - scheduledTime);
    },
  });
  for (const [label, atMs] of times.entries()) {
    backend.agenda.plan(atMs, () => {
      const args = { name: "llm", count: 10, settles: "mutation" };
      backend.call((ctx) => app.enqueueRateLimited(ctx, args, job, { label, used: 6 }), vi.fn());
    });
  }
  await backend.agenda.run();
  const overMs = backend.agenda.nowMs - (times.at(-1) ?? 0);
  const onRead = vi.fn();
  backend.call((ctx) => app.getRateLimit(ctx, { name: "llm" }), onRead);
  await backend.agenda.run();
  const [[{ outcome }]] = onRead.mock.calls as [[{ outcome: { value: { value: number } } }]];
  const missing = Math.round(capacity - outcome.value.value);
  return { lateMs, overMs, missing, rows: backend.store.count("rateLimitQueue") };
}

it.each(
  firstOf(1, [
    [200, { shards: "auto" }],
    [60, {}],
    [60, { shards: "auto" }],
    [500, { shards: "auto" }],
  ] as const),
)(
  "%i jobs a second that end conflict neither with the worker nor with each other, and it keeps up (%j)",
  async (demand, config) => {
    const times = poisson(demand, "settling").map(({ atMs }) => atMs);
    const { lateMs, overMs, ...rest } = await playSettling(times, config);
    expect(rest).toEqual({ missing: 6 * times.length, rows: 0 });
    // As late as Convex runs any function, but for those of the first 200 ms, which settle by themselves.
    expect(Math.max(...lateMs)).toBeLessThan(400);
    expect(overMs).toBeLessThan(1000);
  },
);

it("a job that ends at any time around the stop of its worker is settled", async () => {
  const unsettled: number[] = [];
  // The second job starts after six tenths of this time. Its worker stops at 400 ms.
  for (let period = 596; period < 630; period += 2) {
    if ((await playSettling([0, 150], { rate: 10, period, capacity: 10 })).rows > 0) unsettled.push(period);
  }
  expect(unsettled).toEqual([]);
});
