/** Jobs that wait while a deploy changes their queue. */
import { describe, expect, it, vi } from "vitest";
import { MINUTE, type RateLimitConfig } from "convex-rate-limits";
import type { QueueConfig } from "../../src/wire/configs.js";
import { useClock } from "../support/clock.js";
import { changeIn, placeNames, rowsIn } from "../support/places.js";
import { run, useQueues } from "../support/queues.js";

useClock();

/** One job of 10 tokens a minute. */
const slow = { kind: "token bucket", rate: 10, period: MINUTE, capacity: 10 } as const;
const fast = { ...slow, period: 1000 };

describe.each(placeNames)("in the %s", (place) => {
  const open = (queue: QueueConfig, limit: RateLimitConfig = slow) => {
    const queues = useQueues(place, { llm: { ...limit, queue } }, { count: 10 });
    const accepts = async (label: string, args?: object) => (await queues.enqueue(label, args)).ok;
    return {
      ...queues,
      accepts,
      /** For each of `callers` callers, one every `everyMs`: whether it is accepted. */
      acceptsOneByOne: async (callers: number, everyMs: number, argsOf: (i: number) => object = () => ({})) => {
        const accepted = [];
        for (let i = 0; i < callers; i++) {
          accepted.push(await accepts("x", argsOf(i)));
          await queues.pass(everyMs);
        }
        return accepted;
      },
      deploy: (next: QueueConfig | undefined, nextLimit = limit) => {
        queues.deploy({ llm: { ...nextLimit, ...(next && { queue: next }) } });
      },
    };
  };
  const EXACT = { maxQueued: 3, exact: true };

  it("jobs of a removed priority run, and keep their priority", async () => {
    const { enqueue, jobOf, position, deploy, until, order } = open({ priorities: 2 }, fast);
    await enqueue("first", { priority: 1 });
    await enqueue("low", { priority: 0 });
    const high = await jobOf("high", { priority: 1 });
    deploy({ priorities: 1 });
    expect(await position(high)).toMatchObject({ ahead: 1, isExact: true });
    await enqueue("new");
    await until(60_000);
    expect(order()).toEqual(["first", "high", "low", "new"]);
  });

  it.each([false, true])("all jobs run after a deploy that turns fairness off (and on again: %s)", async (isAgain) => {
    const { enqueue, enqueueAll, pass, deploy, until, order } = open({ fair: true });
    await enqueueAll(["a1", "a2", "a3"], { fairBy: "a" });
    await pass(1000);
    deploy({});
    await enqueue("plain");
    if (isAgain) {
      await pass(1000);
      deploy({ fair: true });
      await enqueue("b1", { fairBy: "b" });
    }
    await until(20 * MINUTE);
    if (isAgain) expect(order().sort()).toEqual(["a1", "a2", "a3", "b1", "plain"]);
    else expect(order()).toEqual(["a1", "a2", "a3", "plain"]);
  });

  it.each([
    [{}, {}],
    [{ fair: true }, {}],
    [{}, { fair: true }],
    [{ fair: true }, { fair: true }],
    [{ maxQueued: 1000, exact: true }, {}],
  ])("a bound that is added under load counts the jobs that already wait: %j, then %j", async (from, to) => {
    const { acceptsOneByOne, deploy } = open(from);
    const joinUnder = (terms: QueueConfig) =>
      acceptsOneByOne(8, 60, (i) => (terms.fair === true ? { fairBy: `user ${i % 2}` } : {}));
    expect(await joinUnder(from)).toEqual(Array<boolean>(8).fill(true));
    deploy({ ...to, maxQueued: 5 });
    // The worker runs 20 times a second.
    expect(await joinUnder(to)).toEqual([true, ...Array<boolean>(7).fill(false)]);
  });

  it("a bound that is removed and added again counts anew", async () => {
    const { acceptsOneByOne, deploy } = open({ maxQueued: 1000 });
    await acceptsOneByOne(3, 60);
    deploy({});
    await acceptsOneByOne(8, 60);
    deploy({ maxQueued: 5 });
    expect(await acceptsOneByOne(3, 60)).toEqual([true, false, false]);
  });

  it("a full queue accepts again as soon as its bound is raised", async () => {
    const { accepts, acceptsOneByOne, deploy } = open({ maxQueued: 3 });
    await acceptsOneByOne(5, 500);
    expect(await accepts("x")).toBe(false);
    deploy({ maxQueued: 5 });
    expect(await acceptsOneByOne(4, 500)).toEqual([true, true, false, false]);
  });

  it("a bound that is raised holds for all jobs of a mutation", async () => {
    const { acceptsOneByOne, deploy, functions, t } = open({ maxQueued: 2 });
    expect(await acceptsOneByOne(4, 500)).toEqual([true, true, true, false]);
    deploy({ maxQueued: 100 });
    const accepted = await t.mutation(async (ctx) => {
      const join = () => functions().enqueueRateLimited(ctx, { name: "llm", count: 10 }, run, { label: "x" });
      return [await join(), await join(), await join()].map(({ ok }) => ok);
    });
    expect(accepted).toEqual([true, true, true]);
  });

  it("a queue that is no longer exact accepts jobs as long as it has room", async () => {
    const { accepts, acceptsOneByOne, deploy } = open({ maxQueued: 100, exact: true });
    // The worker sleeps until the second job can be paid.
    await acceptsOneByOne(2, 1000);
    deploy({ maxQueued: 100 });
    expect(await accepts("third")).toBe(true);
  });

  it("a queue that becomes exact counts the jobs that already wait", async () => {
    const { t, accepts, enqueueAll, deploy, until, order } = open({});
    await enqueueAll(["0"]);
    await until(MINUTE);
    // The worker has stopped, and recorded that nothing waits.
    await enqueueAll(["1", "2", "3", "4"]);
    deploy(EXACT);
    expect(await accepts("late")).toBe(false);
    await until(10 * MINUTE);
    expect(order()).toEqual(["0", "1", "2", "3", "4"]);
    await enqueueAll(["5", "6", "7"]);
    expect(await accepts("8")).toBe(false);
    // Somebody deletes the jobs by hand: once its worker has stopped, the queue is known to be empty.
    await changeIn(place, t, "rateLimitQueue", null);
    await until(20 * MINUTE);
    expect(await accepts("9")).toBe(true);
  });

  it("a queue that becomes exact again counts anew", async () => {
    const { accepts, enqueueAll, jobOf, cancel, deploy, until } = open(EXACT);
    const jobs = [await jobOf("1"), await jobOf("2"), await jobOf("3")];
    deploy({ maxQueued: 3 });
    for (const job of jobs) expect(await cancel(job)).toBe(true);
    await until(5 * MINUTE);
    deploy(EXACT);
    await enqueueAll(["4", "5", "6"]);
    expect(await accepts("7")).toBe(false);
  });

  it("a queue that becomes exact again does not count jobs that left meanwhile, even if none arrived", async () => {
    const { accepts, enqueueAll, pass, deploy } = open(EXACT, { ...slow, period: 10_000 });
    await enqueueAll(["first"]);
    await pass(1000);
    await enqueueAll(["2", "3", "4"]);
    deploy({ maxQueued: 3 });
    await pass(20_000);
    deploy(EXACT);
    expect([await accepts("5"), await accepts("6"), await accepts("7")]).toEqual([true, true, false]);
  });

  it("a queue that becomes exact again counts anew even if its worker has not run in between", async () => {
    const { accepts, enqueueAll, deploy } = open(EXACT);
    await enqueueAll(["1"]);
    deploy({});
    await enqueueAll(["2", "3", "4"]);
    deploy(EXACT);
    expect(await accepts("5")).toBe(false);
  });

  // A denial could not: a caller who throws it undoes what it wrote.
  it.each([
    ["was lost", ["1", "2"], 0, MINUTE],
    ["was lost while it slept", ["1", "2", "3"], 1000, 4 * MINUTE],
    ["was lost with its row", ["1", "2", "3"], 1000, 0],
  ])("a full exact queue lets in one job that restarts a worker that %s", async (_what, labels, everyMs, lostMs) => {
    const { accepts, pass, until, order, t } = open({ ...EXACT, maxQueued: 2 });
    for (const label of labels) {
      expect(await accepts(label)).toBe(true);
      await pass(everyMs);
    }
    // Somebody cancels the scheduled runs by hand.
    vi.clearAllTimers();
    if (lostMs === 0) await changeIn(place, t, "rateLimitWorkers", null);
    await pass(lostMs);
    expect([await accepts("late"), await accepts("later")]).toEqual([true, false]);
    await until(10 * MINUTE);
    expect(order()).toEqual([...labels, "late"]);
  });

  it("a full exact queue lets in one job each time its limit is raised, so that the worker looks again", async () => {
    const queue = { ...EXACT, maxQueued: 2 };
    const { accepts, acceptsOneByOne, deploy, pass, order } = open(queue, { ...slow, period: 1440 * MINUTE });
    expect(await acceptsOneByOne(4, 1000)).toEqual([true, true, true, false]);
    deploy(queue, { ...slow, period: 1000 * MINUTE });
    expect([await accepts("late"), await accepts("later")]).toEqual([true, false]);
    await pass(1000);
    deploy({ ...queue, maxQueued: 1 }, fast);
    expect([await accepts("last"), await accepts("later")]).toEqual([true, false]);
    await pass(MINUTE);
    expect(order()).toEqual(["x", "x", "x", "late", "last"]);
  });

  it("a queue that becomes exact while more jobs wait than may lets one in if its limit is raised, too", async () => {
    const { accepts, acceptsOneByOne, deploy, pass, order } = open({}, { ...slow, period: 1440 * MINUTE });
    await acceptsOneByOne(4, 1000);
    deploy({ ...EXACT, maxQueued: 2 }, fast);
    expect([await accepts("late"), await accepts("later")]).toEqual([true, false]);
    await pass(500);
    // Two have their start times, and two wait.
    expect(await accepts("later")).toBe(false);
    await pass(MINUTE);
    expect(order()).toEqual(["x", "x", "x", "x", "late"]);
  });

  it("a denial by a full exact queue does not restart a worker that sleeps, however long", async () => {
    const { accepts, pass } = open({ ...EXACT, maxQueued: 1 }, { ...slow, period: 10 * MINUTE });
    for (const label of ["1", "2"]) {
      expect(await accepts(label)).toBe(true);
      await pass(1000);
    }
    vi.setSystemTime(Date.now() + 5 * MINUTE);
    expect(await accepts("late")).toBe(false);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("a denial by an exact queue whose worker sleeps has the time of the worker's next run as retryAt", async () => {
    const { enqueue, acceptsOneByOne, pass, starts } = open({ ...EXACT, maxQueued: 1 });
    await acceptsOneByOne(2, 1000);
    const denied = await enqueue("3");
    await pass(MINUTE);
    // The second job gets its start time a second before its tokens are there.
    expect(denied).toEqual({ ok: false, retryAt: (starts[1]?.at ?? NaN) - 1050 });
  });

  it("a denial by a full exact queue whose worker was woken has a retryAt in a second, not when it would have slept until", async () => {
    const { enqueue, accepts, pass, pauseFor, reset } = open({ ...EXACT, maxQueued: 1 });
    await pauseFor(60 * MINUTE);
    expect(await accepts("1")).toBe(true);
    await pass(2000);
    await reset();
    await pass(2000);
    expect(await accepts("2")).toBe(true);
    expect(await enqueue("3")).toEqual({ ok: false, retryAt: Date.now() + 1000 });
  });

  it("a queue that has room when its worker wakes accepts at once", async () => {
    const { enqueue, accepts, acceptsOneByOne, pass } = open({ maxQueued: 1 });
    await acceptsOneByOne(2, 1000);
    const denied = await enqueue("3");
    if (denied.ok) throw new Error("It is not full.");
    // The worker's record that the queue is full expires when the worker runs again.
    await pass(denied.retryAt - Date.now() - 300);
    expect(await accepts("3")).toBe(true);
  });

  it("jobs of a queue that a deploy removes run, in your tables by the limit as it is now", async () => {
    const { enqueueAll, pass, deploy, until, log } = open({}, fast);
    await enqueueAll(["1", "2", "3", "4"]);
    await pass(1000);
    deploy(undefined, slow);
    await until(5 * MINUTE);
    // Those before them have their start times; the worker sleeps until the bucket can pay.
    const last = place === "component" ? 3010 : 123_960;
    expect(log()).toEqual(["1 20", "2 1010", "3 2010", `4 ${last}`]);
  });

  it("a job that outlives its queue and its worker's row is settled in your tables by the limit as it is now", async () => {
    const { t, enqueueAll, enqueue, pass, deploy, adjust, snapshot } = open({}, fast);
    await enqueueAll(["first"]);
    await enqueue("second", { settles: "mutation" }, { used: 0 });
    await pass(100);
    await changeIn(place, t, "rateLimitWorkers", null);
    deploy(undefined, { ...slow, capacity: 100 });
    await adjust({ count: -50 });
    const { value } = await snapshot();
    await pass(1000);
    // Under the limit of the job, whose bucket was full, the ten tokens would not come back.
    expect(Math.round((await snapshot()).value - value)).toBe(place === "tables" ? 10 : 0);
  });

  it("a job that ends after a deploy is settled by the new limit", async () => {
    const { t, enqueue, pass, deploy, until, order, reset, functions } = open({});
    await enqueue("first");
    await enqueue("second", { settles: "mutation" }, { used: 9 });
    await pass(MINUTE - 500);
    deploy({}, { kind: "sliding window", rate: 20, period: MINUTE });
    await reset();
    await t.mutation(async (ctx) => await functions().rateLimit(ctx, { name: "llm", count: 3 }));
    // In your tables the worker reads the new limits; the component learns them from the next caller.
    if (place === "component") await enqueue("third");
    const takenAt = Date.now();
    await until(2 * MINUTE);
    expect(order()).toEqual(place === "component" ? ["first", "third", "second"] : ["first", "second"]);
    // One token came back, from the newest take. The window knows when the others were taken.
    const [row] = await rowsIn(place, t);
    const left = place === "component" ? 12 : 2;
    expect(row?.recent?.map(({ at, count }) => [at - takenAt, count])).toEqual([[0, left]]);
  });
});
