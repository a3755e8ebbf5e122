import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { defineRateLimits, isRateLimitError, MINUTE, type RateLimitDefinitions } from "convex-rate-limits";
import { type EnqueueResult, rateLimitQueue, type RateLimitQueuedJob } from "convex-rate-limits/queue";
import { NOW, useClock } from "../support/jobs.js";
import { placeNames } from "../support/places.js";
import { act, fail, openQueues, pass, run, runUntil, withoutSnapshotTs } from "../support/queues.js";

useClock();

const config = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 } as const;

// The worker is the same code in both places.
const backends = [...placeNames.map((place) => ({ place, isOld: false })), { place: "tables" as const, isOld: true }];

describe.each(backends)("in the $place (before Convex 1.47: $isOld)", ({ place, isOld }) => {
  const open = (limits: RateLimitDefinitions = { llm: { ...config, queue: {} } }) => {
    const queues = openQueues(place, limits);
    if (isOld) withoutSnapshotTs();
    const { t, starts } = queues;
    const enqueue = async (label: string, args: object = {}, used?: number): Promise<EnqueueResult> =>
      await t.mutation(
        async (ctx) =>
          await queues.enqueueRateLimited(ctx, { name: "llm", ...args }, run, {
            label,
            ...(used !== undefined && { used }),
          }),
      );
    const cancel = async (job: RateLimitQueuedJob) =>
      await t.mutation(async (ctx) => await queues.cancelQueued(ctx, job));
    const position = async (job: RateLimitQueuedJob) => await t.query(async (ctx) => await queues.getQueued(ctx, job));
    const value = async () => (await t.query(async (ctx) => await queues.getRateLimit(ctx, { name: "llm" }))).value;
    const until = async (moment: number) => {
      await runUntil(t, NOW + moment);
    };
    return { ...queues, enqueue, cancel, position, value, until, order: () => starts.map(({ label }) => label) };
  };
  const jobOf = (result: EnqueueResult): RateLimitQueuedJob => {
    if (!result.ok) throw new Error("There was no room for the job.");
    return result.job;
  };

  it("jobs run in order of arrival, each when its tokens are there, and then nothing is scheduled any more", async () => {
    const { enqueue, until, starts } = open();
    for (const label of ["first", "second", "third"]) {
      expect(await enqueue(label, { count: 10 })).toMatchObject({ ok: true, job: { name: "llm" } });
    }
    await until(10_000);
    expect(starts.map(({ label, at }) => [label, at - NOW])).toEqual([
      ["first", 0],
      ["second", 1000],
      ["third", 2000],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a job is part of the caller's transaction", async () => {
    const { t, enqueueRateLimited, until, starts } = open();
    const failing = t.mutation(async (ctx) => {
      await enqueueRateLimited(ctx, { name: "llm" }, run, { label: "never" });
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    await until(1000);
    expect(starts).toEqual([]);
  });

  it("a cancelled job never runs, and those behind it move up", async () => {
    const { enqueue, cancel, until, starts } = open();
    await enqueue("first", { count: 10 });
    const second = jobOf(await enqueue("second", { count: 10 }));
    await enqueue("third", { count: 10 });
    expect(await cancel(second)).toEqual({ canceled: true });
    expect(await cancel(second)).toEqual({ canceled: false });
    await until(10_000);
    expect(starts.map(({ label, at }) => [label, at - NOW])).toEqual([
      ["first", 0],
      ["third", 1000],
    ]);
  });

  it("while the worker sleeps until a job can be paid, cancelling that job wakes it for the next", async () => {
    const { enqueue, cancel, t, starts, until } = open({ llm: { ...config, capacity: 100, queue: {} } });
    await enqueue("burst", { count: 100 });
    const large = jobOf(await enqueue("large", { count: 100 }));
    await enqueue("small", { count: 1 });
    // The worker has stopped, and planned to pay the large job a second before its tokens are there.
    await pass(t, 2000);
    expect(await cancel(large)).toEqual({ canceled: true });
    await until(30_000);
    expect(starts.map(({ label }) => label)).toEqual(["burst", "small"]);
    expect(starts[1]?.at).toBe(NOW + 2000);
  });

  it.each(["refund", "reset"])("tokens that come back by a %s bring the next job forward", async (how) => {
    const { enqueue, t, starts, until, adjustRateLimit, resetRateLimit } = open({
      llm: { ...config, rate: 10, period: MINUTE, queue: {} },
    });
    await enqueue("first", { count: 10 });
    await enqueue("second", { count: 10 });
    await pass(t, 5000);
    await t.mutation(async (ctx) => {
      if (how === "reset") await resetRateLimit(ctx, { name: "llm" });
      else await adjustRateLimit(ctx, { name: "llm", count: -10 });
    });
    await until(2 * MINUTE);
    expect(starts.map(({ label }) => label)).toEqual(["first", "second"]);
    expect(starts[1]?.at).toBe(NOW + 5000);
  });

  it("a job of more than a full bucket runs when as many tokens have come, and does not block the others", async () => {
    const { enqueue, until, starts } = open();
    for (const [label, count] of [
      ["first", 10],
      ["large", 45],
      ["last", 10],
    ] as const)
      await enqueue(label, { count });
    await until(30_000);
    expect(starts.map(({ label, at }) => [label, at - NOW])).toEqual([
      ["first", 0],
      ["large", 4500],
      ["last", 5500],
    ]);
  });

  it("the higher priority goes first, but not before one that has waited for the aging", async () => {
    const { enqueue, until, order } = open({ llm: { ...config, queue: { priorities: 3, aging: 1000 } } });
    await enqueue("free", { count: 10, priority: 0 });
    vi.setSystemTime(NOW + 999);
    await enqueue("pro", { count: 10, priority: 2 });
    vi.setSystemTime(NOW + 2001);
    await enqueue("late", { count: 10, priority: 2 });
    await until(20_000);
    expect(order()).toEqual(["pro", "free", "late"]);
  });

  it("users take turns: one with many jobs does not hold up the others", async () => {
    const { enqueue, until, order } = open({ llm: { ...config, queue: { fair: true } } });
    for (let i = 1; i <= 4; i++) await enqueue(`a${i}`, { count: 5, fairBy: "a" });
    await enqueue("b1", { count: 5, fairBy: "b" });
    await enqueue("c1", { count: 5, fairBy: "c" });
    await enqueue("b2", { count: 5, fairBy: "b" });
    await until(20_000);
    expect(order()).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  });

  it("getQueued says how many go first and when the tokens will be there; null once a job has its moment", async () => {
    const { enqueue, position, until } = open();
    const jobs = [];
    for (const label of ["first", "second", "third"]) jobs.push(jobOf(await enqueue(label, { count: 10 })));
    const [first, , third] = jobs;
    expect(third && (await position(third))).toEqual({ ahead: 2, isExact: true, runAt: NOW + 2000 });
    await until(10_000);
    expect(first && (await position(first))).toBeNull();
  });

  it("a job that says what it has used is settled when it ends, once; one that fails keeps its count", async () => {
    const { enqueue, value, until, t, enqueueRateLimited } = open({
      llm: { ...config, rate: 1, period: 1000 * MINUTE, capacity: 100, queue: {} },
    });
    await enqueue("mutation", { count: 10, settles: "mutation" }, 4);
    await t.mutation(async (ctx) => {
      const args = { name: "llm", count: 20, settles: "action" } as const;
      await enqueueRateLimited(ctx, args, act, { label: "action", used: 25 });
      const failing = { name: "llm", count: 7, settles: "mutation" } as const;
      await enqueueRateLimited(ctx, failing, fail, { label: "fails", used: 0 });
    });
    await enqueue("silent", { count: 3, settles: "mutation" });
    const silent = vi.spyOn(console, "error").mockReturnValue();
    await until(10_000);
    silent.mockRestore();
    expect(await value()).toBe(100 - 4 - 25 - 7 - 3);
  });

  it.each([
    [5.1, 5.3],
    [0.3, 0.1],
    [4.7, 0.003],
  ])("and then what it has used is charged, to the thousandth: %d, then %d", async (count, used) => {
    const { enqueue, value, until } = open({ llm: { ...config, rate: 1, period: 1000 * MINUTE, queue: {} } });
    await enqueue("job", { count, settles: "mutation" }, used);
    await until(10_000);
    expect(await value()).toBe(Math.round(1000 * (10 - used)) / 1000);
  });

  it("a queue that is full denies; exact: to the job", async () => {
    const { enqueue, until } = open({
      llm: { ...config, rate: 1, period: MINUTE, queue: { maxQueued: 2, exact: true } },
    });
    expect(await enqueue("1", { count: 10 })).toMatchObject({ ok: true });
    const second = await enqueue("2", { count: 10 });
    expect(second).toMatchObject({ ok: true });
    expect(await enqueue("3", { count: 10 })).toEqual({ ok: false, retryAt: NOW + 1000 });
    await until(20 * MINUTE);
    expect(await enqueue("4")).toMatchObject({ ok: true });
  });

  it("what denies throws where the limit, or the call, says so", async () => {
    const { enqueue } = open({
      llm: { ...config, throws: true, rate: 1, period: MINUTE, queue: { maxQueued: 1, exact: true } },
    });
    expect(await enqueue("1", { count: 10 })).toMatchObject({ ok: true });
    const denied: unknown = await enqueue("2").catch((error: unknown) => error);
    expect(isRateLimitError(denied) && denied.data).toEqual({
      kind: "RateLimited",
      name: "llm",
      retryAt: NOW + 1000,
      retryAfter: 1000,
    });
    expect(await enqueue("3", { throws: false })).toEqual({ ok: false, retryAt: NOW + 1000 });
    await expect(enqueue("4", { throws: "yes" })).rejects.toThrow('"llm": throws must be');
  });

  it("the types know what settles a job, and what is thrown", () => {
    const limits = rateLimitQueue(
      defineRateLimits({ llm: { ...config, queue: {} } }, { queueModule: "limits", throws: true }),
    );
    type Enqueue = typeof limits.enqueueRateLimited;
    const thrown = async (ctx: Parameters<Enqueue>[0]) =>
      await limits.enqueueRateLimited(ctx, { name: "llm", settles: "mutation" }, run, { label: "" });
    const returned = async (ctx: Parameters<Enqueue>[0]) =>
      await limits.enqueueRateLimited(ctx, { name: "llm", throws: false }, run, { label: "" });
    const wrong = async (ctx: Parameters<Enqueue>[0]) =>
      // @ts-expect-error It is a mutation.
      await limits.enqueueRateLimited(ctx, { name: "llm", settles: "action" }, run, { label: "" });
    expectTypeOf(thrown).returns.resolves.toEqualTypeOf<Extract<EnqueueResult, { ok: true }>>();
    expectTypeOf(returned).returns.resolves.toEqualTypeOf<EnqueueResult>();
    expect(wrong).toBeTypeOf("function");
  });

  it("a queue that is full denies once its worker has counted", async () => {
    const { enqueue, t, until, order } = open({
      llm: { ...config, rate: 10, period: MINUTE, queue: { maxQueued: 3 } },
    });
    for (let i = 0; i < 5; i++) expect(await enqueue(`${i}`, { count: 10 })).toMatchObject({ ok: true });
    vi.advanceTimersToNextTimer();
    await t.finishInProgressScheduledFunctions();
    const denied = await enqueue("late", { count: 10 });
    expect(denied).toEqual({ ok: false, retryAt: NOW + 1000 });
    await until(10 * MINUTE);
    expect(order()).toEqual(["0", "1", "2", "3", "4"]);
  });

  it.each([{}, { fair: true }])("it denies callers who come one by one while its worker sleeps: %j", async (terms) => {
    const { enqueue, t } = open({ llm: { ...config, period: 60 * MINUTE, queue: { ...terms, maxQueued: 5 } } });
    const accepted: boolean[] = [];
    for (let i = 0; i < 9; i++) {
      accepted.push((await enqueue(`${i}`, { count: 10, ...("fair" in terms && { fairBy: `user ${i % 3}` }) })).ok);
      await pass(t, 500);
    }
    // The first has its moment at once, and five wait.
    expect(accepted).toEqual([true, true, true, true, true, true, false, false, false]);
  });

  it("a queue is not full any more when its jobs have left it", async () => {
    const { enqueue, cancel, t, resetRateLimit } = open({
      llm: { ...config, period: MINUTE, queue: { maxQueued: 10 } },
    });
    const jobs = [];
    for (let i = 0; i < 12; i++) jobs.push(jobOf(await enqueue(`${i}`, { count: 10 })));
    await pass(t, 1000);
    expect(await enqueue("full")).toMatchObject({ ok: false });
    for (const last of jobs.slice(-1)) await cancel(last);
    // The worker has given the next job its moment: nine wait.
    await pass(t, MINUTE - 1000);
    expect(await enqueue("tenth", { count: 10 })).toMatchObject({ ok: true });
    await pass(t, 1000);
    expect(await enqueue("full again")).toMatchObject({ ok: false });
    await t.mutation(async (ctx) => await resetRateLimit(ctx, { name: "llm" }));
    await pass(t, 100);
    expect(await enqueue("after the reset")).toMatchObject({ ok: true });
  });

  it("a burst of more jobs than a run counts one by one is counted", async () => {
    const { enqueue, t, enqueueRateLimited } = open({ llm: { ...config, period: MINUTE, queue: { maxQueued: 550 } } });
    await t.mutation(async (ctx) => {
      for (let i = 0; i < 600; i++) await enqueueRateLimited(ctx, { name: "llm", count: 10 }, run, { label: "one" });
    });
    await pass(t, 1000);
    expect(await enqueue("late")).toMatchObject({ ok: false });
  });

  it("the next caller starts a worker whose chain of runs was broken", async () => {
    const { enqueue, until, order } = open();
    await enqueue("lost", { count: 1 });
    // Somebody cancels what is scheduled, by hand.
    vi.clearAllTimers();
    vi.setSystemTime(NOW + MINUTE);
    await enqueue("next", { count: 1 });
    await until(2 * MINUTE);
    expect(order()).toEqual(["lost", "next"]);
  });

  it("a worker whose clock steps back stops as soon as any other", async () => {
    const { enqueue, t, order } = open();
    await enqueue("only");
    await pass(t, 50);
    vi.setSystemTime(NOW - 60 * MINUTE);
    await pass(t, 500);
    expect(order()).toEqual(["only"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a damaged bucket lets nothing through; after a reset its jobs run", async () => {
    const { enqueue, t, until, order, resetRateLimit } = open();
    const { insertRow } = await import("../support/places.js");
    await insertRow(place, t, { name: "llm", value: NaN, ts: 0 });
    const silent = vi.spyOn(console, "error").mockReturnValue();
    await enqueue("only");
    for (let i = 0; i < 20; i++) {
      vi.advanceTimersToNextTimer();
      await t.finishInProgressScheduledFunctions();
    }
    expect(order()).toEqual([]);
    expect(silent).toHaveBeenCalled();
    silent.mockRestore();
    await t.mutation(async (ctx) => await resetRateLimit(ctx, { name: "llm" }));
    await until(60 * MINUTE);
    expect(order()).toEqual(["only"]);
  });

  it("misuse names the limit, the field and what is permitted, before anything is read", async () => {
    const { enqueue, t, enqueueRateLimited, cancelQueued } = open({
      llm: { ...config, maxReserved: 5, queue: { priorities: 2 } },
      plain: config,
      shared: { ...config, queue: { fair: true } },
      rare: { ...config, period: 1000 * MINUTE, queue: {} },
    });
    await expect(enqueue("x", { priority: 2 })).rejects.toThrow('"llm": priority must be a whole number from 0 to 1');
    await expect(enqueue("x", { count: 16 })).rejects.toThrow("can never be served");
    await expect(enqueue("x", { name: "rare", count: 40_000 })).rejects.toThrow("only after more than five years");
    await expect(enqueue("x", { fairBy: "a" })).rejects.toThrow("fairBy must be left out");
    await expect(enqueue("x", { name: "shared" })).rejects.toThrow('"shared": fairBy must be whose job it is');
    await expect(enqueue("x", { name: "shared", fairBy: "" })).rejects.toThrow("fairBy must be a non-empty string");
    await expect(enqueue("x", { name: "shared", fairBy: "a".repeat(257) })).rejects.toThrow(
      "fairBy must be at most 256",
    );
    await expect(enqueue("x", { name: "shared", fairBy: "\ud800" })).rejects.toThrow("fairBy must be well-formed");
    for (const wrong of [{}, [], 5, null, undefined, () => null]) {
      const joining = (ctx: Parameters<typeof enqueueRateLimited>[0]) =>
        enqueueRateLimited(ctx, { name: "llm" }, wrong as never, {});
      await expect(t.mutation(joining)).rejects.toThrow('Rate limit "llm": the function must be a reference, such as');
    }
    for (const wrong of [5, null, "x", [], new ArrayBuffer(1)]) {
      const joining = (ctx: Parameters<typeof enqueueRateLimited>[0]) =>
        enqueueRateLimited(ctx, { name: "llm" }, run, wrong as never);
      await expect(t.mutation(joining)).rejects.toThrow("the function's arguments must be an object, got");
    }
    await expect(enqueue("x", { name: "plain" })).rejects.toThrow('"plain": has no queue');
    await expect(enqueue("x", { config })).rejects.toThrow("config must be left out");
    await expect(enqueue("x", { retries: 3 })).rejects.toThrow('"retries" is not a field of enqueueRateLimited');
    await expect(enqueue("x", { settles: "query" })).rejects.toThrow('settles must be "mutation" or "action"');
    await expect(enqueue("x".repeat(9000))).rejects.toThrow("arguments may have 8192 bytes");
    await expect(t.mutation(async (ctx) => await cancelQueued(ctx, {} as RateLimitQueuedJob))).rejects.toThrow(
      "cancelQueued needs the job that enqueueRateLimited returned",
    );
    expect(enqueueRateLimited).toBeTypeOf("function");
    expect(vi.getTimerCount()).toBe(0);
  });
});
