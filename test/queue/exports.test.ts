/** If an app does not export its worker, or a part of it, the next caller gets an error. Once the app exports it, its jobs run. */
import { expect, it, vi } from "vitest";
import type { RegisteredQueue } from "convex-rate-limits/queue";
import { useClock } from "../support/clock.js";
import { act, run, useQueues } from "../support/queues.js";

useClock();

const limits = { llm: { kind: "token bucket", rate: 10, period: 1000, queue: {} } } as const;
const SECOND = 1000;

it("callers get an error while an app exports the object that holds the worker's functions", async () => {
  let exportsOf = (worker: RegisteredQueue): object => ({ worker });
  const exported = (worker: RegisteredQueue) => exportsOf(worker);
  const { enqueue, pass, until, order } = useQueues("tables", limits, {}, { exported });
  const silent = vi.spyOn(console, "error").mockReturnValue();
  expect(await enqueue("first")).toMatchObject({ ok: true });
  await pass(59 * SECOND);
  expect(await enqueue("second")).toMatchObject({ ok: true });
  await pass(SECOND);
  const missing =
    'Rate limit "llm": jobs wait, and their worker cannot run: limits.ts must export ' +
    "{ workQueue, runQueuedAction } = exposeQueueWorker() (queueModule), and the backend must be of convex 1.47 or later.";
  await expect(enqueue("third")).rejects.toThrow(missing);
  exportsOf = (worker) => worker;
  // A minute later the next caller starts it.
  await pass(60 * SECOND);
  expect(await enqueue("last")).toMatchObject({ ok: true });
  silent.mockRestore();
  await until(200 * SECOND);
  expect(order()).toEqual(["first", "second", "last"]);
});

it("two exports suffice", async () => {
  const { enqueue, until, order } = useQueues("tables", limits);
  await enqueue("mutation", { settles: "mutation" }, { used: 1 }, run);
  await enqueue("action", { settles: "action" }, { used: 1 }, act);
  await until(10 * SECOND);
  expect(order()).toEqual(["mutation", "action"]);
});
