/** Jobs that run again because a provider refused them: their tokens come back, and they wait again in their old place. */
import { describe, expect, it, vi } from "vitest";
import { MINUTE, type RateLimitDefinitions } from "convex-rate-limits";
import { fullShard, heldBy, splitTo } from "../../src/engine/sharding/shard.js";
import { unitsOf } from "../../src/engine/units.js";
import { settle, settleEnded } from "../../src/queue/settle.js";
import { runAction } from "../../src/queue/start.js";
import { parseQueue } from "../../src/queue/terms.js";
import { NOW, useClock } from "../support/clock.js";
import { changeIn, documentsIn, placeNames } from "../support/places.js";
import { firstOf } from "../support/random.js";
import { act, run, useQueues } from "../support/queues.js";

useClock();

/** One job of 10 tokens a second. */
const config = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 } as const;
const again = { used: 0, again: true };
const againAfter = (after: number) => ({ used: 0, again: { after } });

describe.each(firstOf(1, placeNames))("in the %s", (place) => {
  const open = (queue: object = { attempts: 3 }, limit: object = {}) => {
    const limits = { llm: { ...config, ...limit, queue } } as RateLimitDefinitions;
    const queues = useQueues(place, limits, { count: 10, settles: "mutation" });
    const enqueue = async (label: string, returns: unknown[] = [], args: Record<string, unknown> = {}) =>
      await queues.enqueue(label, args, { returns }, args["settles"] === "action" ? act : run);
    return { ...queues, enqueue };
  };

  it("a job that runs again goes before those that were enqueued after it in the same mutation", async () => {
    const { t, functions, until, order } = open({ attempts: 3, priorities: 2 });
    await t.mutation(async (ctx) => {
      const job = { name: "llm", count: 10, settles: "mutation", priority: 1 } as const;
      for (const label of ["a", "b", "c", "d"]) {
        const returns = label === "a" ? [{ ...again, used: 10 }] : [];
        await functions().enqueueRateLimited(ctx, job, run, { label, returns });
      }
    });
    await until(MINUTE);
    // The second has its start time when the first runs.
    expect(order()).toEqual(["a", "b", "a", "c", "d"]);
  });

  it.each([
    ["mutation", true],
    ["mutation", { after: 100 }],
    ["action", true],
    ["action", { after: 100 }],
  ])("what a job (%s) has used is charged once, and nothing without `used` (again: %j)", async (settles, again) => {
    const limit = { kind: "fixed window", period: 10 * MINUTE, start: NOW };
    const { enqueue, until, order, value } = open({ attempts: 2 }, limit);
    await enqueue("some", [{ used: 4, again }, { used: 1 }], { count: 5, settles });
    await until(1000);
    expect(await value()).toBe(5);
    await enqueue("nothing", [{ again }, { used: 0 }], { count: 5, settles });
    await until(2000);
    expect(await value()).toBe(5);
    await enqueue("unknown", [{ used: NaN, again }, { used: 0 }], { count: 2, settles });
    await until(3000);
    expect(await value()).toBe(3);
    expect(order()).toEqual(["some", "some", "nothing", "nothing", "unknown", "unknown"]);
  });

  it.each([
    { queue: { attempts: 3 }, runs: 3 },
    { queue: {}, runs: 1 },
  ])("with $queue a job runs at most $runs times, and is then dropped", async ({ queue, runs }) => {
    const { enqueue, until, starts, value } = open(queue);
    const errors = vi.spyOn(console, "error").mockReturnValue();
    await enqueue("stubborn", Array<object>(9).fill(again));
    await until(20_000);
    expect(starts).toHaveLength(runs);
    expect(errors.mock.calls.map(([error]) => String(error))).toEqual([
      expect.stringContaining("a queued job is dropped (attempts)"),
    ]);
    expect(await value()).toBe(10);
  });

  it.each([{ after: -1 }, { after: 1e12 }, { after: "soon" }, "yes", 1, {}, null])(
    "a wrong `again` ends the job: %o",
    async (strange) => {
      const { enqueue, until, starts } = open();
      const errors = vi.spyOn(console, "error").mockReturnValue();
      await enqueue("strange", [{ used: 0, again: strange }]);
      await until(20_000);
      const logged = String(errors.mock.calls[0]?.[0]);
      expect(logged).toContain('Rate limit "llm": again must be true, or { after } with 0 to');
      expect(starts).toHaveLength(1);
    },
  );

  it("a job that waits again can be found and cancelled with the handle that enqueueRateLimited returned", async () => {
    const { jobOf, position, cancel, pauseFor, pass, until, order } = open();
    const job = await jobOf("job", {}, { returns: [again, againAfter(100)] });
    await pass(50);
    expect(await position(job)).toEqual({ startsAt: NOW + 140 });
    await pauseFor(MINUTE);
    await pass(1000);
    expect(await position(job)).toMatchObject({ ahead: 0 });
    expect(await cancel(job)).toBe(true);
    expect(await cancel(job)).toBe(false);
    await until(2 * MINUTE);
    expect(order()).toEqual(["job", "job"]);
  });

  it.each(["mutation", "action"])(
    "a job (%s) that must run again later can be found and cancelled until then",
    async (settles) => {
      const { jobOf, position, cancel, pass, until, order } = open({ attempts: 3, maxQueued: 5 });
      const fn = settles === "action" ? act : run;
      const job = await jobOf("job", { settles }, { returns: [againAfter(5000)] }, fn);
      const other = await jobOf("other", { settles }, { returns: [againAfter(5000)] }, fn);
      await pass(1500);
      expect(order()).toEqual(["job", "other"]);
      const { startsAt = NaN } = (await position(job)) ?? {};
      expect(startsAt).toBeGreaterThanOrEqual(NOW + 5000);
      expect(startsAt).toBeLessThan(NOW + 5100);
      expect(await cancel(job)).toBe(true);
      expect([await cancel(job), await position(job)]).toEqual([false, null]);
      await until(MINUTE);
      expect(order()).toEqual(["job", "other", "other"]);
      expect(await cancel(other)).toBe(false);
    },
  );

  it("a job that must run again after its notAfter is dropped at once", async () => {
    const { enqueue, pass, order } = open({ attempts: 3 });
    const errors = vi.spyOn(console, "error").mockReturnValue();
    await enqueue("late", [againAfter(5000)], { notAfter: NOW + 4000 });
    await pass(1000);
    expect(order()).toEqual(["late"]);
    expect(String(errors.mock.calls[0]?.[0])).toContain("a queued job is dropped (expired)");
    await pass(MINUTE);
    expect(errors).toHaveBeenCalledOnce();
    expect(order()).toEqual(["late"]);
  });

  it("a job whose time to run again and notAfter have both passed is dropped, and the next one runs", async () => {
    const { enqueue, pass, until, order } = open({ attempts: 3 });
    const errors = vi.spyOn(console, "error").mockReturnValue();
    await enqueue("late", [againAfter(5000)], { notAfter: NOW + 6000 });
    await pass(1000);
    vi.clearAllTimers();
    vi.setSystemTime(NOW + 10 * MINUTE);
    await enqueue("next");
    await until(20 * MINUTE);
    expect(order()).toEqual(["late", "next"]);
    expect(errors.mock.calls.map(String)).toEqual([expect.stringContaining("a queued job is dropped (expired)")]);
  });

  it("a job that waits again is dropped if its attempts were lowered meanwhile, and leaves no row", async () => {
    const { t, enqueue, pass, deploy, reset, order } = open({ attempts: 3 });
    vi.spyOn(console, "error").mockReturnValue();
    await enqueue("job", [againAfter(5000)]);
    await pass(1000);
    deploy({ llm: { ...config, queue: { attempts: 1 } } });
    await reset();
    await pass(MINUTE);
    expect(order()).toEqual(["job"]);
    expect(await documentsIn(place, t, "rateLimitQueue")).toEqual([]);
  });

  it.each(["enqueue", "cancel", "pause", "adjustment", "reset", "sweep"])(
    "a job that must run again later does so after the next %s, though what was planned is gone",
    async (how) => {
      const { jobOf, enqueue, pass, cancel, pauseFor, adjust, reset, sweep, until, order } = open();
      await jobOf("job", {}, { returns: [againAfter(5000)] });
      const other = await jobOf("other", {}, { returns: [againAfter(5000)] });
      await pass(2000);
      vi.clearAllTimers();
      vi.setSystemTime(NOW + 30 * MINUTE);
      const calls: Record<string, () => Promise<unknown>> = {
        enqueue: () => enqueue("next"),
        cancel: () => cancel(other),
        pause: () => pauseFor(10),
        adjustment: () => adjust({ count: 1 }),
        reset,
        sweep,
      };
      await calls[how]?.();
      await until(40 * MINUTE);
      expect(order().slice(0, 3)).toEqual(["job", "other", "job"]);
    },
  );

  it("a job runs again later though the row with the terms was deleted, after the next call that knows them", async () => {
    const { t, enqueue, pass, order } = open();
    const log = vi.spyOn(console, "error").mockReturnValue();
    await enqueue("job", [againAfter(5000)]);
    await pass(2000);
    await changeIn(place, t, "rateLimitQueueTerms", null);
    await pass(4000);
    vi.setSystemTime(NOW + 10 * MINUTE);
    await enqueue("next");
    await pass(2000);
    expect(order()).toEqual(["job", "job", "next"]);
    log.mockRestore();
  });

  it("a job runs again even if somebody has deleted the worker's row", async () => {
    const { enqueue, pass, t, until, order } = open();
    await enqueue("job", [again]);
    await enqueue("other", [againAfter(100)]);
    await pass(500);
    await changeIn(place, t, "rateLimitWorkers", null);
    await until(20_000);
    expect(order().sort()).toEqual(["job", "job", "other", "other"]);
  });

  it("in a fair queue, a job that waits again goes first, and a new user's job does not overtake it or the others", async () => {
    const { enqueue, pass, until, order } = open({ attempts: 2, fair: true });
    await enqueue("a1", [againAfter(2500)], { fairBy: "a" });
    for (const label of ["b1", "b2", "b3", "c1", "c2", "c3"]) await enqueue(label, [], { fairBy: label[0] });
    await pass(2600);
    await enqueue("d1", [], { fairBy: "d" });
    await until(20_000);
    expect(order()).toEqual(["a1", "b1", "c1", "b2", "c2", "a1", "b3", "c3", "d1"]);
  });

  it("in a fair queue, the next job of the user goes after the one that waits again", async () => {
    const { enqueue, pauseFor, pass, until, order } = open({ attempts: 2, fair: true });
    for (const label of ["a1", "a2"]) await enqueue(label, [], { fairBy: "a" });
    await enqueue("a3", [againAfter(500)], { fairBy: "a" });
    await pass(2100);
    await pauseFor(10_000);
    // The rounds begin anew, since nothing waits. The job that comes back joins the first, though its own was the third.
    for (const label of ["b1", "b2"]) await enqueue(label, [], { fairBy: "b" });
    await pass(1000);
    await enqueue("a4", [], { fairBy: "a" });
    await until(60_000);
    expect(order()).toEqual(["a1", "a2", "a3", "a3", "b1", "b2", "a4"]);
  });

  it.each(["mutation", "action"])(
    "a job (%s) whose arguments have `attempt` gets the number of its run",
    async (settles) => {
      const { enqueue, until, starts, jobOf } = open({ attempts: 3 });
      await jobOf(
        "counts",
        { settles },
        { attempt: 1, returns: [again, againAfter(50), null] },
        settles === "action" ? act : run,
      );
      await enqueue("does not", [again], { settles });
      await until(MINUTE);
      expect(starts.filter(({ label }) => label === "counts").map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(starts.filter(({ label }) => label === "does not").map(({ attempt }) => attempt)).toEqual([
        undefined,
        undefined,
      ]);
    },
  );

  it.each(["mutation", "action"])(
    "a job (%s) that ends while its bucket is damaged keeps what it wrote, and runs again after a reset",
    async (settles) => {
      const { t, enqueue, pass, until, reset, order } = open({ attempts: 3 }, { period: 2000 });
      await enqueue("first", [], { settles });
      await enqueue("job", [again, { used: 1 }], { settles });
      await pass(1500);
      // The job has its start time.
      await changeIn(place, t, "rateLimits", { value: NaN });
      const log = vi.spyOn(console, "error").mockReturnValue();
      await pass(1500);
      expect(order()).toEqual(["first", "job"]);
      expect(log).toHaveBeenCalled();
      log.mockRestore();
      await reset();
      await until(2 * MINUTE);
      expect(order()).toEqual(["first", "job", "job"]);
    },
  );

  it("in a fair queue where no round is served, a job that waits again has its user's first turn", async () => {
    const { t, enqueue, until, order } = open({ attempts: 2, fair: true });
    await enqueue("a1", [again], { fairBy: "a" });
    // Its tokens are taken, and the others come before it runs.
    vi.advanceTimersToNextTimer();
    await t.finishInProgressScheduledFunctions();
    for (const label of ["a2", "b1"]) await enqueue(label, [], { fairBy: label[0] });
    await until(MINUTE);
    expect(order()).toEqual(["a1", "a1", "b1", "a2"]);
  });

  it("a full queue stays full when a job that waits again starts its worker", async () => {
    const { enqueue, pauseFor, pass } = open({ attempts: 2, maxQueued: 1 });
    await enqueue("first", [againAfter(1000)]);
    await pass(50);
    await pauseFor(MINUTE);
    await enqueue("second");
    await pass(900);
    for (let i = 0; i < 20; i++) {
      expect(await enqueue("late")).toMatchObject({ ok: false });
      await pass(10);
    }
  });

  it("jobs that wait again make a queue full whose worker slept", async () => {
    const { enqueue, pauseFor, pass } = open({ attempts: 2, maxQueued: 3 });
    for (const label of ["first", "second"]) await enqueue(label, [againAfter(1000)], { count: 1 });
    await pass(300);
    await pauseFor(MINUTE);
    await enqueue("third");
    await pass(2000);
    expect(await enqueue("late")).toMatchObject({ ok: false });
  });

  it("jobs that wait again make a queue full whose worker runs", async () => {
    const { enqueue, pass } = open({ attempts: 2, maxQueued: 3 });
    for (const label of ["first", "second"]) await enqueue(label, [againAfter(1000)], { count: 5 });
    await pass(900);
    for (const label of ["third", "fourth", "fifth"]) await enqueue(label);
    await pass(200);
    expect(await enqueue("late")).toMatchObject({ ok: false });
  });

  it("jobs that run again take no room once they have ended", async () => {
    const { enqueue, until, starts } = open({ attempts: 9, maxQueued: 3 });
    for (let i = 0; i < 3; i++) await enqueue(`stubborn ${i}`, Array<object>(5).fill(again));
    await until(60_000);
    expect(starts).toHaveLength(18);
    for (let i = 0; i < 3; i++) expect(await enqueue(`next ${i}`)).toMatchObject({ ok: true });
    await until(70_000);
    expect(starts).toHaveLength(21);
  });

  it("after a provider's 429, a pause and `again` make the job the first when the pause ends", async () => {
    const { enqueue, pauseFor, pass, until, log } = open();
    await enqueue("first", [againAfter(20)]);
    await pass(10);
    await pauseFor(4990);
    await enqueue("second");
    await until(20_000);
    expect(log()).toEqual(["first 10", "first 6000", "second 7000"]);
  });
});

it("the settlement of an action is scheduled: a mutation that an action calls fails after a few conflicts", async () => {
  const runAfter = vi.fn();
  const ctx = { runAction: () => Promise.resolve({ used: 3 }), scheduler: { runAfter } };
  const turn = { at: 1n, priority: 0, runs: 1, first: "" };
  await runAction(ctx as never, { name: "llm", count: 10, fn: "", args: {}, turn }, "limits");
  expect(runAfter).toHaveBeenCalledExactlyOnceWith(0, expect.anything(), {
    settlement: { name: "llm", count: 10, used: 3 },
  });
});

it("a job that has used its count is settled without a look at the database", async () => {
  await expect(settle({} as never, { name: "llm", count: 10, used: 10 })).resolves.toBeUndefined();
});

it("settlements that cannot be made are dropped and logged", async () => {
  const waiting = 3;
  const log = vi.spyOn(console, "error").mockReturnValue();
  const deleted = vi.fn();
  const rows = Array.from({ length: waiting }, (_, _id) => ({ _id, args: { count: 10, used: 3 } }));
  const ctx = { db: { delete: deleted } } as never;
  const queue = parseQueue({ name: "llm", configs: [{ config }], queue: {} }, {});
  const { hasUnsettled } = await settleEnded(ctx, queue, rows as never);
  expect(hasUnsettled).toBe(false);
  expect(deleted).toHaveBeenCalledTimes(waiting);
  expect(log).toHaveBeenCalledTimes(waiting);
});

it("what some rows cannot take of a refund waits for others, and lapses after ten seconds; they owe a charge themselves", async () => {
  const queue = parseQueue({ name: "llm", configs: [{ config: { ...config, shards: 2 } }], queue: {} }, {});
  const half = splitTo(queue.limit, fullShard(queue.limit), 1, NOW).slice(1);
  const deleted = vi.fn();
  const used = { young: 3, old: 3, charge: 17 };
  const rows = Object.entries(used).map(([_id, used]) => {
    return { _id, _creationTime: NOW - (_id === "young" ? 10_000 : 10_001), args: { count: 10, used, at: NOW } };
  });
  const ctx = { db: { delete: deleted }, now: NOW } as never;
  const { held, hasUnsettled } = await settleEnded(ctx, queue, rows as never, half);
  expect(hasUnsettled).toBe(true);
  expect(held?.map((shard) => heldBy(shard, NOW))).toEqual([unitsOf(queue.limit, 5 - 7)]);
  expect(deleted.mock.calls).toEqual([
    ["rateLimitQueue", "old"],
    ["rateLimitQueue", "charge"],
  ]);
  // Each is a decision on all rows. With 16,384 rows a run makes only one.
  deleted.mockClear();
  const many = half.slice(0, 1).flatMap((shard) => Array.from({ length: 2 ** 14 }, () => shard));
  await settleEnded(ctx, queue, rows.slice(1) as never, many);
  expect(deleted).toHaveBeenCalledOnce();
});

it("a run that has made as many settlements as it may is followed by the next at once, also while its bucket is short", async () => {
  const { t, enqueueAll, pass } = useQueues("tables", { llm: { ...config, rate: 100, queue: {} } }, { count: 10 });
  await enqueueAll(Array.from({ length: 30 }, (_, i) => `${i}`));
  await pass(500);
  await t.mutation(async ({ db }) => {
    const row = { name: "llm", priority: -1, count: 1, fn: "", args: { count: 1, used: 1.001 }, at: db.vars.commitTs };
    for (let i = 0; i < 65; i++) await db.insert("rateLimitQueue", row);
  });
  const leftAt = new Map<number, number>();
  while (!leftAt.has(0)) {
    vi.advanceTimersToNextTimer();
    await t.finishInProgressScheduledFunctions();
    const rows = await documentsIn("tables", t, "rateLimitQueue");
    const left = rows.filter(({ priority }) => priority === -1).length;
    if (!leftAt.has(left)) leftAt.set(left, Date.now());
  }
  expect(Number(leftAt.get(0)) - Number(leftAt.get(1))).toBe(20);
});
