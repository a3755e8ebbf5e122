// @vitest-environment edge-runtime
import type { RateLimitConfig, RateLimitedJob } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { defineIn, placeNames, rowsIn } from "../support/places.js";
import { fail, forget, NOW, openQueue, pendingJobs, run, runAll, runUntil, useClock } from "../support/jobs.js";

useClock();

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 20 };

describe.each(placeNames)("in the %s", (place) => {
  const {
    rateLimit,
    getRateLimit,
    scheduleRateLimited: schedule,
    cancelRateLimited: cancel,
  } = defineIn(place, {
    llm: config,
    mine: { ...config, keyed: true },
    odd: { kind: "token bucket", rate: 1, period: 7000, capacity: 3 },
  });
  type Queue = ReturnType<typeof openQueue>;
  const scheduleJob = (t: Queue["t"], label: string, tokens: number) =>
    t.mutation(async (ctx) => await schedule(ctx, { name: "llm", count: tokens }, run, { label, tokens }));
  const valueOf = async (t: Queue["t"], name = "llm") =>
    (await t.query(async (ctx) => await getRateLimit(ctx, { name }))).value;
  const jobOf = (result: Awaited<ReturnType<typeof scheduleJob>>): RateLimitedJob => {
    if (!result.ok) throw new Error("There was no room for the job.");
    return result.job;
  };

  it("a job runs now while there are tokens, and then at the moment its tokens are there", async () => {
    const { t, starts } = openQueue();
    expect(await scheduleJob(t, "first", 10)).toMatchObject({ ok: true, runAt: NOW });
    expect(await scheduleJob(t, "second", 5)).toMatchObject({ ok: true, runAt: NOW + 500 });
    expect(await scheduleJob(t, "third", 1)).toMatchObject({ ok: true, runAt: NOW + 600 });
    await runAll(t);
    expect(starts).toEqual([
      { label: "first", tokens: 10, at: NOW },
      { label: "second", tokens: 5, at: NOW + 500 },
      { label: "third", tokens: 1, at: NOW + 600 },
    ]);
  });

  it("a job takes one token unless it says otherwise", async () => {
    const { t } = openQueue();
    const scheduled = await t.mutation(
      async (ctx) => await schedule(ctx, { name: "mine", key: "a" }, run, { label: "only", tokens: 1 }),
    );
    expect(scheduled).toMatchObject({ ok: true, job: { name: "mine", key: "a", count: 1, runAt: NOW } });
    expect(await rowsIn(place, t)).toMatchObject([{ name: "mine", key: "a", value: 9 }]);
  });

  it("when maxReserved is used up nothing is scheduled, and retryAt is when there is room", async () => {
    const { t } = openQueue();
    await scheduleJob(t, "all", 30);
    const refused = { ok: false, retryAt: NOW + 500 };
    expect(await scheduleJob(t, "more", 5)).toEqual(refused);
    expect(await pendingJobs(t)).toHaveLength(1);
    vi.setSystemTime(refused.retryAt - 1);
    expect(await scheduleJob(t, "more", 5)).toEqual(refused);
    vi.setSystemTime(refused.retryAt);
    expect(await scheduleJob(t, "more", 5)).toMatchObject({ ok: true, runAt: NOW + 2500 });
  });

  it("spread puts jobs up to so much later, at random, and never earlier", async () => {
    const { t, starts } = openQueue();
    const promises: number[] = [];
    for (let i = 0; i < 20; i++) {
      const scheduled = await t.mutation(
        async (ctx) => await schedule(ctx, { name: "llm", spread: 400 }, run, { label: `${i}`, tokens: 1 }),
      );
      promises.push(NOW + Math.max(0, i - 9) * 100);
      expect(scheduled).toMatchObject({ ok: true });
    }
    await runAll(t);
    const delays = promises.map((promise, i) => (starts.find(({ label }) => label === `${i}`)?.at ?? 0) - promise);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThan(400);
    expect(new Set(delays).size).toBeGreaterThan(5);
  });

  it("a mutation that throws leaves neither the job nor the reservation", async () => {
    const { t } = openQueue();
    const failing = t.mutation(async (ctx) => {
      await schedule(ctx, { name: "llm", count: 10 }, run, { label: "never", tokens: 10 });
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await rowsIn(place, t)).toEqual([]);
    expect(await pendingJobs(t)).toEqual([]);
  });

  it("a job that the scheduler refuses leaves no tokens taken, even if the error is caught", async () => {
    const { t } = openQueue();
    await t.mutation(async (ctx) => {
      const scheduler = { ...ctx.scheduler, runAt: () => Promise.reject(new Error("too many jobs")) };
      for (const count of [4, 12]) {
        const refused = schedule({ ...ctx, scheduler }, { name: "llm", count }, run, { label: "a", tokens: count });
        await expect(refused).rejects.toThrow("too many jobs");
      }
    });
    expect(await valueOf(t)).toBe(10);
  });

  it("a job starts no further away than the scheduler allows, spread and all", async () => {
    const { t } = openQueue();
    const furthest = 5 * 366 * 86_400_000;
    const slow: RateLimitConfig = { kind: "token bucket", rate: 1, period: furthest };
    const asked = (spread: number) => ({ name: "slow", key: String(spread), config: slow, spread });
    const job = { label: "slow", tokens: 1 };
    for (const [spread, ok] of [
      [0, true],
      [1000, false],
    ] as const) {
      const results = await t.mutation(async (ctx) => [
        await schedule(ctx, asked(spread), run, job),
        await schedule(ctx, asked(spread), run, job),
      ]);
      expect(results).toMatchObject([{ ok: true }, { ok }]);
    }
  });

  it("a cancelled job never runs, and another gets its tokens", async () => {
    const { t, starts } = openQueue();
    await scheduleJob(t, "first", 10);
    const second = jobOf(await scheduleJob(t, "second", 10));
    expect(await scheduleJob(t, "third", 15)).toMatchObject({ ok: false });
    expect(await t.mutation(async (ctx) => await cancel(ctx, second))).toEqual({ canceled: true });
    expect(await valueOf(t)).toBe(0);
    expect(await scheduleJob(t, "third", 15)).toMatchObject({ ok: true, runAt: NOW + 1500 });
    await runAll(t);
    expect(starts.map(({ label }) => label)).toEqual(["first", "third"]);
  });

  it("later reservations keep their moments when one before them is cancelled", async () => {
    const { t, starts } = openQueue();
    await scheduleJob(t, "first", 10);
    const second = jobOf(await scheduleJob(t, "second", 10));
    await scheduleJob(t, "third", 10);
    await t.mutation(async (ctx) => await cancel(ctx, second));
    await scheduleJob(t, "fourth", 10);
    await runAll(t);
    expect(starts.map(({ label, at }) => [label, at - NOW])).toEqual([
      ["first", 0],
      ["third", 2000],
      ["fourth", 2000],
    ]);
  });

  it("a job that has run gives nothing back", async () => {
    const { t } = openQueue();
    const job = jobOf(await scheduleJob(t, "quick", 10));
    await runUntil(t, NOW);
    expect(await t.mutation(async (ctx) => await cancel(ctx, job))).toEqual({ canceled: false, state: "success" });
    expect(await valueOf(t)).toBe(0);
  });

  it("a job that has failed gives nothing back by itself", async () => {
    const { t } = openQueue();
    const silent = vi.spyOn(console, "error").mockReturnValue();
    const job = jobOf(
      await t.mutation(
        async (ctx) => await schedule(ctx, { name: "llm", count: 10 }, fail, { label: "down", tokens: 10 }),
      ),
    );
    await runUntil(t, NOW);
    silent.mockRestore();
    expect(await t.mutation(async (ctx) => await cancel(ctx, job))).toEqual({ canceled: false, state: "failed" });
    expect(await valueOf(t)).toBe(0);
  });

  it("a job that is running gives nothing back", async () => {
    const results: unknown[] = [];
    const busy: RateLimitedJob[] = [];
    const { t } = openQueue(async (ctx) => {
      for (const job of busy) results.push(await cancel(ctx, job));
    });
    busy.push(jobOf(await scheduleJob(t, "busy", 10)));
    await runUntil(t, NOW);
    expect(results).toEqual([{ canceled: false, state: "inProgress" }]);
    expect(await valueOf(t)).toBe(0);
  });

  it("a job that was cancelled before gives nothing back again, whatever cancelled it", async () => {
    const { t } = openQueue();
    await scheduleJob(t, "first", 10);
    const [ours, theirs] = [jobOf(await scheduleJob(t, "ours", 5)), jobOf(await scheduleJob(t, "theirs", 5))];
    expect(await t.mutation(async (ctx) => await cancel(ctx, ours))).toEqual({ canceled: true });
    await t.mutation(async (ctx) => {
      await ctx.scheduler.cancel(theirs.id);
    });
    for (const job of [ours, theirs]) {
      expect(await t.mutation(async (ctx) => await cancel(ctx, job))).toEqual({ canceled: false, state: "canceled" });
    }
    expect(await valueOf(t)).toBe(-5);
  });

  it("a job that Convex has forgotten gives nothing back", async () => {
    const { t } = openQueue();
    const job = jobOf(await scheduleJob(t, "old", 10));
    await runUntil(t, NOW);
    await forget(t, job.id);
    expect(await t.mutation(async (ctx) => await cancel(ctx, job))).toEqual({ canceled: false, state: "deleted" });
    expect(await valueOf(t)).toBe(0);
  });

  it("cancelling and scheduling in one mutation that throws leaves everything as it was", async () => {
    const { t, starts } = openQueue();
    await scheduleJob(t, "first", 10);
    const second = jobOf(await scheduleJob(t, "second", 10));
    const failing = t.mutation(async (ctx) => {
      expect(await cancel(ctx, second)).toEqual({ canceled: true });
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await valueOf(t)).toBe(-10);
    await runAll(t);
    expect(starts.map(({ label }) => label)).toEqual(["first", "second"]);
  });

  it("a job is a plain value: what JSON makes of it works as well", async () => {
    const { t } = openQueue();
    const inline: RateLimitConfig = { kind: "fixed window", rate: 4, period: 1000, start: 0, shards: 2 };
    const scheduled = await t.mutation(
      async (ctx) =>
        await schedule(ctx, { name: "plan", key: "a", count: 3, config: inline }, run, { label: "x", tokens: 3 }),
    );
    const job = jobOf(scheduled);
    expect(Object.keys(job).sort()).toEqual(["config", "count", "id", "key", "name", "runAt"]);
    const stored = JSON.parse(JSON.stringify(job)) as RateLimitedJob;
    expect(await t.mutation(async (ctx) => await cancel(ctx, stored))).toEqual({ canceled: true });
    const left = await t.query(async (ctx) => await getRateLimit(ctx, { name: "plan", key: "a", config: inline }));
    expect(left.value).toBe(4);
  });

  it("a count finer than what the limit counts in is given back as it was charged", async () => {
    const { t } = openQueue();
    const count = 1 / 3;
    await t.mutation(async (ctx) => await rateLimit(ctx, { name: "odd", count: 2 }));
    const before = await valueOf(t, "odd");
    const job = jobOf(
      await t.mutation(
        async (ctx) => await schedule(ctx, { name: "odd", count }, run, { label: "third", tokens: count }),
      ),
    );
    expect(await valueOf(t, "odd")).toBeLessThan(before);
    await t.mutation(async (ctx) => await cancel(ctx, job));
    expect(await valueOf(t, "odd")).toBe(before);
  });

  it("a job can be cancelled after its limit was lowered below its count", async () => {
    const { t } = openQueue();
    await scheduleJob(t, "first", 10);
    const job = jobOf(await scheduleJob(t, "large", 20));
    const lowered = defineIn(place, { llm: { ...config, rate: 2, maxReserved: 0 } });
    expect(await t.mutation(async (ctx) => await lowered.cancelRateLimited(ctx, job))).toEqual({ canceled: true });
    expect(await valueOf(t)).toBe(0);
  });

  it("without definitions, the config comes with the call and with the job", async () => {
    const { t, starts } = openQueue();
    const args = { name: "free", key: "a", count: 10, config };
    const { scheduleRateLimited, cancelRateLimited } = defineIn(place, {});
    const [kept, dropped] = await t.mutation(
      async (ctx) =>
        [
          jobOf(await scheduleRateLimited(ctx, args, run, { label: "kept", tokens: 10 })),
          jobOf(await scheduleRateLimited(ctx, args, run, { label: "dropped", tokens: 10 })),
        ] as const,
    );
    expect(kept).toEqual({ name: "free", key: "a", count: 10, config, runAt: NOW, id: expect.any(String) as string });
    expect(await t.mutation(async (ctx) => await cancelRateLimited(ctx, dropped))).toEqual({ canceled: true });
    await runAll(t);
    expect(starts.map(({ label }) => label)).toEqual(["kept"]);
    expect(await rowsIn(place, t)).toMatchObject([{ name: "free", key: "a", value: 0 }]);
    expect(await rowsIn(place === "tables" ? "component" : "tables", t)).toEqual([]);
  });
});
