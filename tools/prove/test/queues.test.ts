/** Each of what starts a lost worker, in a test's clock: a short run of the kit has no minute to wait for it. */
import { beforeEach, expect, it, vi } from "vitest";
import { api } from "../../../stage/convex/_generated/api.js";
import { WAKERS } from "../../../stage/convex/prove/operations.js";
import { openBackend, useClock } from "../../../test/stage/backend.js";

const secret = "a secret of sixteen characters";
useClock();
beforeEach(() => {
  vi.stubEnv("PROVE_SECRET", secret);
});

it.each(WAKERS)("the next %s starts a worker whose planned run was cancelled a minute ago", async (by) => {
  const t = openBackend();
  const row = { secret, run: "run", label: by };
  const pass = async (ms: number) => {
    for (const end = Date.now() + ms; Date.now() < end; vi.advanceTimersByTime(100)) {
      await t.finishInProgressScheduledFunctions();
    }
  };
  const started = async () => (await t.query(api.prove.rows.list, row)).map(({ n }) => n);
  const job = await t.mutation(api.prove.queues.enqueueThree, { ...row, key: "key" });
  await pass(1000);
  expect(await t.mutation(api.prove.queues.lose, { secret, key: "key" })).toBe(1);
  await pass(63_000);
  expect(await started()).toEqual([0]);
  await t.mutation(api.prove.queues.rouse, { ...row, key: "key", job, by });
  await pass(10_000);
  expect(await started()).toEqual({ cancel: [0, 1], enqueue: [0, 1, 2, 3] }[by as string] ?? [0, 1, 2]);
});
