/** A run that takes all jobs that it sees, while a newer one has come: it must stay, and the next run counts that job once. */
import { expect, it } from "vitest";
import { MINUTE } from "convex-rate-limits";
import { work } from "../../src/queue/run.js";
import type { WorkerCtx } from "../../src/queue/tables.js";
import { inQueue } from "../../src/queue/worker.js";
import type { RunArgs } from "../../src/wire/queue.js";
import { NOW, useClock } from "../support/clock.js";
import { documentsIn } from "../support/places.js";
import { useQueues } from "../support/queues.js";

useClock();

const slow = { kind: "token bucket", rate: 10, period: MINUTE, capacity: 20 } as const;

it.each([false, true])("fair: %s", async (fair) => {
  const queue = { maxQueued: 3, fair };
  const { t, jobOf, position, enqueue } = useQueues("tables", { llm: { ...slow, queue } }, { count: 10 });
  const of = (user: string) => (fair ? { fairBy: user } : {});
  await jobOf("first", of("a"));
  await jobOf("second", of("b"));
  const seenTo = (await documentsIn("tables", t, "rateLimitQueue")).at(-1)?.["arrivedAt"] as bigint;
  const newer = await jobOf("newer", of("c"));
  const [worker] = await documentsIn("tables", t, "rateLimitWorkers");
  /** Plays one run that sees the commits up to `upTo`, if it is given. @returns what it passes to the next run. */
  const play = async (run: object, upTo?: bigint) => {
    const planned = new Map<number, RunArgs>();
    await t.mutation(async (ctx) => {
      const own = inQueue(ctx as unknown as WorkerCtx, "limits");
      const runAt = (at: number, fn: never, args: never) => {
        const { run: next } = args as { run?: RunArgs };
        if (next) planned.set(at, next);
        return ctx.scheduler.runAt(at, fn, args);
      };
      const scheduler = { ...own.scheduler, runAt } as never;
      const meta = upTo === undefined ? own.meta : { getSnapshotTs: () => upTo };
      await work(
        { ...own, scheduler, meta },
        { run: { name: "llm", generation: Number(worker?.["generation"]), ...run } },
      );
    });
    return [...planned][0];
  };
  // It rests, since nothing has arrived for long.
  const [at, next] = (await play({ seenTo, queued: 2, busyAt: NOW - 1000 }, seenTo)) ?? [];
  expect(next).toMatchObject({ seenTo, queued: 0 });
  expect(at).toBe(NOW + 20);
  expect(await position(newer)).toMatchObject({ ahead: 0 });
  const [, then] = (await play(next ?? {})) ?? [];
  expect(then).toMatchObject({ queued: 1 });
  expect((await play(then ?? {}))?.[1]).toMatchObject({ queued: 1 });
  expect(await position(newer)).toMatchObject({ ahead: 0, startsAt: NOW + MINUTE });
  expect([(await enqueue("x", of("d"))).ok, (await enqueue("y", of("e"))).ok]).toEqual([true, true]);
  expect((await play(then ?? {}))?.[1]).toMatchObject({ queued: 3 });
  expect((await enqueue("z", of("f"))).ok).toBe(false);
});
