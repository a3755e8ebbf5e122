/** Every waiting job starts, also after sweeps and refunds by others. model.test.ts also deletes rows and cancels runs by hand. */
import { makeFunctionReference } from "convex/server";
import { describe, expect, it, vi } from "vitest";
import { HOUR, MINUTE, type RateLimitDefinitions } from "convex-rate-limits";
import { setOf } from "../../src/client/place.js";
import { queueTermsOf } from "../../src/client/plans.js";
import { transact } from "../../src/http/ask.js";
import type { QueueConfig } from "../../src/wire/configs.js";
import { isFirst, look } from "../../src/queue/batch.js";
import { learnTerms, parseQueue, textOf } from "../../src/queue/terms.js";
import { ensureRunning, isBusy, start } from "../../src/queue/worker.js";
import { NOW, runJobs, useClock } from "../support/clock.js";
import { changeIn, documentsIn, placeNames } from "../support/places.js";
import { firstOf } from "../support/random.js";
import { run, useQueues } from "../support/queues.js";

useClock();

const config = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 } as const;
const slow = { ...config, period: MINUTE };
const SWEPT_AFTER = 20 * MINUTE;

describe.each(firstOf(1, placeNames))("in the %s", (place) => {
  /** @param llm - the fields of the queue's limit that are not those of `slow`. */
  const open = (llm: object = {}, others: RateLimitDefinitions = {}) => {
    const queues = useQueues(place, { ...others, llm: { ...slow, queue: {}, ...llm } }, { count: 10 });
    const { t, starts } = queues;
    return {
      ...queues,
      workers: () => documentsIn(place, t, "rateLimitWorkers"),
      deleteWorkers: () => changeIn(place, t, "rateLimitWorkers", null),
      /** Each start as "label ms", in ms since NOW, rounded down to 100 ms. */
      startsAt: () => starts.map(({ label, at }) => `${label} ${100 * Math.floor((at - NOW) / 100)}`),
    };
  };
  it("a worker sleeps until a pause of its bucket ends, even if tokens are refunded meanwhile, and paid jobs keep their start times", async () => {
    const { enqueueAll, t, pass, pauseFor, adjust, until, startsAt } = open();
    await enqueueAll(["first", "second"], { count: 5 });
    await pass(1000);
    await pauseFor(20 * MINUTE - 1000);
    await adjust({ count: -5, takenAt: NOW });
    await enqueueAll(["third", "fourth"]);
    await pass(1000);
    const before = Date.now();
    // One run is planned: one second before the bucket has the tokens for the first waiting job.
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersToNextTimer();
    expect(Date.now() - before).toBeGreaterThan(19 * MINUTE);
    await t.finishInProgressScheduledFunctions();
    await until(30 * MINUTE);
    expect(startsAt()).toEqual(["first 0", "second 0", `third ${21 * MINUTE}`, `fourth ${22 * MINUTE}`]);
  });

  it("a worker that runs for longer than its lease renews it twice a minute, so no caller starts another", async () => {
    const { t, enqueueAtOnce, workers } = open({ ...config, capacity: 4 });
    await enqueueAtOnce(180, "x", { count: 4 });
    const generations = new Set<unknown>();
    const leasesMs: number[] = [];
    const ends = new Set<unknown>();
    const busy: boolean[] = [];
    while (Date.now() < NOW + 70_000) {
      vi.advanceTimersToNextTimer();
      await t.finishInProgressScheduledFunctions();
      const [row] = await workers();
      generations.add(row?.["generation"]);
      leasesMs.push(Number(row?.["runsUntil"]) - Date.now());
      ends.add(row?.["runsUntil"]);
      busy.push(isBusy(row as never, Date.now() + 1));
    }
    expect(generations.size).toBe(1);
    // Callers read the row, so each write of it may make them conflict.
    expect(ends.size).toBe(3);
    // Jobs that end then do not conflict with it.
    expect(busy.lastIndexOf(false)).toBeLessThan(5);
    // The worker looks five times a second.
    expect(Math.min(...leasesMs)).toBeGreaterThan(29_500);
    expect(Math.max(...leasesMs)).toBeLessThanOrEqual(60_500);
  });

  it("the planned run continues after somebody deletes the worker's row, and restores the row", async () => {
    const { enqueueAll, pass, deleteWorkers, workers, until, startsAt } = open();
    await enqueueAll(["first", "second", "third"]);
    await pass(1000);
    await deleteWorkers();
    await until(10 * MINUTE);
    expect(startsAt()).toEqual(["first 0", `second ${MINUTE}`, `third ${2 * MINUTE}`]);
    expect(await workers()).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a worker whose row somebody deletes does not restore it if nothing waits", async () => {
    const { jobOf, cancel, deleteWorkers, workers, until, startsAt } = open();
    const job = await jobOf("only");
    await deleteWorkers();
    await cancel(job);
    await until(10 * MINUTE);
    expect(startsAt()).toEqual([]);
    expect(await workers()).toEqual([]);
  });

  it.each(["enqueue", "cancel", "pause", "adjustment", "reset", "sweep"])(
    "a worker whose planned run is gone starts with the next %s, and until then a place has no start time",
    async (how) => {
      const { enqueue, enqueueAll, jobOf, pass, position, cancel, pauseFor, adjust, reset, sweep, until, order } = open(
        // It is full for longer than its worker is lost: the next job is let in, and starts the worker.
        { queue: { maxQueued: 1 } },
      );
      await enqueueAll(["1", "2"]);
      const [third, last] = [await jobOf("3"), await jobOf("last")];
      await pass(1000);
      vi.clearAllTimers();
      vi.setSystemTime(NOW + 3 * MINUTE);
      expect(await position(third)).toEqual({ ahead: 1 });
      const calls: Record<string, () => Promise<unknown>> = {
        enqueue: () => enqueue("4"),
        cancel: () => cancel(last),
        pause: () => pauseFor(10),
        adjustment: () => adjust({ count: 1 }),
        reset,
        sweep,
      };
      await calls[how]?.();
      await until(20 * MINUTE);
      expect(order().slice(0, 3)).toEqual(["1", "2", "3"]);
    },
  );

  describe("a sweep", () => {
    it("deletes the rows of workers that have been idle for a while, and no others", async () => {
      const { enqueue, pass, sweep, workers, until } = open({ ...config, keyed: true });
      for (let i = 0; i < 5; i++) await enqueue("x", { key: `user ${i}` });
      await until(MINUTE);
      await sweep();
      expect(await workers()).toHaveLength(5);
      await pass(10);
      vi.setSystemTime(NOW + SWEPT_AFTER);
      await enqueue("y", { key: "user 3" });
      expect(await sweep()).toMatchObject({ deleted: 9, isDone: true });
      expect((await workers()).map(({ key }) => key)).toEqual(["user 3"]);
      await until(SWEPT_AFTER + MINUTE);
    });

    it.each([1, 3])(
      "continues in further batches if the keys of %i limits are more than one batch holds",
      async (limits) => {
        const keyed = { ...slow, ...config, queue: {}, keyed: true };
        const names = ["llm", "one", "two"].slice(0, limits);
        const { enqueue, t, workers, sweep } = open(keyed, Object.fromEntries(names.map((name) => [name, keyed])));
        for (let i = 0; i < 300; i++) await enqueue("x", { name: names[i % limits], key: `user ${i}` });
        // Somebody cancels all runs and deletes all jobs.
        vi.clearAllTimers();
        await changeIn(place, t, "rateLimitQueue", null);
        vi.setSystemTime(NOW + SWEPT_AFTER);
        expect(await sweep()).toMatchObject({ isDone: false });
        await runJobs(t);
        expect(await workers()).toEqual([]);
      },
    );

    it("deletes the row of a worker whose queue a deploy has removed", async () => {
      const limits = { llm: { ...config, queue: {} }, other: { ...config, queue: {} } } as const;
      const { t, enqueue, deploy, workers, sweep, pass } = open(limits.llm, limits);
      await enqueue("first");
      await enqueue("other", { name: "other" });
      await pass(1000);
      deploy({ llm: config, other: limits.other });
      await pass(SWEPT_AFTER);
      expect((await workers()).map(({ name }) => name).sort()).toEqual(["llm", "other"]);
      await sweep();
      await runJobs(t);
      expect(await workers()).toEqual([]);
    });

    it("keeps the rows of workers that sleep, were lost or have jobs; and a job after a sweep runs", async () => {
      const { enqueue, enqueueAll, sweep, workers, until, order, startsAt } = open({ keyed: true });
      await enqueue("done", { key: "idle" });
      await enqueue("lost", { key: "lost" });
      await enqueueAll(["1", "2"], { key: "slow", count: 15 });
      vi.clearAllTimers();
      vi.setSystemTime(NOW + SWEPT_AFTER);
      await sweep();
      expect(await workers()).toHaveLength(3);
      for (const key of ["idle", "lost", "slow"]) await enqueue("next", { key });
      await until(SWEPT_AFTER + 10 * MINUTE);
      expect(order().sort()).toEqual(["1", "2", "done", "lost", "next", "next", "next"]);
      vi.setSystemTime(NOW + 3 * SWEPT_AFTER);
      await sweep();
      expect(await workers()).toEqual([]);
      await enqueue("last", { key: "idle" });
      await until(4 * SWEPT_AFTER);
      expect(startsAt().at(-1)).toBe(`last ${3 * SWEPT_AFTER}`);
    });
  });

  it("tokens that come back over HTTP wake the worker", async () => {
    const { enqueueAll, functions, t, pass, until, log } = open();
    await enqueueAll(["first", "second"]);
    await pass(5000);
    const adjustments = [{ name: "llm", config: slow, count: -10 }];
    if (place === "tables") await t.mutation(makeFunctionReference<"mutation">("limits:askLimits"), { adjustments });
    else await t.action(async (ctx) => await transact(setOf(functions(), "limitHttp"), ctx as never, { adjustments }));
    await until(10 * MINUTE);
    expect(log()).toEqual(["first 20", "second 5000"]);
  });

  it("tokens of a job outside the queue that is cancelled wake the worker", async () => {
    const { enqueueAll, write, pass, until, log } = open();
    const schedule = () =>
      write((ctx, own) => own.scheduleRateLimited(ctx, { name: "llm", count: 10 }, run, { label: "other" }));
    const [, later] = [await schedule(), await schedule()];
    await enqueueAll(["first"]);
    await pass(5000);
    if (later.ok) await write((ctx, own) => own.cancelRateLimited(ctx, later.job));
    await until(10 * MINUTE);
    expect(log()).toEqual(["other 10", "first 60000"]);
  });

  it.each<[QueueConfig, object, number]>([
    [{ priorities: 2 }, { priority: 1 }, 0],
    [{ fair: true }, { fairBy: "b" }, 2],
  ])("a place in the mutation that enqueues the job is its place later: %j, %j", async (queue, own, ahead) => {
    const { t, functions, enqueueAll, pass, position } = open({ queue });
    await enqueueAll(["a0", "a1", "a2", "a3"], queue.fair ? { fairBy: "a" } : {});
    await pass(1000);
    const { job, asked } = await t.mutation(async (ctx) => {
      const result = await functions().enqueueRateLimited(ctx, { name: "llm", count: 10, ...own }, run, { label: "x" });
      if (!result.ok) throw new Error("There was no room for the job.");
      return { job: result.job, asked: await functions().getQueued(ctx, result.job) };
    });
    expect([asked, await position(job)]).toMatchObject([{ ahead }, { ahead }]);
    await pass(100);
    expect(await position(job)).toMatchObject({ ahead });
  });

  it("a place under an override without a bound is now, or the end of a pause", async () => {
    const { enqueue, jobOf, position, pass, override, pauseFor } = open();
    await enqueue("1");
    const job = await jobOf("2");
    await pass(1000);
    await override({ unlimited: true });
    expect(await position(job)).toEqual({ ahead: 0, startsAt: Date.now() });
    await pauseFor(5 * MINUTE);
    expect(await position(job)).toEqual({ ahead: 0, startsAt: Date.now() + 5 * MINUTE });
  });

  it("jobs start when their places said", async () => {
    const hourly = { kind: "fixed window", rate: 20, period: HOUR, capacity: undefined, start: NOW };
    const { enqueue, jobOf, position, pass, until, starts } = open(hourly);
    await enqueue("0", { count: 17 });
    await pass(1000);
    const jobs = [];
    for (const [i, count] of [5, 18, 4].entries()) jobs.push(await jobOf(`${i + 1}`, { count }));
    await pass(1000);
    const said = await Promise.all(jobs.map(async (job) => (await position(job))?.startsAt ?? NaN));
    await until(24 * HOUR);
    const hours = (at: number) => Math.round((at - NOW) / HOUR);
    expect(starts.slice(1).map(({ at }) => hours(at))).toEqual(said.map(hours));
  });

  it.each([
    ["200 jobs", {}, 200],
    ["51 jobs of one of ten priorities in a fair queue", { fair: true, priorities: 10 }, 51],
  ])("a place behind more than %s has no start time", async (_what, queue: QueueConfig, most) => {
    const { jobOf, enqueueAtOnce, pass, position } = open({ queue });
    const user = queue.fair ? { fairBy: "a" } : {};
    await enqueueAtOnce(most + 5, "before", user);
    await pass(1000);
    expect(await position(await jobOf("last", user))).toEqual({ ahead: most });
  });

  it("a user's first job starts before another's second, though more have come than a run pays for", async () => {
    const { enqueueAtOnce, pass, order } = open({ queue: { fair: true } });
    await enqueueAtOnce(20, "a", { fairBy: "a", count: 1 });
    await enqueueAtOnce(1, "b", { fairBy: "b", count: 1 });
    await pass(1000);
    expect(order()).toHaveLength(10);
    expect(order()).toContain("b");
  });

  it("a user's job gets its turn soon after hundreds of another's, though a run sorts in only a few", async () => {
    const queue = { fair: true, priorities: 10 } as const;
    const { enqueue, enqueueAll, enqueueAtOnce, t, pass, order } = open({ ...config, queue });
    await enqueueAll(["first"], { fairBy: "c" });
    await pass(300);
    await enqueueAtOnce(400, "a", { fairBy: "a", count: 2 });
    await enqueue("b", { fairBy: "b", count: 2 });
    await pass(4000);
    expect(order()).toContain("b");
    await changeIn(place, t, "rateLimitQueue", null);
  });

  it("a queue is full as long as its rows are too many for a run to pay for all that wait", async () => {
    const wide = { ...config, rate: 1e5, capacity: 1e5, shards: { atLeast: 2048 }, queue: { maxQueued: 5 } };
    const { take, enqueue, enqueueAll, pass } = open(wide);
    await take();
    await pass(3000);
    await enqueueAll(Array<string>(15).fill("x"));
    await pass(10);
    expect(await enqueue("late")).toMatchObject({ ok: false });
  });
});

it("a row is that of a queue whose config has undefined fields: callers do not write it again", () => {
  const stored = (config: object, queue: QueueConfig) => {
    const terms = queueTermsOf({ get: () => ({ configs: [{ config: { ...slow, ...config } }], queue }) }, "llm");
    return terms && textOf(terms);
  };
  const undefinedFields = { maxReserved: undefined, shards: undefined };
  expect(stored(undefinedFields, { maxQueued: undefined })).toBe(stored({}, {}));
});

const known = { seenTo: 7n, createdTo: 6, queued: 3 };
it.each([
  ["goes on with what it knew when it slept", { state: "waiting", start: "slept" }, "pending", known],
  ["counts anew if it has run since it slept", { state: "waiting", start: "slept" }, "success", {}],
  ["counts anew if it was lost", { state: "running", start: "slept" }, "pending", {}],
])("a worker that is started %s", async (_what, row, kind, carried) => {
  const slept = { state: { kind }, args: [{ run: { ...known, busyAt: NOW } }] };
  const scheduler = { runAt: vi.fn().mockResolvedValue("next"), cancel: vi.fn() };
  const db = { system: { get: () => Promise.resolve(slept) } };
  const ctx = { db, scheduler, module: "limits", now: NOW, random: () => 0.25 };
  const fields = await start(ctx as never, { name: "llm", plan: "pro" }, row as never);
  expect(fields).toEqual({ generation: 0.25, state: "running", runsUntil: NOW + MINUTE, start: "next" });
  const run = { name: "llm", plan: "pro", generation: 0.25, ...carried };
  expect(scheduler.runAt).toHaveBeenCalledExactlyOnceWith(NOW, expect.anything(), { run });
  expect(scheduler.cancel).toHaveBeenCalledTimes(row.state === "waiting" && kind === "pending" ? 1 : 0);
});

it("a caller reads no terms that the running worker knows, and writes nothing that is stored as it is", async () => {
  const [patch, query] = [vi.fn(), vi.fn()];
  const db = { patch, query: query.mockReturnValue({ withIndex: () => ({ first: () => ({ terms: "same" }) }) }) };
  const row = { state: "running", runsUntil: NOW + 1, terms: "same", fullUntil: NOW + 1 };
  await ensureRunning({ db, now: NOW } as never, { name: "llm", key: undefined }, row as never, "same");
  expect(query).not.toHaveBeenCalled();
  await learnTerms({ db } as never, "llm", "same");
  expect(patch).not.toHaveBeenCalled();
});

it("jobs that a run has seen are no arrivals, if the last of them was taken or cancelled", async () => {
  const { t, enqueueAll } = useQueues("tables", { llm: { ...slow, queue: {} } });
  await enqueueAll(["older", "newer"]);
  const queue = parseQueue({ name: "llm", configs: [{ config: slow }], queue: {} }, {});
  const lookAfter = (seen: object) =>
    t.mutation((ctx) => look({ ...ctx, now: NOW } as never, queue, { most: 1, ...seen }));
  const { arrived, seen } = await lookAfter({});
  expect(arrived).toBe(1);
  expect(await lookAfter(seen)).toMatchObject({ arrived: 0 });
});

describe("the worker of a fair queue", () => {
  const queue = parseQueue({ name: "llm", configs: [{ config: slow }], queue: { fair: true } }, {});
  const job = { name: "llm", priority: 0, fairBy: "a", count: 1, fn: "", args: {} };
  it.each([
    ["rests if the job that it waits for is the first", { round: 1 }, [], true],
    ["does not rest while an arrival has no round", { round: 1 }, [{}], false],
    ["does not rest if a job of an earlier round has arrived", { round: 2 }, [{ round: 1 }], false],
    ["rests if the other jobs are in later rounds", { round: 1 }, [{ round: 2 }], true],
    ["does not rest while a job waits to be settled", { round: 1 }, [{ priority: -1 }], false],
  ])("%s", async (_what, awaited, others, rests) => {
    const { t } = useQueues("tables", { llm: { ...slow, queue: { fair: true } } });
    // One after another: an arrival is younger than the job that the worker waits for.
    const insert = (fields: object) =>
      t.mutation((ctx) => ctx.db.insert("rateLimitQueue", { ...job, ...fields, at: ctx.db.vars.commitTs }));
    const id = await insert(awaited);
    for (const other of others) await insert(other);
    const isResting = await t.mutation((ctx) => isFirst({ ...ctx, now: NOW }, queue, id));
    expect(isResting).toBe(rests);
  });
});
