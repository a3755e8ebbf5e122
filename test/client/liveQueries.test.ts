// @vitest-environment edge-runtime
/** A query is not run again because time passes: what a live query returns must not depend on the clock. */
import { projectRateLimit } from "convex-rate-limits";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defineIn, placeNames, openBackend } from "../support/places.js";

const NOW = Date.UTC(2026, 5, 1, 9, 30);
const DAY = 86_400_000;
/** Moments before and after NOW, near and far, on the boundaries of 100 ms and of windows and beside them. */
const moments = [
  -DAY,
  -1,
  0,
  1,
  99,
  100,
  101,
  250,
  300,
  333,
  999,
  1000,
  1001,
  1337,
  5000,
  DAY,
  400 * DAY,
  3000 * DAY,
].map((offset) => NOW + offset);
const demands = [{}, { count: 0 }, { count: 3 }, { count: 2.5 }, { count: 10 }, { count: 14, reserve: true }];
/** A sliding window lets no more than its rate start at once, reserved or not. */
const slidingDemands = demands.map((demand) => ({ ...demand, ...(demand.count === 14 && { count: 10 }) }));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(placeNames)("in the %s", (place) => {
  const limits = defineIn(place, {
    bucket: { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 },
    aligned: { kind: "fixed window", rate: 10, period: 1000, start: 0, maxReserved: 5 },
    hashed: { kind: "fixed window", rate: 4, period: 1337, capacity: 10, maxReserved: 5 },
    sliding: { kind: "sliding window", rate: 10, period: 1000, maxReserved: 5 },
    daily: { kind: "fixed window", rate: 10, period: "day", timeZone: "Europe/Berlin", anchor: 150, maxReserved: 5 },
    weekly: { kind: "fixed window", rate: 10, period: "week", maxReserved: 5 },
    monthly: {
      kind: "fixed window",
      rate: 10,
      period: "month",
      timeZone: "America/New_York",
      anchor: 31,
      maxReserved: 5,
    },
  });
  const names = ["bucket", "aligned", "hashed", "sliding", "daily", "weekly", "monthly"];

  /** A backend in which each limit has a fresh bucket, one in use, and one in debt. */
  async function inUse() {
    const t = openBackend();
    await t.mutation(async (ctx) => {
      for (const name of names) {
        await limits.rateLimit(ctx, { name, key: "used", count: 9 });
        await limits.rateLimit(ctx, { name, key: "owing", count: 9 });
        await limits.rateLimit(ctx, { name, key: "owing", count: 3, reserve: true });
      }
    });
    return t;
  }
  const buckets = names.flatMap((name) => [undefined, "fresh", "used", "owing"].map((key) => ({ name, key })));

  it("a query may check and get", async () => {
    const t = await inUse();
    for (const bucket of buckets) {
      const status = await t.query(async (ctx) => await limits.checkRateLimit(ctx, bucket));
      expect(status.ok).toBe(bucket.key !== "owing");
      const { name, ts } = await t.query(async (ctx) => await limits.getRateLimit(ctx, bucket));
      expect({ name, ts }).toEqual({ name: bucket.name, ts: bucket.key === "used" || !status.ok ? NOW : 0 });
    }
  });

  it("what get returns is the same at every moment", async () => {
    const t = await inUse();
    const get = () =>
      t.query(async (ctx) => await Promise.all(buckets.map((bucket) => limits.getRateLimit(ctx, bucket))));
    const snapshots = await get();
    for (const now of moments) {
      vi.setSystemTime(now);
      expect(await get()).toEqual(snapshots);
    }
  });

  it("get never looks at the clock, check does once", async () => {
    const t = await inUse();
    const clock = vi.spyOn(Date, "now");
    const looks = async (call: () => Promise<unknown>) => {
      const before = clock.mock.calls.length;
      await call();
      return clock.mock.calls.length - before;
    };
    await t.query(async (ctx) => {
      for (const bucket of buckets) {
        expect(await looks(() => limits.getRateLimit(ctx, bucket))).toBe(0);
        expect(await looks(() => limits.checkRateLimit(ctx, bucket))).toBe(1);
      }
    });
    clock.mockRestore();
  });

  /** Law 4 does so for any limit and any moment; here it is the calendar, far away, and validators. */
  it("a projected snapshot says what check says, at every moment and for every demand", async () => {
    const t = await inUse();
    const answers = new Set<string>();
    const moments = [-1, 333, DAY, 3000 * DAY].map((offset) => NOW + offset);
    for (const bucket of buckets.filter(({ key }) => key !== "fresh")) {
      const snapshot = await t.query(async (ctx) => await limits.getRateLimit(ctx, bucket));
      for (const now of moments) {
        vi.setSystemTime(now);
        await t.query(async (ctx) => {
          for (const demand of bucket.name === "sliding" ? slidingDemands : demands) {
            const checked = await limits.checkRateLimit(ctx, { ...bucket, ...demand });
            expect(projectRateLimit(snapshot, { now, ...demand })).toEqual(checked);
            answers.add(checked.ok ? (checked.retryAt === undefined ? "go" : "reserved") : "denied");
          }
        });
      }
    }
    expect([...answers].sort()).toEqual(["denied", "go", "reserved"]);
  });

  it("a projected snapshot says what the next call says", async () => {
    const t = await inUse();
    for (const bucket of buckets) {
      const snapshot = await t.query(async (ctx) => await limits.getRateLimit(ctx, bucket));
      vi.setSystemTime(NOW + 333);
      const projected = projectRateLimit(snapshot, { now: NOW + 333, count: 2 });
      const consumed = await t.mutation(async (ctx) => await limits.rateLimit(ctx, { ...bucket, count: 2 }));
      expect(projected).toEqual(consumed);
    }
  });

  it("a fraction of a millisecond, as performance clocks give, counts as the millisecond it lies in", async () => {
    const t = await inUse();
    const bucket = { name: "bucket", key: "owing" };
    const snapshot = await t.query(async (ctx) => await limits.getRateLimit(ctx, bucket));
    const status = projectRateLimit(snapshot, { now: NOW });
    expect(status).toMatchObject({ ok: false, retryAt: NOW + 300 });
    expect(projectRateLimit(snapshot, { now: NOW + 0.9 })).toEqual(status);
    expect(projectRateLimit(snapshot, { now: NOW + 299.9 }).ok).toBe(false);
    expect(projectRateLimit(snapshot, { now: NOW + 300 }).ok).toBe(true);
  });
});
