// @vitest-environment edge-runtime
/** `mode: "shadow"`: every request passes. test/model checks that it is decided and counted as if the limit were enforced. */
import { projectRateLimit } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import { NOW, useClock } from "../support/clock.js";
import { run, useJobs } from "../support/jobs.js";

useClock();

const bucket = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 } as const;

describe.each(placeNames)("in the %s", (place) => {
  const { define, runAll, starts } = useJobs(place);
  const limits = define({ tried: { ...bucket, mode: "shadow" }, held: bucket });
  const take = (args: object) => limits.rateLimit({ name: "tried", ...args });
  const check = (args: object) => limits.checkRateLimit({ name: "tried", ...args });
  const all = (...requests: object[]) => limits.rateLimitAll(requests);
  const value = async (name: string) => (await limits.getRateLimit({ name })).value;
  const shown = { remaining: 2, resetAt: NOW + 800 };

  it("the caller passes, and gets the true answer", async () => {
    const allowed = { ok: true, ...shown };
    expect(await check({ count: 8 })).toEqual({ ...allowed, shadow: allowed });
    expect(await take({ count: 8 })).toEqual({ ...allowed, shadow: allowed });
    const through = { ...allowed, shadow: { ok: false, retryAt: NOW + 600, ...shown } };
    expect(await check({ count: 8 })).toEqual(through);
    expect(await take({ count: 8 })).toEqual(through);
  });

  it("a call with atLeast gets all that it asked for, and the true answer has what was taken", async () => {
    const batch = { count: 7, atLeast: 1 };
    await take({ count: 7 });
    expect(await take(batch)).toMatchObject({ ok: true, taken: 7, shadow: { ok: true, taken: 3 } });
    const denied = await take(batch);
    expect(denied).toMatchObject({ ok: true, taken: 7, shadow: { ok: false } });
    expect(denied.ok && denied.shadow).not.toHaveProperty("taken");
    expect(await value("tried")).toBe(0);
  });

  it("a denial's takenAt is before every take, so nothing is refunded by it", async () => {
    expect(await take({ count: 8, refundable: true })).toMatchObject({ takenAt: NOW });
    expect(await take({ count: 8, refundable: true })).toMatchObject({ takenAt: 0 });
    await limits.adjustRateLimit({ name: "tried", count: -8, takenAt: 0 });
    expect(await value("tried")).toBe(2);
  });

  it("a call may override the mode of the definition, either way", async () => {
    await take({ count: 10 });
    const denied = { ok: false, retryAt: NOW + 100, remaining: 0, resetAt: NOW + 1000 };
    expect(await take({ mode: "enforce" })).toEqual(denied);
    expect(await take({ name: "held", count: 10, mode: "shadow" })).toMatchObject({ shadow: { ok: true } });
    expect(await take({ name: "held", mode: "shadow" })).toMatchObject({ ok: true, shadow: { ok: false } });
  });

  it("a limit in shadow stops no other limit, and its denial charges only the others", async () => {
    expect(await all({ name: "tried", count: 8 }, { name: "held", count: 2 })).toMatchObject({
      ok: true,
      statuses: [
        { ok: true, shadow: { ok: true, remaining: 2 } },
        { ok: true, remaining: 8 },
      ],
    });
    const held = { remaining: 5, resetAt: NOW + 500 };
    const denied = { ok: false, retryAt: NOW + 100, ...shown };
    expect(await all({ name: "tried", count: 3 }, { name: "held", count: 3 })).toEqual({
      ok: true,
      statuses: [
        { ok: true, ...shown, shadow: denied },
        { ok: true, ...held },
      ],
    });
    expect([await value("tried"), await value("held")]).toEqual([2, 5]);
  });

  it("a snapshot contains the mode, and its projection lets clients pass", async () => {
    await take({ count: 10 });
    const snapshot = await limits.getRateLimit({ name: "tried" });
    expect(snapshot).toMatchObject({ mode: "shadow", value: 0 });
    expect(projectRateLimit(snapshot, { now: NOW })).toEqual({ ok: true, remaining: 0, resetAt: NOW + 1000 });
    expect(projectRateLimit(snapshot, { now: NOW, reserve: true })).not.toHaveProperty("retryAt");
    expect(await limits.getRateLimit({ name: "held" })).not.toHaveProperty("mode");
  });

  it("a list shows what the limit would answer if it were enforced", async () => {
    await take({ count: 10, key: "eager" });
    await take({ count: 1, key: "calm" });
    const { page } = await limits.listRateLimits({ name: "tried", onlyLimited: true });
    expect(page).toMatchObject([{ key: "eager", ok: false, retryAt: NOW + 100 }]);
  });

  it("a job starts at once, and its cancellation refunds what was taken and no more", async () => {
    const schedule = (count: number) =>
      limits.scheduleRateLimited({ name: "tried", count }, run, { label: "job", tokens: count });
    expect(await schedule(10)).toMatchObject({ ok: true, runAt: NOW, job: { count: 10 }, shadow: { ok: true } });
    const waiting = await schedule(4);
    expect(waiting).toMatchObject({ runAt: NOW, job: { count: 4, dueAt: NOW + 400 }, shadow: { retryAt: NOW + 400 } });
    const denied = await schedule(4);
    expect(denied).toMatchObject({ ok: true, runAt: NOW, job: { count: 0 }, shadow: { ok: false } });
    expect(await value("tried")).toBe(-4);
    expect(await limits.cancelRateLimited(denied.job)).toEqual({ canceled: true });
    expect(await value("tried")).toBe(-4);
    expect(await limits.cancelRateLimited(waiting.job)).toEqual({ canceled: true });
    expect(await value("tried")).toBe(0);
    await runAll();
    expect(starts).toEqual([{ label: "job", tokens: 10, at: NOW }]);
  });
});
