/** If an app does not export its worker, or a part of it, the next caller gets an error. Once the app exports it, its jobs run. */
import { expect, it, vi } from "vitest";
import type { RegisteredQueue } from "convex-rate-limits/queue";
import { NOW, useClock } from "../support/clock.js";
import { act, openQueues, pass, run, runUntil } from "../support/queues.js";

useClock();

const limits = { llm: { kind: "token bucket", rate: 10, period: 1000, queue: {} } } as const;
const SECOND = 1000;

it("callers get an error while an app exports the object that holds the worker's functions", async () => {
  let exportsOf = (worker: RegisteredQueue): object => ({ worker });
  const { t, starts, enqueueRateLimited } = openQueues("tables", limits, (worker) => exportsOf(worker));
  const silent = vi.spyOn(console, "error").mockReturnValue();
  const enqueue = async (label: string) =>
    await t.mutation(async (ctx) => await enqueueRateLimited(ctx, { name: "llm" }, run, { label }));
  expect(await enqueue("first")).toMatchObject({ ok: true });
  await pass(t, 59 * SECOND);
  expect(await enqueue("second")).toMatchObject({ ok: true });
  await pass(t, SECOND);
  const missing =
    'Rate limit "llm": jobs wait, and their worker cannot run: limits.ts must export ' +
    "{ workQueue, runQueuedAction } = exposeQueueWorker() (queueModule), and the backend must be of convex 1.47 or later.";
  await expect(enqueue("third")).rejects.toThrow(missing);
  exportsOf = (worker) => worker;
  // A minute later the next caller starts it.
  await pass(t, 60 * SECOND);
  expect(await enqueue("last")).toMatchObject({ ok: true });
  silent.mockRestore();
  await runUntil(t, NOW + 200 * SECOND);
  expect(starts.map(({ label }) => label)).toEqual(["first", "second", "last"]);
});

it("two exports suffice", async () => {
  const { t, starts, enqueueRateLimited } = openQueues("tables", limits);
  for (const label of ["mutation", "action"]) {
    const args = { name: "llm", settles: label } as never;
    const fn = label === "action" ? act : run;
    await t.mutation(async (ctx) => await enqueueRateLimited(ctx, args, fn, { label, used: 1 }));
  }
  await runUntil(t, NOW + 10 * SECOND);
  expect(starts.map(({ label }) => label)).toEqual(["mutation", "action"]);
});
