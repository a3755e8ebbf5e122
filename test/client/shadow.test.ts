// @vitest-environment edge-runtime
/** `mode: "shadow"`: decided and counted as if the limit were enforced, and everybody is let through. */
import { projectRateLimit, type RateLimitStatus } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { defineIn, openBackend, placeNames, rowsIn } from "../support/places.js";
import { NOW, openQueue, run, runAll, useClock } from "../support/jobs.js";

useClock();

const bucket = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 } as const;
const definitions = { tried: { ...bucket, mode: "shadow" }, held: bucket } as const;

describe.each(placeNames)("in the %s", (place) => {
  const limits = defineIn(place, definitions);

  /** In a transaction of its own. */
  function calling() {
    const t = openBackend();
    return {
      t,
      take: (args: object) => t.mutation((ctx) => limits.rateLimit(ctx, { name: "tried", ...args })),
      check: (args: object) => t.query((ctx) => limits.checkRateLimit(ctx, { name: "tried", ...args })),
      all: (...requests: { name: string; count?: number }[]) => t.mutation((ctx) => limits.rateLimitAll(ctx, requests)),
      value: async (name: string) => (await t.query((ctx) => limits.getRateLimit(ctx, { name }))).value,
    };
  }

  it("the caller is let through, and told the true answer", async () => {
    const { take, check } = calling();
    const allowed = { ok: true, remaining: 2, resetAt: NOW + 800 };
    expect(await check({ count: 8 })).toEqual({ ...allowed, shadow: allowed });
    expect(await take({ count: 8 })).toEqual({ ...allowed, shadow: allowed });
    const denied = { ok: false, retryAt: NOW + 600, remaining: 2, resetAt: NOW + 800 };
    const through = { ok: true, remaining: 2, resetAt: NOW + 800, shadow: denied };
    expect(await check({ count: 8 })).toEqual(through);
    expect(await take({ count: 8 })).toEqual(through);
  });

  it("a reservation is not waited for", async () => {
    const { take } = calling();
    await take({ count: 10 });
    const shadow = { ok: true, retryAt: NOW + 400, remaining: 0, resetAt: NOW + 1400 };
    expect(await take({ count: 4, reserve: true })).toEqual({ ok: true, remaining: 0, resetAt: NOW + 1400, shadow });
  });

  it("a denial charges nothing, and what is allowed is charged: as if the limit were enforced", async () => {
    const step = fc.record({
      count: fc.integer({ min: 0, max: 6 }),
      reserve: fc.boolean(),
      waitMs: fc.constantFrom(0, 0, 0, 1, 50),
    });
    let denied = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12, size: "max" }), async (steps) => {
        vi.setSystemTime(NOW);
        const t = openBackend();
        for (const { waitMs, ...args } of steps) {
          vi.setSystemTime(Date.now() + waitMs);
          const [tried, held] = await t.mutation(async (ctx): Promise<RateLimitStatus[]> => [
            await limits.rateLimit(ctx, { name: "tried", ...args }),
            await limits.rateLimit(ctx, { name: "held", ...args }),
          ]);
          expect(tried).toMatchObject({ ok: true });
          expect(tried?.ok && tried.shadow).toEqual(held);
          if (!held?.ok) denied++;
        }
        const [first, second] = await rowsIn(place, t);
        if (first && second) expect([first.value, first.ts]).toEqual([second.value, second.ts]);
      }),
      { numRuns: 40, seed: 3 },
    );
    expect(denied).toBeGreaterThan(20);
  });

  it("a call may say otherwise, either way", async () => {
    const { take } = calling();
    await take({ count: 10 });
    expect(await take({ mode: "enforce" })).toEqual({
      ok: false,
      retryAt: NOW + 100,
      remaining: 0,
      resetAt: NOW + 1000,
    });
    expect(await take({ name: "held", count: 10, mode: "shadow" })).toMatchObject({ shadow: { ok: true } });
    expect(await take({ name: "held", mode: "shadow" })).toMatchObject({ ok: true, shadow: { ok: false } });
  });

  it("among several limits it stops no other, and its denial charges only the others", async () => {
    const { all, value } = calling();
    expect(await all({ name: "tried", count: 8 }, { name: "held", count: 2 })).toMatchObject({
      ok: true,
      statuses: [
        { ok: true, shadow: { ok: true, remaining: 2 } },
        { ok: true, remaining: 8 },
      ],
    });
    const denied = { ok: false, retryAt: NOW + 100, remaining: 2, resetAt: NOW + 800 };
    expect(await all({ name: "tried", count: 3 }, { name: "held", count: 3 })).toEqual({
      ok: true,
      statuses: [
        { ok: true, remaining: 2, resetAt: NOW + 800, shadow: denied },
        { ok: true, remaining: 5, resetAt: NOW + 500 },
      ],
    });
    expect([await value("tried"), await value("held")]).toEqual([2, 5]);
    // Another limit denies: nothing is taken from either.
    expect(await all({ name: "tried", count: 1 }, { name: "held", count: 6 })).toEqual({
      ok: false,
      retryAt: NOW + 100,
      statuses: [
        {
          ok: true,
          remaining: 2,
          resetAt: NOW + 800,
          shadow: { ok: true, remaining: 2, resetAt: NOW + 800 },
        },
        { ok: false, retryAt: NOW + 100, remaining: 5, resetAt: NOW + 500 },
      ],
    });
    expect([await value("tried"), await value("held")]).toEqual([2, 5]);
  });

  it("several requests to its bucket add up, and a wait that is not waited for is not told", async () => {
    const { t, all, value } = calling();
    await all({ name: "tried", count: 9 });
    const three = await all({ name: "tried" }, { name: "tried" }, { name: "held" });
    expect(three).toMatchObject({ ok: true, statuses: [{ shadow: { ok: false } }, { shadow: { ok: false } }, {}] });
    expect(await value("tried")).toBe(1);
    const reserved = await t.mutation((ctx) => limits.rateLimitAll(ctx, [{ name: "tried", count: 3, reserve: true }]));
    expect(reserved).not.toHaveProperty("retryAt");
    expect(reserved).toMatchObject({ ok: true, statuses: [{ ok: true, shadow: { ok: true, retryAt: NOW + 200 } }] });
    const checked = await t.query((ctx) => limits.checkRateLimitAll(ctx, [{ name: "tried", count: 4 }]));
    expect(checked).toMatchObject({ ok: true, statuses: [{ ok: true, shadow: { ok: false } }] });
  });

  it("a snapshot says so, and clients are let through", async () => {
    const { t, take } = calling();
    await take({ count: 10 });
    const snapshot = await t.query((ctx) => limits.getRateLimit(ctx, { name: "tried" }));
    expect(snapshot).toMatchObject({ mode: "shadow", value: 0 });
    expect(projectRateLimit(snapshot, { now: NOW })).toEqual({ ok: true, remaining: 0, resetAt: NOW + 1000 });
    expect(projectRateLimit(snapshot, { now: NOW, reserve: true })).not.toHaveProperty("retryAt");
    expect(await t.query((ctx) => limits.getRateLimit(ctx, { name: "held" }))).not.toHaveProperty("mode");
  });

  it("a list shows what the limit would answer if it were enforced", async () => {
    const { t, take } = calling();
    await take({ count: 10, key: "eager" });
    await take({ count: 1, key: "calm" });
    const { page } = await t.query((ctx) => limits.listRateLimits(ctx, { name: "tried", onlyLimited: true }));
    expect(page).toMatchObject([{ key: "eager", ok: false, retryAt: NOW + 100 }]);
  });

  it("a job starts at once, and its cancelling gives back what was taken and no more", async () => {
    const { t, starts } = openQueue();
    const schedule = (count: number, spread: number) =>
      t.mutation((ctx) =>
        limits.scheduleRateLimited(ctx, { name: "tried", count, spread }, run, { label: "job", tokens: count }),
      );
    const cancel = (result: Awaited<ReturnType<typeof schedule>>) =>
      t.mutation(async (ctx) => (result.ok ? await limits.cancelRateLimited(ctx, result.job) : undefined));
    const value = async () => (await t.query((ctx) => limits.getRateLimit(ctx, { name: "tried" }))).value;

    expect(await schedule(10, 0)).toMatchObject({ ok: true, runAt: NOW, job: { count: 10 }, shadow: { ok: true } });
    const waiting = await schedule(4, 0);
    expect(waiting).toMatchObject({ runAt: NOW, job: { count: 4, dueAt: NOW + 400 }, shadow: { retryAt: NOW + 400 } });
    const denied = await schedule(4, 0);
    expect(denied).toMatchObject({ ok: true, runAt: NOW, job: { count: 0 }, shadow: { ok: false } });
    expect(await value()).toBe(-4);
    expect(await cancel(denied)).toEqual({ canceled: true });
    expect(await value()).toBe(-4);
    expect(await cancel(waiting)).toEqual({ canceled: true });
    expect(await value()).toBe(0);
    await runAll(t);
    expect(starts).toEqual([{ label: "job", tokens: 10, at: NOW }]);
  });
});
