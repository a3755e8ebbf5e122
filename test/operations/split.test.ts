/** Operations on a bucket of four rows, of which a call reads those that chance chooses. */
import type { RateLimitConfig } from "convex-rate-limits";
import { afterEach, describe, expect, it, vi } from "vitest";
import { draw } from "../support/draw.js";
import { FakeDb } from "../support/fakeDb.js";
import { partsOf } from "../support/parts.js";
import {
  type Backend,
  defineIn,
  insertRows,
  openBackend,
  placeNames,
  rowsIn,
  type StoredRow,
} from "../support/places.js";
import { createRandom } from "../../bench/simulator/random.js";
import { NOW, useClock } from "../support/jobs.js";

useClock();
afterEach(() => {
  vi.restoreAllMocks();
});

const HOUR = 3_600_000;
/** The token that an hour brings comes long after all of this. */
const shared = { kind: "token bucket", rate: 1, period: HOUR, capacity: 64 } as const satisfies RateLimitConfig;
const user: RateLimitConfig = { kind: "token bucket", rate: 1, period: HOUR, capacity: 0, maxReserved: 0 };

/** A bucket in 2^level equal rows. */
const rowsOf = (
  level: number,
  values: readonly number[],
  ages: readonly number[] = [],
  config: RateLimitConfig = shared,
): StoredRow[] =>
  values.map((value, i) => ({
    name: "hot",
    value,
    ts: NOW - (ages[i] ?? 0),
    shard: partsOf(level)[i] ?? "",
    config,
  }));

/** The same, as calls with the config have written them. */
const planned = (rows: readonly StoredRow[]) => rows.map((row) => ({ ...row, plan: row.config }));

/** Quarters of the bucket, which can hold 16 tokens each. */
const quarters = (values: readonly number[], ages?: readonly number[]) => rowsOf(2, values, ages);

describe.each(placeNames)("a bucket of four rows in the %s", (place) => {
  const limits = defineIn(place, { hot: { ...shared, shards: 4 }, user });
  const opened = async (rows: readonly StoredRow[]) => {
    const t = openBackend();
    await insertRows(place, t, rows);
    return t;
  };
  const values = async (t: Backend) =>
    (await rowsIn(place, t)).sort((a, b) => ((a.shard ?? "") < (b.shard ?? "") ? -1 : 1)).map(({ value }) => value);

  it("is given back to where there is room, the emptiest row first, none above its share", async () => {
    const t = await opened(quarters([16, 15, 10, 4]));
    draw(0);
    const status = t.mutation(async (ctx) => await limits.adjustRateLimit(ctx, { name: "hot", count: -15 }));
    expect(await status).toEqual({ ok: true, remaining: 60, resetAt: NOW + 4 * HOUR });
    expect(await values(t)).toEqual([16, 15, 13, 16]);
  });

  it("gives a short row half of what the next has more, also if neither was written lately", async () => {
    const t = await opened(quarters([0, 16, 16, 16], [1000, 500, 0, 0]));
    draw(0, 0.25);
    expect(await t.mutation((ctx) => limits.rateLimit(ctx, { name: "hot", count: 2 }))).toEqual({ ok: true });
    const rows = (await rowsIn(place, t)).sort((a, b) => ((a.shard ?? "") < (b.shard ?? "") ? -1 : 1));
    // What came in within a second makes half of the difference a bit less than 7.
    expect(rows.map(({ value }) => Math.floor(value))).toEqual([6, 8, 16, 16]);
  });

  it("of a sliding window never starts more than its rate in any period, also when a clock that is behind finds a row short", async () => {
    const sliding = { kind: "sliding window", rate: 40, period: 100 } as const;
    const { rateLimit } = defineIn(place, { hot: { ...sliding, shards: 2 } });
    const t = await opened([
      { name: "hot", shard: "0", value: 0, ts: NOW, recent: [{ at: NOW, count: 20 }], config: sliding },
      { name: "hot", shard: "1", value: 20, ts: NOW - 40, recent: [], config: sliding },
    ]);
    draw(0, 0.99);
    vi.setSystemTime(NOW - 40);
    const take = (count: number) => t.mutation((ctx) => rateLimit(ctx, { name: "hot", count, atLeast: 0 }));
    expect(await take(1)).toMatchObject({ taken: 1 });
    vi.setSystemTime(NOW + 1);
    expect(await take(40)).toMatchObject({ taken: 19 });
    // Of those 40 the one has left the window.
    vi.setSystemTime(NOW + 60);
    expect(await take(40)).toMatchObject({ taken: 1 });
  });

  it.each([
    ["the short one", 0, 40],
    ["the other one", 40, 0],
  ])("shares nothing between two rows when a clock ahead has written %s", async (_which, ...ages) => {
    const t = await opened(quarters([0, 16, 16, 16], ages));
    vi.setSystemTime(NOW - 40);
    draw(0, 0.25);
    await t.mutation((ctx) => limits.rateLimit(ctx, { name: "hot" }));
    expect(await values(t)).toEqual([0, 15, 16, 16]);
  });

  it("is given back to no further than to its capacity", async () => {
    const t = await opened(quarters([16, 15, 10, 4]));
    draw(0);
    const status = t.mutation(async (ctx) => await limits.adjustRateLimit(ctx, { name: "hot", count: -50 }));
    expect(await status).toEqual({ ok: true, remaining: 64, resetAt: NOW });
    expect(await values(t)).toEqual([16, 16, 16, 16]);
  });

  it("is charged more than all rows hold as one row, which owes it", async () => {
    const t = await opened(quarters([1, 2, 3, 4]));
    draw(0);
    const status = t.mutation(async (ctx) => await limits.adjustRateLimit(ctx, { name: "hot", count: 13 }));
    expect(await status).toEqual({ ok: true, retryAt: NOW + 3 * HOUR, remaining: 0, resetAt: NOW + 67 * HOUR });
    expect(await values(t)).toEqual([-3]);
  });

  it.each([
    { title: "only that it is allowed, from one row", count: 1, rows: [16, 16, 16, 16], known: {} },
    {
      title: "how it stands, too, from all rows together",
      count: 10,
      rows: [4, 16, 16, 16],
      known: { remaining: 52, resetAt: NOW + 12 * HOUR },
    },
  ])("says $title, where another limit denies", async ({ count, rows, known }) => {
    const t = await opened(quarters(rows));
    draw(0, 0.01);
    const requests = [
      { name: "hot", count },
      { name: "user", count: 0, key: "in debt" },
    ];
    await t.mutation(async (ctx) => await limits.adjustRateLimit(ctx, { name: "user", key: "in debt", count: 1 }));
    const { ok, statuses } = await t.mutation(async (ctx) => await limits.rateLimitAll(ctx, requests));
    expect({ ok, statuses }).toEqual({
      ok: false,
      statuses: [
        { ok: true, ...known },
        { ok: false, retryAt: NOW + HOUR, remaining: 0, resetAt: NOW + HOUR },
      ],
    });
    expect((await values(t)).filter((value) => value !== -1)).toEqual(rows);
  });

  const fast = { ...shared, rate: 64, period: 1000 } as const;
  it.each([
    { title: "and gives the first half of what it has more", rows: [0, 16, 16, 16], left: [7, 8, 16, 16] },
    { title: "and gives the first no more than whole tokens", rows: [0.5, 12, 16, 16], left: [5.5, 6, 16, 16] },
    { title: "if that is two tokens", rows: [0, 5, 16, 16], left: [2, 2, 16, 16] },
    { title: "unless that is less than two tokens", rows: [0.5, 5, 16, 16], left: [0.5, 4, 16, 16] },
  ])("gives from a second row where the first is short, $title", async ({ rows, left }) => {
    const t = await opened(planned(rowsOf(2, rows, [], fast)));
    draw(0, 0.3);
    const config = { ...fast, shards: 4 };
    expect(await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot", config }))).toEqual({ ok: true });
    expect(await values(t)).toEqual(left);
  });

  it("gives a smaller row no more than it has room for, and so loses nothing", async () => {
    const [[first, sibling], [, quarter], [, half]] = [
      rowsOf(3, [0.5, 8], [], fast),
      rowsOf(2, [0, 16], [], fast),
      rowsOf(1, [0, 32], [], fast),
    ] as const;
    const rows = [first, sibling, quarter, half].filter((row) => row !== undefined);
    const t = await opened(planned(rows));
    draw(0, 0.6);
    const config = { ...fast, shards: 8 };
    expect(await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot", config }))).toEqual({ ok: true });
    expect(await values(t)).toEqual([7.5, 8, 16, 24]);
  });

  it.each([
    { title: "where it has found another short", rows: [0, 1, 16, 16], numbers: [0, 0.3, 0], left: 5 },
    { title: "and not where it has come upon that one first", rows: [1, 16, 16, 16], numbers: [0, 0, 0], left: 4 },
  ])("has a row split by the call that empties it, $title", async ({ rows, numbers, left }) => {
    const t = await opened(planned(rowsOf(2, rows, [1, 1, 1, 1], fast)));
    draw(...numbers);
    const config = { ...fast, shards: 8 };
    expect(await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot", config }))).toEqual({ ok: true });
    expect(await values(t)).toHaveLength(left);
  });

  it("gives all that its rows hold and no more, whichever of them the calls come upon", async () => {
    const random = createRandom("uneven rows");
    const counts = [1, 2, 3, 5, 8];
    for (const count of counts) {
      const t = await opened(quarters([0, 16, 3, 9]));
      vi.spyOn(Math, "random").mockImplementation(random);
      const take = () => t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot", count }));
      let taken = 0;
      while ((await take()).ok) taken += count;
      expect(taken, `counts of ${count}`).toBe(28 - (28 % count));
    }
  });

  it("that is slow becomes one with its neighbours as they run out, so that denials read one row", async () => {
    const t = await opened(quarters([1, 2, 1, 1]));
    draw(0, 0.3, 0.6, 0.9);
    const seen: number[][] = [];
    for (let call = 0; call < 5; call++) {
      expect(await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot" }))).toMatchObject({ ok: true });
      seen.push(await values(t));
    }
    expect(seen).toEqual([[2, 1, 1], [1, 1, 1], [1, 1], [1], [0]]);
    expect(await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot" }))).toMatchObject({ ok: false });
  });

  it("that is not split yet says how it stands where another limit denies", async () => {
    const t = await opened([]);
    const requests = [{ name: "hot" }, { name: "user", count: 0, key: "in debt" }];
    await t.mutation(async (ctx) => await limits.adjustRateLimit(ctx, { name: "user", key: "in debt", count: 1 }));
    const { statuses } = await t.mutation(async (ctx) => await limits.rateLimitAll(ctx, requests));
    expect(statuses[0]).toEqual({ ok: true, remaining: 64, resetAt: NOW });
  });

  const fill = async (
    held: readonly number[],
    { config = shared, ageMs = 0 }: { config?: RateLimitConfig; ageMs?: number },
  ) => {
    const rows = rowsOf(Math.log2(held.length), held, Array<number>(held.length).fill(ageMs), config);
    const t = await opened(planned(rows));
    const take = (asked: object = {}) =>
      t.mutation(
        async (ctx) =>
          await limits.rateLimit(ctx, { name: "hot", config: { ...config, shards: held.length }, ...asked }),
      );
    return { t, take };
  };

  const faster = { ...fast, rate: 640 };
  it.each([
    { held: [1, 16, 16, 16], asked: {}, left: [0, 16, 16, 16] },
    { held: [16, 16, 16, 16], asked: { count: 2, atLeast: 1 }, left: [14, 16, 16, 16], taken: 2 },
    { held: [0, 1, 16, 16], asked: {}, left: [0, 0, 16, 16] },
    { held: [0, 16, 16, 16], asked: { count: 8 }, left: [4, 4, 16, 16] },
    { held: [16, 16, 16, 16], asked: { count: 16 }, left: [0, 16, 16, 16] },
  ])("gives from the first row, or from a second if that is short: $held, $asked", async (row) => {
    const { held, asked, left, taken } = row;
    const { t, take } = await fill(held, { config: faster });
    draw(0, 0.3);
    expect(await take(asked)).toEqual({ ok: true, ...(taken !== undefined && { taken }) });
    expect(await values(t)).toEqual(left);
  });

  it("is read whole by a call that takes nothing", async () => {
    const { take } = await fill([12, 12, 12, 12], {});
    expect(await take({ count: 0 })).toEqual({ ok: true, remaining: 48, resetAt: NOW + 16 * HOUR });
  });

  it("is read whole before a denial where one of the two rows was written this very millisecond", async () => {
    const { take } = await fill([0, 0, 0, 0], { config: fast });
    // Both calls come upon the first row, then upon two.
    for (const numbers of [
      [0, 0.01],
      [0, 0.3],
    ]) {
      draw(...numbers);
      expect(await take()).toEqual({ ok: false, retryAt: NOW + 63, remaining: 0, resetAt: NOW + 1000 });
    }
    const parts = await fill([0.5, 0.6, 16, 16], { config: fast });
    draw(0, 0.3);
    expect(await parts.take()).toMatchObject({ ok: true, remaining: 32 });
    // The other of the two was written before.
    for (const ages of [
      [0, 10, 10, 10],
      [10, 0, 10, 10],
    ]) {
      const t = await opened(rowsOf(2, [0, 0, 16, 16], ages, fast));
      draw(0, 0.3);
      const call = { name: "hot", config: { ...fast, shards: 4 } };
      expect(await t.mutation(async (ctx) => await limits.rateLimit(ctx, call))).toMatchObject({ ok: true });
    }
  });

  it("denies by two rows where they are older, but no reservation, and nobody whom less would suffice", async () => {
    const { take } = await fill([0, 0, 0, 0], { config: fast, ageMs: 10 });
    draw(0, 0.3);
    expect(await take()).toEqual({ ok: false, retryAt: NOW + 63 });
    draw(0, 0.3);
    expect(await take({ reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 6 });
    const parts = await fill([2, 2, 2, 2], { config: faster, ageMs: 10 });
    draw(0, 0.3);
    expect(await parts.take({ count: 6, atLeast: 1 })).toMatchObject({ ok: true, taken: 6 });
  });

  it("has rows that overlap in no span, however large the count", async () => {
    const t = await opened([{ name: "hot", value: 64, ts: NOW }, ...quarters([16, 16, 16, 16])]);
    draw(0);
    const status = t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot", count: 40 }));
    await expect(status).rejects.toThrow("the stored shards overlap or leave a gap");
  });

  it("lets nothing through where its limit is not split and a row lies beside that of the whole", async () => {
    const t = await opened([{ name: "hot", value: 64, ts: NOW }, ...quarters([16, 16, 16, 16])]);
    const call = { name: "hot", config: { ...shared } };
    const status = t.mutation(async (ctx) => await limits.rateLimit(ctx, call));
    await expect(status).rejects.toThrow("the stored shards overlap or leave a gap");
  });

  it("gives a large count from the rows around the first that hold four such counts, which become one", async () => {
    const { t, take } = await fill([4, 8, 8, 8, 8, 8, 8, 8], {});
    draw(0);
    expect(await take({ count: 5 })).toEqual({ ok: true });
    expect(await values(t)).toEqual([23, 8, 8, 8, 8]);
    const exact = await fill([1, 1, 1, 2, 8, 8, 8, 8], {});
    draw(0);
    expect(await exact.take({ count: 5 })).toEqual({ ok: true });
    // A row of a slow limit that is left with less than the count folds.
    expect(await values(exact.t)).toEqual([32]);
  });

  it("gives a large count from all rows where those around the first are short", async () => {
    const { t, take } = await fill([0, 0, 1, 1, 8, 8, 8, 8], { ageMs: 100 });
    draw(0);
    expect(await take({ count: 5 })).toMatchObject({ ok: true, remaining: 29 });
    expect((await values(t)).reduce((sum, value) => sum + Math.floor(value), 0)).toBe(29);
  });

  it("stays on its rows while the one that a call comes upon is in use, and folds the rows around it when that is idle", async () => {
    for (const { ages, left } of [
      { ages: [1999, 9000, 9000, 9000], left: [11, 12, 12, 12] },
      { ages: [2000, 0, 9000, 9000], left: [23, 12, 12] },
      { ages: [4000, 0, 0, 0], left: [47] },
    ]) {
      const t = await opened(quarters([12, 12, 12, 12], ages));
      draw(0);
      expect(await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot" }))).toEqual({ ok: true });
      expect((await values(t)).map(Math.floor), JSON.stringify(ages)).toEqual(left);
    }
  });
});

/** Calls at equal distances meet no other: what is denied here is denied in vain. */
describe("a window of 300 a second on several rows, called one by one", () => {
  const sliding = { kind: "sliding window", rate: 300, period: 1000, shards: "auto" } as const;
  const fixed = { kind: "fixed window", rate: 300, period: 1000, start: 0, shards: "auto" } as const;
  it.each([
    { config: sliding, perSecond: 240, most: 0.01 },
    // Four seeds: 3.5 to 4.1 %.
    { config: sliding, perSecond: 270, most: 0.042 },
    { config: fixed, perSecond: 240, most: 0.01 },
    { config: fixed, perSecond: 270, most: 0.035 },
  ])(
    "is denied in vain $most of $perSecond calls a second at most, $config.kind",
    async ({ config, perSecond, most }) => {
      const db = new FakeDb();
      const { rateLimit } = defineIn("tables", { hot: config });
      vi.spyOn(Math, "random").mockImplementation(createRandom("serial"));
      let denied = 0;
      const calls = 6 * perSecond;
      for (let i = 0; i < calls; i++) {
        vi.setSystemTime(NOW + Math.round((i * 1000) / perSecond));
        const { ok } = await db.transaction((ctx) => rateLimit(ctx as never, { name: "hot" }));
        if (!ok && i >= 2 * perSecond) denied++;
      }
      expect(denied / (4 * perSecond)).toBeLessThanOrEqual(most);
    },
  );

  it.each([false, true])(
    "pays a count from several rows that hold it together, the fullest first (refundable: %s)",
    async (refundable) => {
      const t = openBackend();
      const tight = { kind: "fixed window", rate: 64, period: 1000, capacity: 64, start: 500 } as const;
      await insertRows("tables", t, rowsOf(2, [0, 1, 2, 1], [10, 10, 10, 10], tight));
      const { rateLimit } = defineIn("tables", { hot: { ...tight, shards: 4 } });
      draw(0, 0.3, 0.6);
      const status = await t.mutation((ctx) => rateLimit(ctx, { name: "hot", count: 3, refundable }));
      expect(status).toEqual({ ok: true, ...(refundable && { takenAt: NOW }) });
      const rows = (await rowsIn("tables", t)).sort((a, b) => ((a.shard ?? "") < (b.shard ?? "") ? -1 : 1));
      expect(rows.map(({ value }) => value)).toEqual([0, 0, 0, 1]);
    },
  );
});
