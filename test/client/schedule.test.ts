/** Jobs and the scheduler. test/oracle compares the tokens of reservations and cancellations with exact buckets. */
import type { RateLimitConfig } from "convex-rate-limits";
import type { RateLimitedJob } from "convex-rate-limits/jobs";
import { describe, expect, it, vi } from "vitest";
import { type MutationCtx, placeNames } from "../support/places.js";
import { NOW, useClock } from "../support/clock.js";
import { fail, run, useJobs } from "../support/jobs.js";

useClock();

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 20 };

describe.each(placeNames)("in the %s", (place) => {
  /** The work of a job while it runs. */
  let whileRunning: ((ctx: MutationCtx) => Promise<unknown>) | undefined;
  const jobs = useJobs(place, async (ctx) => await whileRunning?.(ctx));
  const { define, starts, rows, runAll, mutation, backend } = jobs;
  const limits = define({ llm: config });
  const { cancelRateLimited: cancel } = limits;
  const schedule = (label: string, tokens: number, args: object = {}, fn: unknown = run) =>
    limits.scheduleRateLimited({ name: "llm", count: tokens, ...args }, fn, { label, tokens });
  const scheduled = async (...args: Parameters<typeof schedule>): Promise<RateLimitedJob> => {
    const result = await schedule(...args);
    if (!result.ok) throw new Error("There was no room for the job.");
    return result.job;
  };
  const valueOf = async (name = "llm") => (await limits.getRateLimit({ name })).value;
  const started = () => starts.map(({ label }) => label);
  const canceled = { canceled: true };

  it("a job runs now while there are tokens, and otherwise at the time its tokens are there", async () => {
    expect(await schedule("first", 10)).toMatchObject({ ok: true, runAt: NOW });
    expect(await schedule("second", 5)).toMatchObject({ ok: true, runAt: NOW + 500 });
    // The default is one token.
    expect(await schedule("third", 1, { count: undefined })).toMatchObject({ ok: true, runAt: NOW + 600 });
    await runAll();
    expect(starts).toEqual([
      { label: "first", tokens: 10, at: NOW },
      { label: "second", tokens: 5, at: NOW + 500 },
      { label: "third", tokens: 1, at: NOW + 600 },
    ]);
  });

  it("spread makes jobs later at random, by less than its ms, and never earlier", async () => {
    const promises = Array.from({ length: 20 }, (_, i) => NOW + Math.max(0, i - 9) * 100);
    for (const i of promises.keys()) expect((await scheduled(`${i}`, 1, { spread: 400 })).runAt % 1).toBe(0);
    await runAll();
    const delays = promises.map((promise, i) => (starts.find(({ label }) => label === `${i}`)?.at ?? 0) - promise);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThan(400);
    expect(new Set(delays).size).toBeGreaterThan(5);
  });

  it.each([0, 20])("a refused job takes nothing, even if the error is caught: a clock %i ms behind", async (ms) => {
    await limits.rateLimit({ name: "llm", count: 0.5 });
    vi.setSystemTime(NOW - ms);
    await mutation(async (ctx) => {
      const scheduler = { ...ctx.scheduler, runAt: () => Promise.reject(new Error("too many jobs")) };
      const calls = limits.within({ ...ctx, scheduler } as MutationCtx);
      for (const count of [4, 12]) {
        const refused = calls.scheduleRateLimited({ name: "llm", count }, run, { label: "a", tokens: count });
        await expect(refused).rejects.toThrow("too many jobs");
      }
    });
    expect(await valueOf()).toBe(9.5);
  });

  it("a refused job takes nothing of its own plan, though another plan was called at the same time", async () => {
    const minutes = { kind: "fixed window", rate: 10, period: 60_000 } as const;
    const { within } = define({ chat: { plans: { minutes, hours: { ...minutes, period: 3_600_000 } } } });
    await mutation(async (ctx) => {
      const scheduler = { ...ctx.scheduler, runAt: () => Promise.reject(new Error("too many jobs")) };
      const { rateLimit, scheduleRateLimited } = within({ ...ctx, scheduler } as MutationCtx);
      for (const plan of ["minutes", "hours"]) await rateLimit({ name: "chat", plan });
      const asked = { name: "chat", plan: "minutes", count: 3 };
      await expect(scheduleRateLimited(asked, run, { label: "a", tokens: 3 })).rejects.toThrow("too many jobs");
    });
    expect((await rows()).map(({ value }) => value)).toEqual([9, 9]);
  });

  it.each([0, 1000])("a job starts no later than the scheduler allows, also with a spread of %i ms", async (spread) => {
    const slow = { kind: "token bucket", rate: 1, period: 5 * 366 * 86_400_000 };
    const asked = { name: "slow", config: slow, spread };
    for (const ok of [true, spread === 0]) {
      const result = await schedule("slow", 1, asked);
      expect(result).toMatchObject({ ok });
      expect(Object.keys(result)).toEqual(ok ? ["job", "ok", "runAt"] : ["ok", "retryAt"]);
    }
  });

  it.each<[string, RateLimitConfig]>([
    ["token bucket", { kind: "token bucket", rate: 10, period: 1000, maxReserved: 0 }],
    ["sliding window", { kind: "sliding window", rate: 10, period: 1000, maxReserved: 0 }],
  ])("a job that a %s denied in shadow settles nothing that others took", async (_kind, own) => {
    const tried = define({ tried: own });
    const asked = { name: "tried", count: 8, mode: "shadow" };
    const [, denied] = [
      await tried.scheduleRateLimited(asked, run, { label: "a", tokens: 8 }),
      await tried.scheduleRateLimited(asked, run, { label: "b", tokens: 8 }),
    ];
    expect(denied).toMatchObject({ ok: true, runAt: NOW, job: { count: 0 }, shadow: { ok: false } });
    const { runAt = 0, dueAt = runAt, takenAt = dueAt } = denied.job ?? {};
    await tried.adjustRateLimit({ name: "tried", count: -8, takenAt });
    expect(await tried.checkRateLimit({ name: "tried" })).toMatchObject({ ok: true, remaining: 1 });
  });

  it("a cancelled job refunds nothing that a gift has filled up since", async () => {
    await schedule("now", 10);
    const job = await scheduled("later", 5);
    await limits.adjustRateLimit({ name: "llm", count: -15 });
    await limits.rateLimit({ name: "llm", count: 8 });
    expect([await cancel(job), await valueOf()]).toEqual([canceled, 2]);
  });

  it.each(["success", "failed", "deleted"])("a job that has ended refunds nothing: %s", async (state) => {
    vi.spyOn(console, "error").mockReturnValue();
    const job = await scheduled("ended", 10, {}, state === "failed" ? fail : run);
    await runAll();
    // Convex deletes jobs that have ended some days later.
    if (state === "deleted")
      await backend().run((ctx) => (ctx.db as unknown as { delete: (id: string) => Promise<void> }).delete(job.id));
    expect(await cancel(job)).toEqual({ canceled: false, state });
    expect(await valueOf()).toBe(0);
  });

  it("a job that is running refunds nothing", async () => {
    const job = await scheduled("busy", 10);
    const results: unknown[] = [];
    whileRunning = async (ctx) => results.push(await limits.within(ctx).cancelRateLimited(job));
    await runAll();
    whileRunning = undefined;
    expect(results).toEqual([{ canceled: false, state: "inProgress" }]);
    expect(await valueOf()).toBe(0);
  });

  it("jobs of a bucket on several rows give all back when they are cancelled, while their rows stay", async () => {
    const hot = { ...config, rate: 1000, capacity: 10, maxReserved: 40, shards: { atLeast: 4, atMost: 4 } } as const;
    const { rateLimit, scheduleRateLimited, cancelRateLimited, getRateLimit } = define({ hot });
    for (let i = 0; i < 10; i++) await rateLimit({ name: "hot" });
    const valueNow = async () => (await getRateLimit({ name: "hot" })).value;
    const empty = await valueNow();
    const waiting: RateLimitedJob[] = [];
    for (let i = 0; i < 20; i++) {
      const { ok, job } = await scheduleRateLimited({ name: "hot", count: 1 }, run, { label: "", tokens: 1 });
      if (ok) waiting.push(job);
      // One that is promised later, or earlier, on the same row or another, changes nothing.
      const [, other] = waiting;
      if (other && i % 2 === 0) expect(await cancelRateLimited(other)).toEqual(canceled);
      if (other && i % 2 === 0) waiting.splice(1, 1);
    }
    expect(waiting.length).toBeGreaterThan(5);
    expect(await valueNow()).toBe(empty - waiting.length);
    for (const job of waiting) expect(await cancelRateLimited(job)).toEqual(canceled);
    expect(await valueNow()).toBe(empty);
  });

  it.each([
    ["goes to another, which has it", [4, 3], [0, 1]],
    ["lapses where no other has it, and nothing is written", [], [0, 0]],
  ])("what the row of a cancelled job has no room for %s", async (_what, takenOfOther, expected) => {
    const hot = { kind: "token bucket", rate: 20, period: 60_000, shards: { atLeast: 2, atMost: 2 } } as const;
    const { rateLimit, scheduleRateLimited, cancelRateLimited } = define({ hot });
    const draw = vi.spyOn(Math, "random").mockReturnValue(0);
    const take = async (count: number) => {
      expect(await rateLimit({ name: "hot", count, refundable: true })).toMatchObject({ ok: true });
    };
    await take(1);
    draw.mockReturnValue(0.9);
    for (const count of takenOfOther) await take(count);
    draw.mockReturnValue(0);
    vi.setSystemTime(NOW + 1);
    // The row holds 9.5 of 10, and the job, which runs within an hour, takes one.
    const asked = { name: "hot", count: 1, spread: 3_600_000 } as const;
    const { ok, job } = await scheduleRateLimited(asked, run, { label: "", tokens: 1 });
    if (!ok) throw new Error("There was no room for the job.");
    // It is full again after 9 s.
    vi.setSystemTime(NOW + 12_000);
    const before = await rows();
    expect(before.map(({ shard }) => shard)).toEqual(["0", "1"]);
    expect(await cancelRateLimited(job)).toEqual(canceled);
    expect((await rows()).map(({ ts }, i) => Number(ts !== before[i]?.ts))).toEqual(expected);
  });

  it("a cancelled job never runs, and refunds nothing again, whether cancelRateLimited or the app cancelled it", async () => {
    await schedule("first", 10);
    const [ours, theirs] = [await scheduled("ours", 5), await scheduled("theirs", 5)];
    const twice = await mutation((ctx) => Promise.all([ours, ours].map(limits.within(ctx).cancelRateLimited)));
    expect(twice).toEqual([canceled, { canceled: false, state: "canceled" }]);
    await mutation((ctx) => ctx.scheduler.cancel(theirs.id));
    for (const job of [ours, theirs]) expect(await cancel(job)).toEqual({ canceled: false, state: "canceled" });
    expect(await valueOf()).toBe(-5);
    await runAll();
    expect(started()).toEqual(["first"]);
  });

  it.each<[what: string, now: object]>([
    ["a limit", { other: config }],
    ["a limit's keys", { mine: { ...config, keyed: false } }],
    ["a limit's tokens", { mine: { kind: "concurrency", slots: 3, lease: 60_000, keyed: true } }],
  ])("a job is cancelled although a deploy has taken %s away, and nothing comes back", async (_what, deployed) => {
    const before = define({ mine: { ...config, keyed: true } });
    const args = { name: "mine", key: "a", count: 10 };
    const { job } = await before.scheduleRateLimited(args, run, { label: "mine", tokens: 10 });
    const own = await rows();
    const after = define(deployed as never);
    expect(await after.cancelRateLimited(job)).toEqual(canceled);
    expect(await after.cancelRateLimited(job)).toEqual({ canceled: false, state: "canceled" });
    expect(await rows()).toEqual(own);
    await runAll();
    expect(started()).toEqual([]);
  });

  it("a job larger than any limit, which an override let through, is cancelled", async () => {
    await limits.overrideRateLimit({ name: "llm", unlimited: true });
    const job = await scheduled("huge", 1e13);
    await limits.clearRateLimitOverride({ name: "llm" });
    expect(await cancel(job)).toEqual(canceled);
    expect(await valueOf()).toBeGreaterThan(-1e13);
  });

  it("without definitions, the config comes with the call and with the job", async () => {
    const free = define({});
    const args = { name: "free", key: "a", count: 10, config };
    const { job } = await free.scheduleRateLimited(args, run, { label: "free", tokens: 10 });
    expect(job).toEqual({ ...args, runAt: NOW, id: expect.any(String) as string });
    expect(await rows()).toMatchObject([{ name: "free", key: "a", value: 0 }]);
    // A job is a plain value, so a copy through JSON works as well.
    expect(await free.cancelRateLimited(JSON.parse(JSON.stringify(job)))).toEqual(canceled);
    expect(await rows()).toMatchObject([{ name: "free", key: "a", value: 10 }]);
  });
});
