/** Jobs that run again: a provider has refused them, so what they took comes back, and they wait in the place that they had. */
import { describe, expect, it, vi } from "vitest";
import { MINUTE, type RateLimitDefinitions } from "convex-rate-limits";
import type { EnqueueResult, RateLimitQueuedJob } from "convex-rate-limits/queue";
import { NOW, useClock } from "../support/jobs.js";
import { placeNames } from "../support/places.js";
import { act, openQueues, pass, run, runUntil } from "../support/queues.js";

useClock();

/** One job of 10 a second. */
const config = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 } as const;

describe.each(placeNames)("in the %s", (place) => {
  const open = (queue: { attempts?: number } = { attempts: 3 }, limit: object = {}) => {
    const limits = { llm: { ...config, ...limit, queue } } as RateLimitDefinitions;
    const queues = openQueues(place, limits);
    const { t, starts } = queues;
    const enqueue = async (label: string, returns: unknown[] = [], args: object = {}): Promise<EnqueueResult> =>
      await t.mutation(
        async (ctx) =>
          await queues.enqueueRateLimited(ctx, { name: "llm", count: 10, settles: "mutation", ...args }, run, {
            label,
            returns,
          }),
      );
    const value = async () => (await t.query(async (ctx) => await queues.getRateLimit(ctx, { name: "llm" }))).value;
    const until = async (ms: number) => {
      await runUntil(t, NOW + ms);
    };
    const log = () => starts.map(({ label, at }) => `${label} ${at - NOW}`);
    return { ...queues, enqueue, value, until, log };
  };
  const jobOf = (result: EnqueueResult): RateLimitQueuedJob => {
    if (!result.ok) throw new Error("There was no room for the job.");
    return result.job;
  };

  it("one that returns again runs before those behind it, and pays once more", async () => {
    const { enqueue, until, log } = open();
    await enqueue("first", [{ used: 0, again: true }]);
    await enqueue("second");
    await enqueue("third");
    await until(20_000);
    // The second has been given its start time by the time the first ends, and the third has not.
    expect(log().sort()).toEqual(["first 0", "first 1000", "second 1000", "third 2000"]);
  });

  it("what it has used stays charged; without `used` that is nothing", async () => {
    const { enqueue, until, starts, value } = open(
      { attempts: 2 },
      { kind: "fixed window", period: 10 * MINUTE, start: NOW },
    );
    await enqueue("some", [{ used: 4, again: true }, { used: 1 }], { count: 5 });
    await until(1000);
    expect(starts).toHaveLength(2);
    expect(await value()).toBe(5);
    await enqueue("nothing", [{ again: true }, { used: 0 }], { count: 5 });
    await until(2000);
    expect(starts).toHaveLength(4);
    expect(await value()).toBe(5);
  });

  it.each([
    { queue: { attempts: 3 }, runs: 3, says: "has run 3 times (queue.attempts)" },
    { queue: {}, runs: 1, says: "needs queue.attempts" },
  ])("with $queue it runs $runs times at most, and is dropped then", async ({ queue, runs, says }) => {
    const { enqueue, until, starts, value } = open(queue);
    const errors = vi.spyOn(console, "error").mockReturnValue();
    await enqueue(
      "stubborn",
      Array.from({ length: 9 }, () => ({ used: 0, again: true })),
    );
    await until(20_000);
    expect(starts).toHaveLength(runs);
    expect(errors.mock.calls.map(([error]) => String(error))).toEqual([expect.stringContaining(says)]);
    errors.mockRestore();
    expect(await value()).toBe(10);
  });

  it("{ after } waits at least so long, and lets those behind it go first", async () => {
    const { enqueue, until, log } = open();
    await enqueue("first", [{ used: 0, again: { after: 2500 } }]);
    await enqueue("second");
    await enqueue("third");
    await enqueue("last");
    await until(20_000);
    const order = log();
    const again = order.filter((start) => start.startsWith("first"));
    expect(again).toHaveLength(2);
    expect(Number(again[1]?.split(" ")[1])).toBeGreaterThanOrEqual(2500);
    expect(order.slice(0, 3).map((start) => start.split(" ")[0])).toEqual(["first", "second", "third"]);
    expect(order).toHaveLength(5);
  });

  it.each([{ after: -1 }, { after: "soon" }, "yes", 1, {}])(
    "again: %o is logged, and the job has ended",
    async (again) => {
      const { enqueue, until, starts } = open();
      const errors = vi.spyOn(console, "error").mockReturnValue();
      await enqueue("strange", [{ used: 0, again }]);
      await until(20_000);
      expect(String(errors.mock.calls[0]?.[0])).toContain(
        'Rate limit "llm": again must be true, or { after } with 0 to',
      );
      errors.mockRestore();
      expect(starts).toHaveLength(1);
    },
  );

  it("an action runs again, too", async () => {
    const { t, enqueueRateLimited, until, log } = open();
    await t.mutation(async (ctx) => {
      const args = { name: "llm", count: 10, settles: "action" } as const;
      await enqueueRateLimited(ctx, args, act, { label: "job", returns: [{ again: true }, { again: { after: 300 } }] });
    });
    await until(20_000);
    expect(log()).toHaveLength(3);
    expect(Number(log()[2]?.split(" ")[1])).toBeGreaterThanOrEqual(300);
  });

  it("while it waits again it can be found and cancelled by the job that enqueuing returned", async () => {
    const { t, enqueue, getQueued, cancelQueued, pauseRateLimit, until, starts } = open();
    const job = jobOf(await enqueue("job", [{ used: 0, again: { after: 100 } }]));
    await pass(t, 50);
    expect(await t.query(async (ctx) => await getQueued(ctx, job))).toBeNull();
    await t.mutation(async (ctx) => await pauseRateLimit(ctx, { name: "llm", until: NOW + MINUTE }));
    await pass(t, 1000);
    expect(await t.query(async (ctx) => await getQueued(ctx, job))).toMatchObject({ ahead: 0 });
    expect(await t.mutation(async (ctx) => await cancelQueued(ctx, job))).toEqual({ canceled: true });
    expect(await t.mutation(async (ctx) => await cancelQueued(ctx, job))).toEqual({ canceled: false });
    await until(2 * MINUTE);
    expect(starts.filter(({ label }) => label === "job")).toHaveLength(1);
  });

  it("where users take turns, it is the first of those that wait, and nobody new gets before them", async () => {
    const { t, enqueue, until, log } = open({ attempts: 2, fair: true } as object);
    await enqueue("a1", [{ used: 0, again: { after: 2500 } }], { fairBy: "a" });
    for (const label of ["b1", "b2", "b3", "c1", "c2", "c3"]) await enqueue(label, [], { fairBy: label[0] });
    await pass(t, 2600);
    await enqueue("d1", [], { fairBy: "d" });
    await until(20_000);
    const order = log().map((start) => start.split(" ")[0]);
    expect(order).toEqual(["a1", "b1", "c1", "b2", "c2", "a1", "b3", "c3", "d1"]);
  });

  it.each([true, false])("jobs that run again do not shorten the queue for others (exact: %s)", async (exact) => {
    const { enqueue, until, starts } = open({ attempts: 9, maxQueued: 3, exact } as object);
    for (let i = 0; i < 3; i++)
      await enqueue(
        `stubborn ${i}`,
        Array.from({ length: 5 }, () => ({ used: 0, again: true })),
      );
    await until(60_000);
    expect(starts).toHaveLength(18);
    const results = [];
    for (let i = 0; i < 3; i++) results.push((await enqueue(`next ${i}`)).ok);
    expect(results).toEqual([true, true, true]);
    if (exact) expect((await enqueue("too many")).ok).toBe(false);
    await until(70_000);
    expect(starts).toHaveLength(21);
  });

  it("a provider's 429: a pause and again make the job the first when the pause is over", async () => {
    const { t, enqueue, pauseRateLimit, until, log } = open();
    await enqueue("first", [{ used: 0, again: { after: 20 } }]);
    await pass(t, 10);
    await t.mutation(async (ctx) => await pauseRateLimit(ctx, { name: "llm", until: NOW + 5000 }));
    await enqueue("second");
    await until(20_000);
    expect(log()).toEqual(["first 10", "first 6000", "second 7000"]);
  });
});
