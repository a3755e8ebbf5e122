/** The store that every framework shares, on a `ConvexClient`. */
import type { ConvexClient } from "convex/browser";
import { HOUR, MINUTE, type RateLimitConfig, SECOND } from "convex-rate-limits";
import { project, type ProjectedStatus, watchRateLimit, type WatchRateLimitOptions } from "convex-rate-limits/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeClient, getRateLimit, getServerTime } from "../react/fakeClient.js";
import { snapshotBy, type StoredBucket } from "../support/snapshots.js";

const NOW = 1_800_000_000_000;
const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: SECOND, capacity: 10 };
const empty: StoredBucket = { name: "send", value: 0, ts: NOW, config };

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function watch(fake: FakeClient, options?: WatchRateLimitOptions) {
  const limit = watchRateLimit(fake as unknown as ConvexClient, getRateLimit, options);
  const told: (ProjectedStatus | undefined)[] = [];
  const stop = limit.subscribe((status) => told.push(status));
  return { ...limit, told, stop };
}

describe("a watch", () => {
  it("tells the status at once, and whenever it changes", () => {
    const client = new FakeClient();
    const { told, status } = watch(client);
    expect(told).toEqual([undefined]);
    client.show(empty);
    vi.advanceTimersByTime(100);
    expect(told.slice(1)).toMatchObject([
      { ok: false, retryAt: NOW + 100, value: 0 },
      { ok: true, remaining: 0, value: 1 },
    ]);
    expect(status()).toBe(told.at(-1));
  });

  it("says what the status is by, and tells when that alone changes", () => {
    const client = new FakeClient();
    const { told, limit } = watch(client);
    expect(limit()).toBeUndefined();
    client.show({ ...snapshotBy(empty), plan: "free" });
    client.show({ ...snapshotBy(empty), plan: "pro" });
    expect(told).toHaveLength(3);
    expect(limit()).toEqual({ plan: "pro", tokens: 10, config });
  });

  it("serves several subscribers from one subscription, and none when the last has gone", () => {
    const client = new FakeClient();
    client.show(empty);
    const limit = watch(client, { getServerTime });
    const { watchers } = client;
    const stopOther = limit.subscribe(() => undefined);
    expect(client.watchers).toBe(watchers);
    limit.stop();
    limit.stop();
    expect(client.watchers).toBe(watchers);
    stopOther();
    expect(client.watchers).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends its subscription once, however often it is told to", () => {
    const client = new FakeClient();
    const onUpdate = client.onUpdate.bind(client);
    const stopped = vi.fn();
    vi.spyOn(client, "onUpdate").mockImplementation((...args) => {
      const stop = onUpdate(...args);
      return Object.assign(() => (stopped(), stop()), { getCurrentValue: () => stop.getCurrentValue() });
    });
    const { stop } = watch(client);
    stop();
    stop();
    expect(stopped).toHaveBeenCalledOnce();
  });

  it("can be ended by what it tells", () => {
    const client = new FakeClient();
    client.show(empty);
    const limit = watchRateLimit(client as unknown as ConvexClient, getRateLimit);
    const told: unknown[] = [];
    const stop = limit.subscribe((status) => {
      told.push(status);
      if (status?.ok) stop();
    });
    vi.advanceTimersByTime(100);
    expect(told).toHaveLength(2);
    expect(client.watchers).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("tells of nothing that trickles in, however long a wait takes", () => {
    const client = new FakeClient();
    client.show({ ...empty, value: 9, config: { ...config, rate: 1, capacity: 60 } });
    const { told } = watch(client, { count: 60 });
    vi.advanceTimersByTime(50 * SECOND);
    client.reconnect();
    expect(told).toMatchObject([{ ok: false, retryAt: NOW + 51 * SECOND, remaining: 9 }]);
    vi.advanceTimersByTime(SECOND);
    expect(told.slice(1)).toMatchObject([{ ok: true, remaining: 0 }]);
  });

  it("waits for nothing of a window that is full, whatever it can hold", () => {
    const client = new FakeClient();
    // In units a third is a little less than the number.
    client.show({ ...empty, config: { kind: "fixed window", rate: 10 / 3, period: SECOND, start: NOW } });
    const { told } = watch(client);
    vi.advanceTimersByTime(MINUTE);
    expect(told).toMatchObject([{ ok: false }, { ok: true, remaining: 2 }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("misses no moment that passes while it is busy", () => {
    const client = new FakeClient();
    client.show(empty);
    // Each look at the clock takes a millisecond.
    const base = Date.now.bind(Date);
    let looks = 0;
    vi.spyOn(Date, "now").mockImplementation(() => base() + looks++);
    for (let before = 1; before <= 10; before++) {
      client.show({ ...empty, ts: Date.now() + before - 100 });
      const { told, stop } = watch(client);
      vi.advanceTimersByTime(20);
      expect(told.at(-1)).toMatchObject({ ok: true });
      stop();
    }
  });

  it("tells to the millisecond that a bucket of a short period is full", () => {
    const client = new FakeClient();
    client.show({ ...empty, value: 3, config: { kind: "token bucket", rate: 10, period: 100 } });
    const { told } = watch(client);
    vi.advanceTimersByTime(69);
    expect(told).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(told.at(-1)).toMatchObject({ ok: true, remaining: 9 });
  });

  it("can be subscribed to again", () => {
    const client = new FakeClient();
    client.show(empty);
    const limit = watch(client);
    limit.stop();
    vi.advanceTimersByTime(500);
    const told: unknown[] = [];
    limit.subscribe((status) => told.push(status));
    expect(told).toMatchObject([{ ok: true, value: 5 }]);
  });

  it("gives a gauge the tokens that are held at the moment, with fractions, and what is owed", () => {
    const client = new FakeClient();
    client.show(empty);
    const { check } = watch(client);
    vi.advanceTimersByTime(123);
    expect(check()).toMatchObject({ ok: true, value: 1.23, remaining: 0 });
    client.show({ ...empty, value: -0.5, ts: NOW + 123 });
    expect(check({ count: 0 })).toMatchObject({ ok: false, value: -0.5, remaining: 0 });
  });

  it("shows short windows at most once a second, and what may be done at the very moment", () => {
    const client = new FakeClient();
    const short: RateLimitConfig = { kind: "fixed window", rate: 1, period: 50, capacity: 100, start: NOW };
    client.show({ ...empty, config: short });
    const { told } = watch(client);
    vi.advanceTimersByTime(MINUTE);
    expect(told).toMatchObject([
      { ok: false, retryAt: NOW + 50 },
      { remaining: 0 },
      ...[20, 40, 60, 80, 99].map((remaining) => ({ remaining })),
    ]);
  });

  describe("of a limit that is overridden", () => {
    const blocked = (until: number) => ({
      ...snapshotBy({ ...empty, value: 4 }),
      override: { until, reason: "blocked" as const },
    });

    it("tells when another config ends, before its bucket is full", () => {
      const client = new FakeClient();
      const slow: StoredBucket = { ...empty, value: 5, config: { ...config, rate: 1 } };
      client.show({
        ...snapshotBy({ ...empty, value: 5 }),
        override: { ...snapshotBy(slow), until: NOW + 200 },
      });
      const { told } = watch(client);
      vi.advanceTimersByTime(200);
      expect(told).toMatchObject([{ remaining: 4 }, { remaining: 6 }]);
    });

    it("shows a count that only the override could serve as too large when the override ends", () => {
      const client = new FakeClient();
      const large: StoredBucket = { ...empty, value: 40, config: { ...config, capacity: 40 } };
      client.show({ ...snapshotBy(empty), override: { ...snapshotBy(large), until: NOW + 200 } });
      const { told } = watch(client, { count: 30 });
      vi.advanceTimersByTime(200);
      expect(told).toMatchObject([
        { ok: true, remaining: 10 },
        { ok: false, reason: "too large" },
      ]);
    });

    it("an override by another kind of limit has none of the limit's own fields", () => {
      const client = new FakeClient();
      const sliding: RateLimitConfig = { kind: "sliding window", rate: 10, period: MINUTE };
      const overriding = { ...snapshotBy({ ...empty, value: 1 }), until: NOW + HOUR };
      client.show({ ...snapshotBy({ ...empty, value: 10, config: sliding }), override: overriding });
      expect(watch(client, { count: 3 }).status()).toEqual(
        project(snapshotBy({ ...empty, value: 1 }), { now: NOW, count: 3 }),
      );
    });

    it("tells when a block ends, and of nothing that remains until then", () => {
      const client = new FakeClient();
      client.show(blocked(NOW + 300));
      const { told } = watch(client);
      vi.advanceTimersByTime(300);
      expect(told).toMatchObject([
        { ok: false, retryAt: NOW + 300, value: 4, remaining: 0, reason: "blocked" },
        { ok: true, value: 7, remaining: 6 },
      ]);
    });

    it("waits for nothing while a block has no end", () => {
      const client = new FakeClient();
      client.show({ ...blocked(8.64e15), ...snapshotBy({ ...empty, value: 10 }) });
      const { told } = watch(client);
      expect(told).toMatchObject([{ ok: false, retryAt: 8.64e15 }]);
      expect(vi.getTimerCount()).toBe(0);
    });

    it("tells when another config ends, also of a bucket that is full under it", () => {
      const client = new FakeClient();
      const small: StoredBucket = { ...empty, value: 3, config: { ...config, capacity: 3 } };
      client.show({ ...snapshotBy(empty), override: { ...snapshotBy(small), until: NOW + 200 } });
      const { told } = watch(client);
      vi.advanceTimersByTime(200);
      expect(told).toMatchObject([
        { ok: true, remaining: 2 },
        { ok: true, value: 2, remaining: 1 },
      ]);
    });
  });

  it("tells to the millisecond that a window starts, however soon", () => {
    const client = new FakeClient();
    const minute: RateLimitConfig = { kind: "fixed window", rate: 5, period: MINUTE, capacity: 20, start: NOW + 300 };
    client.show({ ...empty, value: 1, config: minute });
    const { told } = watch(client);
    vi.advanceTimersByTime(299);
    expect(told).toMatchObject([{ ok: true, remaining: 0 }]);
    vi.advanceTimersByTime(1);
    expect(told.slice(1)).toMatchObject([{ ok: true, remaining: 5 }]);
  });

  it("tells of nothing when the server sends the same again, and waits once", () => {
    const client = new FakeClient();
    client.show(empty);
    const { told } = watch(client);
    client.show({ ...empty });
    expect(told).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("reports what the query throws, has no status then, and recovers", () => {
    const client = new FakeClient();
    client.show(empty);
    const onError = vi.fn();
    const { told, status } = watch(client, { onError });
    const failure = new Error("not signed in");
    client.fail(failure);
    expect(onError).toHaveBeenCalledExactlyOnceWith(failure);
    expect(told.at(-1)).toBeUndefined();
    expect(status).toThrow(failure);
    client.recover();
    expect(told.at(-1)).toMatchObject({ ok: false });
  });

  it("reports an error once, though the clock is corrected meanwhile, and again after it was gone", async () => {
    const client = new FakeClient();
    client.show(empty);
    const onError = vi.fn();
    watch(client, { onError, getServerTime });
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

  it("logs an error that nobody handles, and a count below 0 is one", () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const client = new FakeClient();
    client.show(empty);
    watch(client, { count: -1 });
    expect(errors).toHaveBeenCalledExactlyOnceWith(new Error('Rate limit "send": count must be from 0 to 10, got -1.'));
  });

  it("denies a count above the capacity for that reason, also in check, and starts no timer to wait for it", () => {
    const client = new FakeClient();
    client.show({ ...empty, value: 10 });
    const { told, check } = watch(client, { count: 11 });
    const denied = { ok: false, reason: "too large", retryAt: 8.64e15, value: 10, remaining: 10, resetAt: NOW };
    expect(told).toEqual([denied]);
    expect(check({ count: 1e6, reserve: true })).toMatchObject({ ok: true });
    expect(check({ count: 1e300, reserve: true })).toEqual(denied);
    expect(check({ count: 10 })).toMatchObject({ ok: true });
    expect(vi.getTimerCount()).toBe(0);
  });
});
