/** The store that every framework shares, on a `ConvexClient`. */
import type { ConvexClient } from "convex/browser";
import { DAY } from "convex-rate-limits";
import { type ProjectedStatus, watchRateLimit, type WatchRateLimitOptions } from "convex-rate-limits/client";
import { describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { FakeClient, getRateLimit, getServerTime } from "../react/fakeClient.js";
import { snapshotBy } from "../support/snapshots.js";
import { changes, describe as describeStatus, empty, NOW, tenASecond as config } from "./changes.js";

useClock(NOW);

/** Watches a limit on a client that shows this snapshot. `reported` has each status, and `history` also its time, as text. */
function watch(shown?: Parameters<FakeClient["show"]>[0], options?: WatchRateLimitOptions) {
  const client = new FakeClient();
  if (shown) client.show(shown);
  const limit = watchRateLimit(client as unknown as ConvexClient, getRateLimit, options);
  const reported: (ProjectedStatus | undefined)[] = [];
  const history: string[] = [];
  const stop = limit.subscribe((status) => {
    reported.push(status);
    history.push(describeStatus(status));
  });
  return { client, ...limit, reported, history, stop };
}

describe("a watch", () => {
  it("has no status while it is loading, and reports the status as soon as it is known", () => {
    const { client, reported, status } = watch();
    expect(reported).toEqual([undefined]);
    client.show(empty);
    expect(reported.slice(1)).toMatchObject([{ ok: false, retryAt: NOW + 100, value: 0 }]);
    expect(status()).toBe(reported.at(-1));
  });

  it.each(changes)("reports %s", (_when, shown, demand, ...answers) => {
    const { history } = watch(shown, demand);
    vi.advanceTimersByTime(2 * DAY);
    expect(history).toEqual(answers);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("reports the plan of the status, also if only the plan changes", () => {
    const { client, reported, limit } = watch();
    expect(limit()).toBeUndefined();
    client.show({ ...snapshotBy(empty), plan: "free" });
    client.show({ ...snapshotBy(empty), plan: "pro" });
    expect(reported).toHaveLength(3);
    expect(limit()).toEqual({ plan: "pro", tokens: 10, config });
  });

  it("reports that a demand that was denied until a time is reserved for that same time", () => {
    const debt = { ...empty, value: -4.5, config: { ...config, maxReserved: 5 } };
    const { client, reported } = watch(debt, { count: 5, reserve: true });
    client.show({ ...debt, value: 0.5 });
    const wait = { retryAt: NOW + 450, remaining: 0 };
    expect(reported).toMatchObject([
      { ok: false, ...wait },
      { ok: true, ...wait },
    ]);
  });

  it("serves several subscribers from one subscription, which ends when the last subscriber leaves", () => {
    const { client, stop, subscribe } = watch(empty, { getServerTime });
    const { watchers } = client;
    const stopOther = subscribe(() => undefined);
    expect(client.watchers).toBe(watchers);
    stop();
    stop();
    expect(client.watchers).toBe(watchers);
    stopOther();
    expect(client.watchers).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("can be stopped by its own subscriber", () => {
    const { client, subscribe, stop: stopFirst } = watch(empty);
    let reports = 0;
    const stop = subscribe((status) => {
      reports++;
      if (status?.ok) stop();
    });
    stopFirst();
    vi.advanceTimersByTime(100);
    expect(reports).toBe(2);
    expect(client.watchers).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("calls no subscriber that another has ended, and an error of one stops neither the others nor the watch", () => {
    const onError = vi.fn();
    const { subscribe, status } = watch(empty, { onError });
    let stop: () => void = vi.fn();
    subscribe((reported) => {
      if (reported?.ok) stop();
      throw new Error("bug of the page");
    });
    const [ended, seen] = [vi.fn(), vi.fn()];
    stop = subscribe(ended);
    subscribe(seen);
    vi.advanceTimersByTime(3000);
    expect(ended).toHaveBeenCalledTimes(1);
    expect(seen).toHaveBeenLastCalledWith(status());
    expect(onError).toHaveBeenCalledTimes(seen.mock.calls.length);
  });

  it("misses no change that becomes due while it is busy", () => {
    // Each read of the clock takes 1 ms.
    const base = Date.now.bind(Date);
    let looks = 0;
    vi.spyOn(Date, "now").mockImplementation(() => base() + looks++);
    for (let before = 1; before <= 10; before++) {
      const { reported, stop } = watch({ ...empty, ts: Date.now() + before - 100 });
      vi.advanceTimersByTime(20);
      expect(reported.at(-1)).toMatchObject({ ok: true });
      stop();
    }
  });

  it("can be subscribed to again", () => {
    const { stop, subscribe } = watch(empty);
    stop();
    vi.advanceTimersByTime(500);
    const reported: unknown[] = [];
    subscribe((status) => reported.push(status));
    expect(reported).toMatchObject([{ ok: true, value: 5 }]);
  });

  it("gives a gauge the tokens that are held now, with fractions, and debts", () => {
    const { client, check } = watch(empty);
    vi.advanceTimersByTime(123);
    expect(check()).toMatchObject({ ok: true, value: 1.23, remaining: 0 });
    client.show({ ...empty, value: -0.5, ts: NOW + 123 });
    expect(check({ count: 0 })).toMatchObject({ ok: false, value: -0.5, remaining: 0 });
  });

  it("reports nothing if the server sends the same snapshot again, and waits once", () => {
    const { client, reported } = watch(empty);
    client.show({ ...empty });
    expect(reported).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("reports an error of the query, has no status then, and recovers", () => {
    const onError = vi.fn();
    const { client, reported, status } = watch(empty, { onError });
    const failure = new Error("not signed in");
    client.fail(failure);
    expect(onError).toHaveBeenCalledExactlyOnceWith(failure);
    expect(reported.at(-1)).toBeUndefined();
    expect(status).toThrow(failure);
    client.recover();
    expect(reported.at(-1)).toMatchObject({ ok: false });
  });

  it("reports an error once, even if the clock is corrected meanwhile, and again if it returns", async () => {
    const onError = vi.fn();
    const { client } = watch(empty, { onError, getServerTime });
    client.answer(NOW);
    await vi.advanceTimersByTimeAsync(1);
    client.fail(new Error("not signed in"));
    for (let sample = 1; sample < 3; sample++) {
      client.answer(NOW);
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(onError).toHaveBeenCalledOnce();
    client.recover();
    client.fail(new Error("not signed in"));
    expect(onError).toHaveBeenCalledTimes(2);
  });

  it("logs an error that has no handler, such as a count below 0", () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    watch(empty, { count: -1 });
    expect(errors).toHaveBeenCalledExactlyOnceWith(new Error('Rate limit "send": count must be from 0 to 10, got -1.'));
  });

  it("check also denies a count above the capacity as too large, unless it is reserved", () => {
    const { reported, check } = watch({ ...empty, value: 10 }, { count: 11 });
    expect(check({ count: 1e6, reserve: true })).toMatchObject({ ok: true });
    expect(check({ count: 1e300, reserve: true })).toEqual(reported.at(-1));
    expect(check({ count: 10 })).toMatchObject({ ok: true });
  });
});
