/** Jobs that wait while a deploy changes their queue. */
import { describe, expect, it } from "vitest";
import { DAY, MINUTE, type RateLimitDefinitions } from "convex-rate-limits";
import type { TokensConfig } from "../support/configs.js";
import type { QueueConfig } from "../../src/wire/configs.js";
import { useClock } from "../support/clock.js";
import { documentsIn, placeNames, rowsIn } from "../support/places.js";
import { firstOf } from "../support/random.js";
import { run, useQueues } from "../support/queues.js";

useClock();

/** One job of 10 tokens a minute. */
const slow = { kind: "token bucket", rate: 10, period: MINUTE, capacity: 10 } as const;
const fast = { ...slow, period: 1000 };

describe.each(firstOf(1, placeNames))("in the %s", (place) => {
  const open = (queue: QueueConfig, limit: TokensConfig = slow) => {
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

  it("jobs of a removed priority run, and keep their priority", async () => {
    const { enqueue, jobOf, position, deploy, until, order } = open({ priorities: 2 }, fast);
    await enqueue("first", { priority: 1 });
    await enqueue("low", { priority: 0 });
    const high = await jobOf("high", { priority: 1 });
    deploy({ priorities: 1 });
    expect(await position(high)).toMatchObject({ ahead: 1 });
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

  it("a full queue stays full under the same terms with their fields in another order, as another module may name them", async () => {
    const { accepts, acceptsOneByOne, deploy, t } = open({ maxQueued: 3, priorities: 2 });
    await acceptsOneByOne(5, 500);
    const before = [
      await documentsIn(place, t, "rateLimitWorkers"),
      await documentsIn(place, t, "rateLimitQueueTerms"),
    ];
    const { kind, rate, period, capacity } = slow;
    deploy({ priorities: 2, maxQueued: 3 }, { capacity, period, rate, kind });
    expect(await accepts("x")).toBe(false);
    expect(before).toEqual([
      await documentsIn(place, t, "rateLimitWorkers"),
      await documentsIn(place, t, "rateLimitQueueTerms"),
    ]);
  });

  it("a bound that is raised holds for all jobs of a mutation", async () => {
    const { acceptsOneByOne, deploy, write } = open({ maxQueued: 2 });
    expect(await acceptsOneByOne(4, 500)).toEqual([true, true, true, false]);
    deploy({ maxQueued: 100 });
    const accepted = await write(async (ctx, own) => {
      const join = () => own.enqueueRateLimited(ctx, { name: "llm", count: 10 }, run, { label: "x" });
      return [await join(), await join(), await join()].map(({ ok }) => ok);
    });
    expect(accepted).toEqual([true, true, true]);
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

  it.each(["sweep", "pause", "charge", "reset", "cancel", "enqueue"])(
    "a lowered limit holds for all that waits from the next %s on, though nobody enqueues on its key",
    async (how) => {
      const ten = { ...fast, rate: 10, capacity: 10, keyed: true };
      const { enqueueAtOnce, jobOf, deploy, pass, starts, ...queue } = open({}, ten);
      await enqueueAtOnce(100, "x", { count: 1, key: "a" });
      const other = await jobOf("y", { key: "b" });
      await pass(2000);
      deploy({}, { ...ten, rate: 1 });
      const key = "b";
      const calls: Record<string, () => Promise<unknown>> = {
        sweep: queue.sweep,
        pause: () => queue.pauseFor(10, { key }),
        charge: () => queue.adjust({ key, count: 1 }),
        reset: () => queue.reset({ key }),
        cancel: () => queue.cancel(other),
        enqueue: () => queue.enqueue("z", { key, count: 1 }),
      };
      await calls[how]?.();
      const before = starts.length;
      await pass(20_000);
      // Those of a second ahead have their start times.
      expect(starts.length - before).toBeLessThanOrEqual(20 + 12);
    },
  );

  it("a sweep after a deploy that raises a limit wakes the workers that sleep", async () => {
    const rare = { ...slow, period: 10 * MINUTE };
    const { enqueueAll, deploy, pass, until, log, sweep } = open({}, rare);
    await enqueueAll(["1", "2"]);
    await pass(1000);
    deploy({}, fast);
    await sweep();
    await until(20 * MINUTE);
    expect(log()[1]).toMatch(/^2 1\d{3}$/);
  });

  it("jobs of a queue that a deploy removes run by the limit as it was", async () => {
    const { enqueueAll, pass, deploy, until, log } = open({}, fast);
    await enqueueAll(["1", "2", "3", "4"]);
    await pass(1000);
    deploy(undefined, slow);
    await until(5 * MINUTE);
    expect(log()).toEqual(["1 20", "2 1010", "3 2010", "4 3010"]);
  });

  it.each<[what: string, deployed: RateLimitDefinitions]>([
    ["queue", { llm: slow }],
    ["limit", {}],
    ["limit, whose keys are now others,", { llm: { ...slow, keyed: true, queue: {} } }],
  ])("a job of a %s that a deploy removes still has a place, and can be cancelled", async (_what, deployed) => {
    const queues = useQueues(place, { llm: { ...slow, queue: { maxQueued: 5 } } }, { count: 10 });
    const [, second, third] = [await queues.jobOf("1"), await queues.jobOf("2"), await queues.jobOf("3")];
    await queues.pass(1000);
    queues.deploy(deployed);
    expect(await queues.position(third)).toMatchObject({ ahead: 1 });
    expect(await queues.cancel(second)).toBe(true);
    expect(await queues.cancel(second)).toBe(false);
    expect(await queues.position(second)).toBeNull();
    await queues.until(5 * MINUTE);
    expect(queues.seconds()).toEqual(["1 0", "3 60"]);
  });

  it("a job that ends after a deploy is settled by the new limit", async () => {
    const { t, take, enqueue, pass, deploy, until, order } = open({});
    await enqueue("first");
    await enqueue("second", { settles: "mutation" }, { used: 11 });
    await pass(MINUTE - 500);
    deploy({}, { kind: "sliding window", rate: 20, period: MINUTE });
    await take({ count: 3 });
    // In your tables the worker reads the new limits; the component learns them from the next caller.
    if (place === "component") await enqueue("third");
    await until(2 * MINUTE);
    expect(order()).toEqual(place === "component" ? ["first", "third", "second"] : ["first", "second"]);
    // It has used a token more than its count, which is charged to the window.
    const window = (await rowsIn(place, t)).find(({ bucket }) => bucket !== undefined);
    const own = place === "component" ? 13 : 3;
    expect(window?.recent?.map(({ count }) => count)).toEqual([own, 1]);
  });
});

it("in the component a deploy that is taken back holds from the next call on, though another key's was the last", async () => {
  const llm = { ...fast, keyed: true, queue: {} };
  const { enqueue, enqueueAll, deploy, pass, seconds } = useQueues("component", { llm }, { count: 10 });
  await enqueue("a1", { key: "a" });
  await pass(1000);
  deploy({ llm: { ...slow, keyed: true, queue: {} } });
  await enqueue("b1", { key: "b" });
  deploy({ llm });
  await enqueueAll(["a2", "a3"], { key: "a" });
  await pass(5000);
  expect(seconds()).toEqual(["a1 0", "b1 1", "a2 1", "a3 2"]);
});

it("a worker in your tables that waits for weeks notices a deploy within a day, without a call", async () => {
  const { enqueueAll, pass, deploy, until, order } = useQueues("tables", {
    llm: { ...slow, period: 20 * DAY, queue: {} },
  });
  await enqueueAll(["first", "waits"], { count: 10 });
  await pass(2000);
  deploy({ llm: { ...slow, queue: {} } });
  await until(DAY + MINUTE);
  expect(order()).toEqual(["first", "waits"]);
});
