/** The queue as its callers see it. */
import { describe, expect, it, vi } from "vitest";
import { defineRateLimits, MINUTE, type RateLimitDefinitions } from "convex-rate-limits";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { rateLimitQueue as rateLimitQueueInComponent } from "convex-rate-limits/component/queue";
import { rateLimitQueue } from "convex-rate-limits/queue";
import { END_OF_TIME } from "../../src/engine/time.js";
import { NOW, useClock } from "../support/clock.js";
import { denialOf } from "../support/errors.js";
import { component, documentsIn, insertRow, placeNames } from "../support/places.js";
import { act, fail, run, useQueues } from "../support/queues.js";
import { firstOf } from "../support/random.js";

useClock();

const config = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 } as const;

/** Overrides of a limit of ten tokens a minute. */
const faster = { kind: "token bucket", rate: 20, period: MINUTE, capacity: 1 } as const;
const slower = { kind: "fixed window", rate: 1, period: MINUTE, start: NOW } as const;

describe.each(placeNames)("in the %s", (place) => {
  /** @param llm - the fields of the queue's limit that are not those of `config`. */
  const open = (llm: object = {}, others: RateLimitDefinitions = {}) =>
    useQueues(place, { llm: { ...config, queue: {}, ...llm }, ...others }, { count: 10 });

  it("jobs run in order of arrival, each when its tokens are there, and nothing stays scheduled", async () => {
    const { enqueue, until, log } = open();
    for (const label of ["first", "second", "third"]) {
      expect(await enqueue(label)).toMatchObject({ ok: true, job: { name: "llm" } });
    }
    await until(10_000);
    expect(log()).toEqual(["first 0", "second 1000", "third 2000"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a queue is full although its worker has just taken a hundred jobs: they are subtracted once", async () => {
    const slow = { rate: 200, period: 10 * MINUTE, capacity: 200, queue: { maxQueued: 20 } };
    const { enqueue, enqueueAtOnce, pass } = open(slow);
    await enqueueAtOnce(120, "x", { count: 2 });
    await pass(2000);
    expect(await enqueue("more", { count: 2 })).toMatchObject({ ok: false });
  });

  it.each<[how: string, llm: object, override?: object]>([
    ["a sliding window", { kind: "sliding window" }],
    ["a fixed window without reservations", { kind: "fixed window", start: NOW, maxReserved: 0 }],
    ["a block that ends", { kind: "token bucket" }, { block: true, until: NOW + MINUTE }],
    ["a higher rate that ends", { kind: "token bucket" }, { config: faster, until: NOW + MINUTE / 2 }],
    ["another kind that ends", { kind: "sliding window" }, { config: faster, until: NOW + MINUTE / 2 }],
    ["a lower rate that ends", { kind: "fixed window", start: NOW }, { config: slower, until: NOW + MINUTE / 2 }],
    ["a sliding window whose jobs cannot use all of it", { kind: "sliding window", rate: 19 }],
    [
      "a fixed window that brings more than it may hold and owe",
      { kind: "fixed window", rate: 30, start: NOW, capacity: 10, maxReserved: 10 },
    ],
    ["a fixed window whose jobs cannot", { kind: "fixed window", rate: 19, start: NOW, maxReserved: 0 }],
  ])("by retryAt there is room in a full queue of %s", async (_how, kind, override) => {
    const llm = { rate: 10, period: MINUTE, queue: { maxQueued: 5 }, ...kind };
    const { enqueue, enqueueAtOnce, pass, ...queue } = useQueues(place, { llm } as never);
    if (override) await queue.override(override);
    await enqueueAtOnce("rate" in kind ? 8 : 30, "x", { count: "rate" in kind ? 10 : 1 });
    await pass(3000);
    const { retryAt = NaN } = (await enqueue("late", { count: 1 })) as { retryAt?: number };
    expect(retryAt).toBeGreaterThan(NOW + 60_000);
    await pass(retryAt - Date.now());
    expect(await enqueue("again", { count: 1 })).toMatchObject({ ok: true });
  });

  it.each<[when: string, afterMs: number, inMs: number, llm: object, pausedMs?: number]>([
    ["before its worker has looked at all jobs", 10, 30_000, { rate: 10, capacity: 20 }],
    ["while its worker pays for jobs all the time", 500, 2000, { rate: 600, capacity: 1, maxReserved: 0 }],
    ["in a pause that outlasts an override", 500, 60_000, { kind: "fixed window", period: 10_000, start: NOW }, 25_000],
  ])("a caller that asks %s, and again at retryAt, is let in", async (_when, afterMs, inMs, kind, pausedMs) => {
    const config = { kind: "token bucket", rate: 1, period: MINUTE, ...kind };
    const limits = { llm: { ...config, queue: { maxQueued: 5 } } };
    const { enqueue, enqueueAtOnce, pass, pauseFor, override } = useQueues(place, limits as never);
    if (pausedMs !== undefined) {
      await override({ config: { ...config, rate: 2 }, until: NOW + pausedMs / 5 });
      await pauseFor(pausedMs);
    }
    await enqueueAtOnce(30, "x");
    await pass(afterMs);
    const { retryAt = NaN } = (await enqueue("late")) as { retryAt?: number };
    expect(retryAt).toBeGreaterThan(NOW + inMs);
    await pass(retryAt - Date.now());
    expect(await enqueue("again")).toMatchObject({ ok: true });
  });

  it("a full queue has room when its large second job has left, however small those around it are", async () => {
    const { enqueue, enqueueAll, pass } = open({ period: MINUTE, queue: { maxQueued: 2 } });
    await enqueueAll(Array<string>(11).fill("small"), { count: 1 });
    await enqueueAll(["large"]);
    await enqueueAll(["small"], { count: 1 });
    await pass(1000);
    const { retryAt = NaN } = (await enqueue("late")) as { retryAt?: number };
    await pass(retryAt - Date.now());
    expect(await enqueue("again")).toMatchObject({ ok: true });
  });

  it("a full queue that is blocked for good says the end of time", async () => {
    const { enqueue, enqueueAtOnce, pass, override } = open({ queue: { maxQueued: 3 } });
    await override({ block: true });
    await enqueueAtOnce(3, "x");
    await pass(1500);
    expect(await enqueue("late")).toEqual({ ok: false, retryAt: END_OF_TIME });
  });

  it("a settlement counts in the units of an override, whether or not the worker is busy", async () => {
    for (const ms of [30, 1500]) {
      const { jobOf, pass, override, functions, t } = open({ rate: 10, period: 60 * MINUTE, capacity: 1000 });
      await override({ config: { kind: "fixed window", rate: 1000, period: 60 * MINUTE, start: NOW } });
      for (let job = 0; job < 20; job++) {
        const [count, used] = job === 15 ? [100, 90] : [1, 1];
        await jobOf(`${job}`, { count, settles: "mutation" }, { used });
        await pass(ms);
      }
      await pass(15_000);
      const { remaining } = await t.query((ctx) => functions().checkRateLimit(ctx, { name: "llm", count: 0 }));
      expect(remaining).toBe(1000 - 19 - 90);
    }
  });

  it("the first retryAt of a full queue is late enough: a caller that waits for it is let in", async () => {
    const { enqueue, pass } = open({ rate: 1, period: 4000, queue: { maxQueued: 3 } });
    const retries: number[] = [];
    for (let i = 0; i < 40 && retries.length < 2; i++) {
      const result = await enqueue("x", { count: 10 });
      if (!result.ok) retries.push(result.retryAt);
      await pass(retries.length === 1 ? 600 : 10);
    }
    const [first = 0, second = 0] = retries;
    expect(first - NOW).toBeGreaterThan(30_000);
    expect(Math.abs(second - first)).toBeLessThan(1500);
    await pass(first - Date.now());
    expect(await enqueue("x", { count: 10 })).toMatchObject({ ok: true });
  });

  it("a job larger than a full bucket has its start time long before, and getQueued returns it until then", async () => {
    const { enqueue, jobOf, position, cancel, pass, until, log, t } = open();
    const job = await jobOf("large", { count: 45, notAfter: NOW + 1500 });
    await pass(2000);
    await enqueue("next");
    await pass(1000);
    expect(await position(job)).toEqual({ startsAt: NOW + 3510 });
    expect(await cancel(job)).toBe(false);
    // It has arrived and left: nobody counts it again.
    expect((await documentsIn(place, t, "rateLimitQueue")).filter(({ arrivedAt }) => arrivedAt)).toHaveLength(1);
    await until(10_000);
    expect(await position(job)).toBeNull();
    expect(log()).toEqual(["large 3510", "next 4510"]);
    expect(await documentsIn(place, t, "rateLimitQueue")).toEqual([]);
  });

  it("a ctx may inherit its parts, such as an instance of an app's own class", async () => {
    const { t, functions, enqueue, until, order } = open();
    await enqueue("first");
    await t.mutation(async (plain) => {
      const ctx = Object.create(plain) as typeof plain;
      const result = await functions().enqueueRateLimited(ctx, { name: "llm", count: 10 }, run, { label: "never" });
      if (!result.ok) throw new Error("There was no room for the job.");
      expect(await functions().getQueued(ctx, result.job)).toMatchObject({ ahead: 1 });
      expect(await functions().adjustRateLimit(ctx, { name: "llm", count: -1 })).toMatchObject({ ok: true });
      expect(await functions().resetRateLimit(ctx, { name: "llm" })).toBeNull();
      expect(await functions().cancelQueued(ctx, result.job)).toEqual({ canceled: true });
    });
    await until(1000);
    expect(order()).toEqual(["first"]);
  });

  it("while the worker sleeps until a job can be paid, cancelling that job wakes it for the next", async () => {
    const { enqueue, jobOf, cancel, pass, order, starts, until } = open({ capacity: 100 });
    await enqueue("burst", { count: 100 });
    const large = await jobOf("large", { count: 100 });
    await enqueue("small", { count: 1 });
    // The worker has stopped, and plans to pay the large job a second before its tokens are there.
    await pass(2000);
    expect(await cancel(large)).toBe(true);
    await until(30_000);
    expect(order()).toEqual(["burst", "small"]);
    expect(starts[1]?.at).toBe(NOW + 2000);
  });

  it.each(["refund", "reset"])("a %s lets the next job start earlier", async (how) => {
    const { enqueueAll, pass, order, starts, until, adjust, reset } = open({ period: MINUTE });
    await enqueueAll(["first", "second"]);
    await pass(5000);
    if (how === "reset") await reset();
    else await adjust({ count: -10 });
    await until(2 * MINUTE);
    expect(order()).toEqual(["first", "second"]);
    expect(starts[1]?.at).toBe(NOW + 5000);
    // Nothing waits: a worker that has stopped is left alone.
    await reset();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("getQueued returns how many jobs are ahead and the expected start; null once a job has its start time", async () => {
    const { enqueue, jobOf, position, until } = open();
    const first = await jobOf("first");
    await enqueue("second");
    const third = await jobOf("third");
    expect(await position(third)).toEqual({ ahead: 2, startsAt: NOW + 2000 });
    await until(10_000);
    expect(await position(first)).toBeNull();
  });

  it("a job can be neither found nor cancelled under the key or the limit of another", async () => {
    const { jobOf, position, cancel, until, order } = open({}, { other: { ...config, queue: {} } });
    const mine = await jobOf("mine", { key: "me" });
    for (const other of [{ key: "you" }, { name: "other" }]) {
      const job = { ...mine, ...other };
      expect([await position(job), await cancel(job)]).toEqual([null, false]);
    }
    await until(1000);
    expect(order()).toEqual(["mine"]);
  });

  it("a job that returns `used` is settled once, when it ends; a job that fails is charged its count", async () => {
    const { enqueue, value, until } = open({ rate: 1, period: 1000 * MINUTE, capacity: 100 });
    await enqueue("mutation", { count: 10, settles: "mutation" }, { used: 4 });
    await enqueue("action", { count: 20, settles: "action" }, { used: 25 }, act);
    await enqueue("fails", { count: 7, settles: "mutation" }, { used: 0 }, fail);
    await enqueue("silent", { count: 3, settles: "mutation" });
    vi.spyOn(console, "error").mockReturnValue();
    await until(10_000);
    expect(await value()).toBe(100 - 4 - 25 - 7 - 3);
  });

  const [seldom, large] = [
    { rate: 1, period: 1000 * MINUTE },
    { kind: "fixed window", rate: 1e9, period: 1000 * MINUTE, capacity: undefined },
  ];
  it.each([
    [5.1, 5.3, seldom, 10],
    [0.3, 0.1, seldom, 10],
    [4.7, 0.003, seldom, 10],
    // What comes back is the units of both counts, not of their difference, which is rounded.
    [5.3, 5.1, large, 1e9],
  ])("a settlement charges what was used, to the thousandth: count %d, used %d", async (count, used, limit, full) => {
    const { enqueue, value, until } = open(limit);
    await enqueue("job", { count, settles: "mutation" }, { used });
    await until(10_000);
    expect(await value()).toBe(Math.round(1000 * (full - used)) / 1000);
  });

  it("a job that was paid before a reset refunds nothing when it ends", async () => {
    const { enqueue, take, pass, reset, until, value } = open();
    await enqueue("first");
    await enqueue("second", { settles: "mutation" }, { used: 0 });
    await pass(500);
    await reset();
    await take({ count: 10 });
    await until(10_000);
    expect(await value()).toBe(0);
  });

  it("a full queue denies, and throws if the limit or the call says so", async () => {
    const { enqueue, pass } = open({ throws: true, rate: 1, period: MINUTE, queue: { maxQueued: 1 } });
    for (const label of ["paid", "waits"]) await enqueue(label);
    await pass(100);
    const denied = await denialOf(enqueue("2"));
    const retryAfter = denied.retryAt - Date.now();
    expect(denied).toEqual({ kind: "RateLimited", name: "llm", retryAt: denied.retryAt, retryAfter });
    expect(await enqueue("3", { throws: false })).toEqual({ ok: false, retryAt: denied.retryAt });
    await expect(enqueue("4", { throws: "yes" })).rejects.toThrow('"llm": throws must be');
  });

  it("whether a denial throws is decided by the definition before the options; the options decide whether its error has the key", async () => {
    const slow = { ...config, rate: 1, period: MINUTE, queue: { maxQueued: 1 } };
    const definitions = { loud: slow, quiet: { ...slow, throws: false } };
    const options = { throws: true, errorKeys: true };
    const { enqueueRateLimited } = rateLimitQueue(
      place === "tables"
        ? defineRateLimits(definitions, { ...options, queueModule: "limits" })
        : defineInComponent(definitions, { ...options, component }),
    );
    const { t, pass } = useQueues(place, definitions);
    const fill = async (name: "loud" | "quiet") => {
      const args = { name, key: "a", count: 10 } as const;
      const join = () => t.mutation((ctx) => enqueueRateLimited(ctx as never, args, run, { label: "" }));
      for (let i = 0; i < 2; i++) await join();
      await pass(100);
      return await join();
    };
    expect(await fill("quiet")).toMatchObject({ ok: false });
    expect(await denialOf(fill("loud"))).toMatchObject({ name: "loud", key: "a" });
  });

  it("a full queue accepts again once jobs have left it", async () => {
    const bounded = { period: MINUTE, queue: { maxQueued: 10 } };
    const { enqueue, enqueueAll, jobOf, cancel, pass, reset } = open(bounded);
    await enqueueAll(Array<string>(11).fill("before"));
    const last = await jobOf("last");
    await pass(1000);
    expect(await enqueue("full")).toMatchObject({ ok: false });
    await cancel(last);
    // The worker has given the next job its start time: nine wait.
    await pass(MINUTE - 1000);
    expect(await enqueue("tenth")).toMatchObject({ ok: true });
    await pass(1000);
    expect(await enqueue("full again")).toMatchObject({ ok: false });
    await reset();
    await pass(100);
    expect(await enqueue("after the reset")).toMatchObject({ ok: true });
  });

  it("a queue in which five jobs wait is never full with a bound of ten, however many jobs pass through", async () => {
    const { enqueue, enqueueAll, pass } = open({ queue: { maxQueued: 10 } });
    await enqueueAll(Array<string>(25).fill("before"), { count: 1 });
    for (let i = 0; i < 30; i++) {
      await pass(100);
      expect(await enqueue("next", { count: 1 })).toMatchObject({ ok: true });
    }
  });

  it("a queue in which one job waits is not said to be full of those that were cancelled", async () => {
    const { enqueue, jobOf, cancel, pass } = open({ period: MINUTE, queue: { maxQueued: 10 } });
    await enqueue("first");
    await enqueue("waits");
    for (let i = 0; i < 20; i++) {
      const next = await jobOf("next");
      await pass(100);
      expect(await cancel(next)).toBe(true);
    }
  });

  it.each([10, 60, 200])(
    "the places of jobs that are cancelled while the worker of a full queue runs are free at once (%i ms)",
    async (ms) => {
      const { enqueue, jobOf, cancel, pass } = open({ period: 600 * MINUTE, queue: { maxQueued: 3 } });
      await enqueue("first");
      for (const i of [1, 2]) await enqueue(`waits ${i}`);
      const jobs = [await jobOf("third"), await jobOf("fourth")];
      await pass(ms);
      for (const job of jobs) await cancel(job);
      await pass(100);
      expect(await enqueue("late")).toMatchObject({ ok: true });
      await pass(100);
      expect(await enqueue("later")).toMatchObject({ ok: false });
    },
  );

  it.each([
    [{}, {}],
    [{ fair: true }, { fairBy: "a user" }],
  ])(
    "the place of a job that is cancelled while the worker of a full queue (%j) sleeps is free at once",
    async (fair, own) => {
      const queue = { maxQueued: 3, ...fair };
      const { t, enqueue, enqueueAll, jobOf, cancel, pass } = open({ period: 600 * MINUTE, queue });
      await enqueueAll(["first", "second", "third"], own);
      const job = await jobOf("fourth", own);
      await pass(1000);
      expect(await enqueue("late", own)).toMatchObject({ ok: false });
      await cancel(job);
      await pass(100);
      expect(await documentsIn(place, t, "rateLimitQueue")).toHaveLength(2);
      expect(await enqueue("next", own)).toMatchObject({ ok: true });
      await pass(100);
      expect(await enqueue("late", own)).toMatchObject({ ok: false });
    },
  );

  it("a full queue whose worker sleeps stays full for hours, and a cancelled job's place is free at once", async () => {
    const { enqueue, jobOf, cancel, pass } = open({ period: 600 * MINUTE, queue: { maxQueued: 3 } });
    await enqueue("first");
    for (const i of [1, 2]) await enqueue(`waits ${i}`);
    const jobs = [await jobOf("third"), await jobOf("fourth")];
    await pass(100);
    for (let i = 0; i < 10; i++) {
      expect(await enqueue("late")).toMatchObject({ ok: false });
      vi.setSystemTime(Date.now() + 20 * MINUTE);
      await pass(100);
    }
    for (const job of jobs) await cancel(job);
    await pass(100);
    const accepted = [];
    for (let i = 0; i < 3; i++) {
      accepted.push((await enqueue("late")).ok);
      await pass(100);
    }
    expect(accepted).toEqual([true, false, false]);
  });

  const bursts: [{ maxQueued: number; fair?: boolean }, ok: boolean, bursts?: number[]][] = [
    [{ maxQueued: 270 }, false],
    // A job that gets its turn late has been counted.
    [{ maxQueued: 320, fair: true }, true],
    // Of those that wait, a transaction can count 524.
    [{ maxQueued: 850 }, false, [8000, 8000, 8000]],
  ];
  it.each(firstOf(place === "tables" ? 3 : 1, bursts))(
    "each job of a burst is counted once: %j, one more is accepted: %j",
    async (queue, ok, bursts = [1]) => {
      const { enqueue, enqueueAtOnce, pass } = open({ period: MINUTE, queue });
      const own: object = queue.fair ? { fairBy: "a user" } : {};
      for (const bytes of bursts) {
        await enqueueAtOnce(300, "x".repeat(bytes), own);
        await pass(100);
      }
      expect(await enqueue("late", own)).toMatchObject({ ok });
    },
  );

  it("a worker whose clock steps back stops as soon as others do", async () => {
    const { enqueue, pass, order } = open();
    await enqueue("only");
    await pass(50);
    vi.setSystemTime(NOW - 60 * MINUTE);
    await pass(500);
    expect(order()).toEqual(["only"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a damaged bucket starts no job; after a reset its jobs run", async () => {
    const { enqueue, t, until, order, reset } = open();
    await insertRow(place, t, { name: "llm", value: NaN, ts: 0 });
    const silent = vi.spyOn(console, "error").mockReturnValue();
    await enqueue("only");
    for (let i = 0; i < 20; i++) {
      vi.advanceTimersToNextTimer();
      await t.finishInProgressScheduledFunctions();
    }
    expect(order()).toEqual([]);
    expect(silent).toHaveBeenCalled();
    // Its worker runs once a minute.
    expect(Date.now()).toBeGreaterThan(NOW + 5 * MINUTE);
    silent.mockRestore();
    await reset();
    await until(60 * MINUTE);
    expect(order()).toEqual(["only"]);
  });

  it("a job that the bucket can never start is denied as too large, and is let in once an operator lets it", async () => {
    const rare = { ...config, period: 1000 * MINUTE, queue: {} };
    const { t, override, enqueue, until, order } = open({ maxReserved: 5 }, { rare });
    const never = { ok: false, reason: "too large", retryAt: END_OF_TIME };
    expect(await enqueue("x", { count: 16 })).toEqual(never);
    // The bucket has that many, but only after more than five years.
    expect(await enqueue("x", { name: "rare", count: 40_000 })).toEqual(never);
    expect(await enqueue("x", { count: Number.MAX_VALUE })).toEqual(never);
    await expect(enqueue("x", { count: 16, throws: true })).rejects.toMatchObject({ data: { reason: "too large" } });
    expect(await documentsIn(place, t, "rateLimitQueue")).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    await override({ more: 1 });
    expect(await enqueue("more", { count: 16 })).toMatchObject({ ok: true });
    await override({ unlimited: true });
    expect(await enqueue("all", { count: 160 })).toMatchObject({ ok: true });
    await until(10 * MINUTE);
    expect(order()).toEqual(["more", "all"]);
  });

  it("misuse throws before anything is read, and names the limit, the field and the allowed values", async () => {
    const others = { plain: config, shared: { ...config, queue: { fair: true } } };
    const { enqueue, t, functions, cancel } = open({ queue: { priorities: 2 } }, others);
    for (const [args, message] of [
      [{ priority: 2 }, '"llm": priority must be a whole number from 0 to 1'],
      [{ fairBy: "a" }, "fairBy must be left out"],
      [{ name: "shared" }, '"shared": fairBy must be whose job it is'],
      [{ name: "shared", fairBy: "" }, "fairBy must be a non-empty string"],
      [{ name: "shared", fairBy: "a".repeat(257) }, "fairBy must be at most 256"],
      [{ name: "shared", fairBy: "\ud800" }, "fairBy must be well-formed"],
      [{ name: "plain" }, '"plain": has no queue'],
      [{ config }, "config must be left out"],
      [{ retries: 3 }, '"retries" is not a field of enqueueRateLimited'],
      [{ settles: "query" }, 'settles must be "mutation" or "action"'],
    ] as const) {
      await expect(enqueue("x", args), message).rejects.toThrow(message);
    }
    await expect(enqueue("x".repeat(9000))).rejects.toThrow("arguments may have 8192 bytes");
    const call = async (fn: unknown, args: unknown) =>
      await t.mutation(
        async (ctx) => await functions().enqueueRateLimited(ctx, { name: "llm" }, fn as never, args as never),
      );
    for (const wrong of [{}, [], 5, null, undefined, () => null]) {
      await expect(call(wrong, {})).rejects.toThrow('Rate limit "llm": the function must be a reference, such as');
    }
    for (const wrong of [5, null, "x", [], new ArrayBuffer(1)]) {
      await expect(call(run, wrong)).rejects.toThrow("the function's arguments must be an object, got");
    }
    await expect(cancel({} as never)).rejects.toThrow("cancelQueued needs the job that enqueueRateLimited returned");
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("the entry of the component refuses limits in your tables", () => {
  const inTables = defineRateLimits({ llm: { ...config, queue: {} } }, { queueModule: "limits" });
  expect(() => rateLimitQueueInComponent(inTables as never)).toThrow(
    "Rate limits in your tables need rateLimitQueue of convex-rate-limits/queue.",
  );
});
