// @vitest-environment edge-runtime
/**
 * A query is not run again because time passes: what a live query returns must not depend on the clock. That it projects to what a check
 * says is law 4.
 */
import { projectRateLimit } from "convex-rate-limits";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";

const NOW = Date.UTC(2026, 5, 1, 9, 30);
const DAY = 86_400_000;
/** Moments before and after NOW, near and far, on the boundaries of 100 ms and of windows and beside them. */
const offsets = [-DAY, -1, 0, 1, 99, 100, 101, 250, 300, 333, 999, 1000, 1001, 1337, 5000, DAY, 400 * DAY, 3000 * DAY];

useClock(NOW, "Date");

describe.each(placeNames)("in the %s", (place) => {
  const { define, query } = useBackend(place);
  const zoned = { timeZone: "America/New_York", anchor: 31 };
  const limits = define({
    bucket: { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 },
    aligned: { kind: "fixed window", rate: 10, period: 1000, start: 0, maxReserved: 5 },
    hashed: { kind: "fixed window", rate: 4, period: 1337, capacity: 10, maxReserved: 5 },
    sliding: { kind: "sliding window", rate: 10, period: 1000, maxReserved: 5 },
    daily: { kind: "fixed window", rate: 10, period: "day", timeZone: "Europe/Berlin", anchor: 150, maxReserved: 5 },
    weekly: { kind: "fixed window", rate: 10, period: "week", maxReserved: 5 },
    monthly: { kind: "fixed window", rate: 10, period: "month", ...zoned, maxReserved: 5 },
  });
  const names = ["bucket", "aligned", "hashed", "sliding", "daily", "weekly", "monthly"];

  const { rateLimit, checkRateLimit, getRateLimit } = limits;

  /** Each limit has a fresh bucket, one in use, and one in debt. */
  beforeEach(async () => {
    for (const name of names) {
      await rateLimit({ name, key: "used", count: 9 });
      await rateLimit({ name, key: "owing", count: 9 });
      await rateLimit({ name, key: "owing", count: 3, reserve: true });
    }
  });
  const buckets = names.flatMap((name) => [undefined, "fresh", "used", "owing"].map((key) => ({ name, key })));

  it("a query may check and get", async () => {
    for (const bucket of buckets) {
      const { ok } = await checkRateLimit(bucket);
      expect(ok).toBe(bucket.key !== "owing");
      const shown = { name: bucket.name, ts: bucket.key === "used" || !ok ? NOW : 0 };
      expect(await getRateLimit(bucket)).toMatchObject(shown);
    }
  });

  it("what get returns is the same at every moment", async () => {
    const get = () => Promise.all(buckets.map((bucket) => getRateLimit(bucket)));
    const snapshots = await get();
    for (const offset of offsets) {
      vi.setSystemTime(NOW + offset);
      expect(await get()).toEqual(snapshots);
    }
  });

  it("get never looks at the clock, check does once", async () => {
    const clock = vi.spyOn(Date, "now");
    const looks = async (call: () => Promise<unknown>) => {
      const before = clock.mock.calls.length;
      await call();
      return clock.mock.calls.length - before;
    };
    await query(async (ctx) => {
      const { getRateLimit, checkRateLimit } = limits.within(ctx);
      for (const bucket of buckets) {
        expect(await looks(() => getRateLimit(bucket))).toBe(0);
        expect(await looks(() => checkRateLimit(bucket))).toBe(1);
      }
    });
    clock.mockRestore();
  });

  it("a fraction of a millisecond, as performance clocks give, counts as the millisecond it lies in", async () => {
    const snapshot = await getRateLimit({ name: "bucket", key: "owing" });
    const status = projectRateLimit(snapshot, { now: NOW });
    expect(status).toMatchObject({ ok: false, retryAt: NOW + 300 });
    expect(projectRateLimit(snapshot, { now: NOW + 0.9 })).toEqual(status);
    expect(projectRateLimit(snapshot, { now: NOW + 299.9 }).ok).toBe(false);
    expect(projectRateLimit(snapshot, { now: NOW + 300 }).ok).toBe(true);
  });
});
