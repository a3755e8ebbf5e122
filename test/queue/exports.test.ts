/** An app that forgets to export its worker, or a part of it, learns it from the next caller; once it does, its jobs run. */
import { expect, it, vi } from "vitest";
import { type RegisteredQueue } from "convex-rate-limits/queue";
import { NOW, useClock } from "../support/jobs.js";
import { openQueues, pass, run, runUntil } from "../support/queues.js";

useClock();

const limits = { llm: { kind: "token bucket", rate: 10, period: 1000, queue: {} } } as const;
const SECOND = 1000;

it.each<{ title: string; exported: (worker: RegisteredQueue) => object }>([
  { title: "the object that holds its functions", exported: (worker) => ({ worker }) },
  { title: "no query", exported: ({ workQueue, runQueuedAction }) => ({ workQueue, runQueuedAction }) },
])("an app that exports $title", async ({ exported }) => {
  let exportsOf = exported;
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
    "{ workQueue, findArrivals, runQueuedAction } = exposeQueueWorker() (queueModule).";
  await expect(enqueue("third")).rejects.toThrow(missing);
  exportsOf = (worker) => worker;
  // A minute later the next caller starts it.
  await pass(t, 60 * SECOND);
  expect(await enqueue("last")).toMatchObject({ ok: true });
  silent.mockRestore();
  await runUntil(t, NOW + 200 * SECOND);
  expect(starts.map(({ label }) => label)).toEqual(["first", "second", "last"]);
});
