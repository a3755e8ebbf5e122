/** What becomes of jobs that wait while a deploy changes their queue. */
import { describe, expect, it, vi } from "vitest";
import { MINUTE, type RateLimitConfig } from "convex-rate-limits";
import type { RateLimitQueuedJob } from "convex-rate-limits/queue";
import type { QueueConfig } from "../../src/wire/configs.js";
import { NOW, useClock } from "../support/jobs.js";
import { type AnyRateLimits, placeNames, rowsIn } from "../support/places.js";
import { openQueues, pass, run, runUntil } from "../support/queues.js";

useClock();

const config = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 } as const;
const slow = { ...config, period: MINUTE };

describe.each(placeNames)("in the %s", (place) => {
  const open = (queue: QueueConfig, limit: RateLimitConfig = config) => {
    const { t, starts, deploy, ...first } = openQueues(place, { llm: { ...limit, queue } });
    let functions: AnyRateLimits = first;
    const enqueue = async (label: string, args: object = {}, used?: number) =>
      await t.mutation(
        async (ctx) =>
          await functions.enqueueRateLimited(ctx, { name: "llm", count: 10, ...args }, run, {
            label,
            ...(used !== undefined && { used }),
          }),
      );
    const jobOf = async (label: string, args?: object): Promise<RateLimitQueuedJob> => {
      const result = await enqueue(label, args);
      if (!result.ok) throw new Error("There was no room for the job.");
      return result.job;
    };
    return {
      t,
      starts,
      enqueue,
      jobOf,
      deploy: (next: QueueConfig, limit: RateLimitConfig = config) => {
        functions = deploy({ llm: { ...limit, queue: next } });
      },
      cancel: async (job: RateLimitQueuedJob) =>
        await t.mutation(async (ctx) => (await functions.cancelQueued(ctx, job)).canceled),
      position: async (job: RateLimitQueuedJob) => await t.query(async (ctx) => await functions.getQueued(ctx, job)),
      until: async (ms: number) => {
        await runUntil(t, NOW + ms);
      },
      order: () => starts.map(({ label }) => label),
      functions: () => functions,
    };
  };

  it("jobs of a priority that is gone run, and as high as they were", async () => {
    const { enqueue, jobOf, position, deploy, until, order } = open({ priorities: 3 });
    await enqueue("first", { priority: 2 });
    await enqueue("low", { priority: 0 });
    const high = await jobOf("high", { priority: 2 });
    deploy({ priorities: 1 });
    expect(await position(high)).toMatchObject({ ahead: 1, isExact: true });
    await enqueue("new");
    await until(60_000);
    expect(order()).toEqual(["first", "high", "low", "new"]);
  });

  it("and when nobody comes any more", async () => {
    const { enqueue, deploy, until, order } = open({ priorities: 3 }, slow);
    for (const label of ["first", "second", "third"]) await enqueue(label, { priority: 2 });
    deploy({}, slow);
    await until(10 * MINUTE);
    expect(order()).toEqual(["first", "second", "third"]);
  });

  it("jobs with a turn run when their users take turns no more", async () => {
    const { t, enqueue, deploy, until, order } = open({ fair: true }, slow);
    for (const label of ["a1", "a2", "a3"]) await enqueue(label, { fairBy: "a" });
    await pass(t, 1000);
    deploy({}, slow);
    await enqueue("plain");
    await until(20 * MINUTE);
    expect(order()).toEqual(["a1", "a2", "a3", "plain"]);
  });

  it("and those without a turn when users begin to take turns, again", async () => {
    const { t, enqueue, deploy, until, order } = open({ fair: true }, slow);
    for (const label of ["a1", "a2", "a3"]) await enqueue(label, { fairBy: "a" });
    await pass(t, 1000);
    deploy({}, slow);
    await enqueue("plain");
    await pass(t, 1000);
    deploy({ fair: true }, slow);
    await enqueue("b1", { fairBy: "b" });
    await until(20 * MINUTE);
    expect(order().sort()).toEqual(["a1", "a2", "a3", "b1", "plain"]);
  });

  it.each([
    [{}, {}],
    [{ fair: true }, {}],
    [{}, { fair: true }],
    [{ fair: true }, { fair: true }],
    [{ maxQueued: 1000, exact: true }, {}],
  ])("a bound that a queue gets while callers keep coming counts those that wait: %j, then %j", async (from, to) => {
    const { t, enqueue, deploy } = open(from, slow);
    const join = async (label: string, terms: QueueConfig) =>
      (await enqueue(label, terms.fair === true ? { fairBy: `user ${label.length % 2}` } : {})).ok;
    const accepted = [];
    for (let i = 0; i < 8; i++) {
      expect(await join("x".repeat(i), from)).toBe(true);
      await pass(t, 60);
    }
    deploy({ ...to, maxQueued: 5 }, slow);
    for (let i = 0; i < 8; i++) {
      accepted.push(await join("y".repeat(i), to));
      await pass(t, 60);
    }
    // Its worker runs twenty times a second.
    expect(accepted).toEqual([true, false, false, false, false, false, false, false]);
  });

  it("and does not trust what was counted before it had none for a while", async () => {
    const { t, enqueue, deploy } = open({ maxQueued: 1000 }, slow);
    const join = async () => {
      const { ok } = await enqueue("x");
      await pass(t, 60);
      return ok;
    };
    for (let i = 0; i < 3; i++) await join();
    deploy({}, slow);
    for (let i = 0; i < 8; i++) await join();
    deploy({ maxQueued: 5 }, slow);
    expect([await join(), await join(), await join()]).toEqual([true, false, false]);
  });

  it("a queue that is said to be full is not when its bound is raised", async () => {
    const { t, enqueue, deploy } = open({ maxQueued: 3 }, slow);
    for (let i = 0; i < 5; i++) {
      await enqueue("x");
      await pass(t, 500);
    }
    expect(await enqueue("x")).toMatchObject({ ok: false });
    deploy({ maxQueued: 5 }, slow);
    const accepted = [];
    for (let i = 0; i < 4; i++) {
      accepted.push((await enqueue("x")).ok);
      await pass(t, 500);
    }
    expect(accepted).toEqual([true, true, false, false]);
  });

  it("a queue that becomes exact counts those that wait", async () => {
    const { enqueue, deploy, until, order } = open({}, slow);
    for (const label of ["1", "2", "3", "4"]) await enqueue(label);
    deploy({ maxQueued: 3, exact: true }, slow);
    expect(await enqueue("late")).toMatchObject({ ok: false });
    await until(10 * MINUTE);
    expect(order()).toEqual(["1", "2", "3", "4"]);
    for (const label of ["5", "6", "7"]) expect(await enqueue(label)).toMatchObject({ ok: true });
    expect(await enqueue("8")).toMatchObject({ ok: false });
  });

  it("a queue that was exact, was not for a while and is again forgets what it had counted", async () => {
    const { enqueue, jobOf, cancel, deploy, until } = open({ maxQueued: 3, exact: true }, slow);
    const jobs = [];
    for (const label of ["1", "2", "3"]) jobs.push(await jobOf(label));
    deploy({ maxQueued: 3 }, slow);
    for (const job of jobs) expect(await cancel(job)).toBe(true);
    await until(5 * MINUTE);
    deploy({ maxQueued: 3, exact: true }, slow);
    for (const label of ["4", "5", "6"]) expect(await enqueue(label)).toMatchObject({ ok: true });
    expect(await enqueue("7")).toMatchObject({ ok: false });
  });

  it("and counts those that have come and gone meanwhile", async () => {
    const { t, enqueue, jobOf, cancel, deploy } = open({ maxQueued: 3, exact: true }, slow);
    await enqueue("first");
    await pass(t, 1000);
    const jobs = [];
    for (const label of ["2", "3", "4"]) jobs.push(await jobOf(label));
    deploy({ maxQueued: 3 }, slow);
    await enqueue("5");
    await pass(t, 1000);
    for (const job of jobs.slice(1)) expect(await cancel(job)).toBe(true);
    deploy({ maxQueued: 3, exact: true }, slow);
    expect(await enqueue("6")).toMatchObject({ ok: true });
    expect(await enqueue("7")).toMatchObject({ ok: false });
  });

  it("even before its worker has run under other terms", async () => {
    const { enqueue, deploy } = open({ maxQueued: 3, exact: true }, slow);
    await enqueue("1");
    deploy({}, slow);
    for (const label of ["2", "3", "4"]) await enqueue(label);
    deploy({ maxQueued: 3, exact: true }, slow);
    expect(await enqueue("5")).toMatchObject({ ok: false });
  });

  it("a full queue with exact starts a worker that was lost, though it denies", async () => {
    const { t, enqueue, until, order } = open({ maxQueued: 2, exact: true }, slow);
    for (const label of ["1", "2"]) expect(await enqueue(label)).toMatchObject({ ok: true });
    // Somebody cancels what is scheduled, by hand.
    vi.clearAllTimers();
    await pass(t, MINUTE);
    expect(await enqueue("late")).toMatchObject({ ok: false });
    await until(10 * MINUTE);
    expect(order()).toEqual(["1", "2"]);
  });

  it("and one that was lost while it slept", async () => {
    const { t, enqueue, until, order } = open({ maxQueued: 2, exact: true }, slow);
    for (const label of ["1", "2", "3"]) {
      await enqueue(label);
      await pass(t, 1000);
    }
    vi.clearAllTimers();
    await pass(t, 4 * MINUTE);
    expect(await enqueue("late")).toMatchObject({ ok: false });
    await until(10 * MINUTE);
    expect(order()).toEqual(["1", "2", "3"]);
  });

  it("a queue with exact that sleeps says when it will look again", async () => {
    const { t, enqueue, starts } = open({ maxQueued: 1, exact: true }, slow);
    await enqueue("1");
    await pass(t, 1000);
    await enqueue("2");
    await pass(t, 1000);
    const denied = await enqueue("3");
    await pass(t, MINUTE);
    // The second job is given its moment a second before its tokens are there.
    expect(denied).toEqual({ ok: false, retryAt: (starts[1]?.at ?? NaN) - 1050 });
  });

  it("a queue that has room when its worker wakes accepts at once", async () => {
    const { t, enqueue } = open({ maxQueued: 1 }, slow);
    await enqueue("1");
    await pass(t, 1000);
    await enqueue("2");
    await pass(t, 1000);
    const denied = await enqueue("3");
    if (denied.ok) throw new Error("It is not full.");
    // What the worker said covers its own run, and ends with it.
    await pass(t, denied.retryAt - Date.now() - 300);
    expect(await enqueue("3")).toMatchObject({ ok: true });
  });

  it("a job that ends after a deploy is settled by the limit as it is now", async () => {
    const window: RateLimitConfig = { kind: "sliding window", rate: 20, period: MINUTE };
    const { t, enqueue, deploy, until, starts, functions } = open({}, slow);
    await enqueue("first");
    await enqueue("second", { settles: "mutation" }, 9);
    await pass(t, MINUTE - 500);
    deploy({}, window);
    const { resetRateLimit, rateLimit } = functions();
    await t.mutation(async (ctx) => {
      await resetRateLimit(ctx, { name: "llm" });
      await rateLimit(ctx, { name: "llm", count: 3 });
    });
    await enqueue("third");
    const takenAt = Date.now();
    await until(2 * MINUTE);
    expect(starts.map(({ label }) => label)).toEqual(["first", "third", "second"]);
    // One token came back, from what was taken last. The window knows when the others were taken.
    const [row] = await rowsIn(place, t);
    expect(row?.recent?.map(({ at, count }) => [at - takenAt, count])).toEqual([[0, 12]]);
  });
});
