/** Operations on a bucket of four rows, of which a call reads those that chance chooses. */
import type { RateLimitConfig } from "convex-rate-limits";
import { afterEach, describe, expect, it, vi } from "vitest";
import { draw } from "../support/draw.js";
import { FakeDb } from "../support/fakeDb.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { defineIn, placeNames, type StoredRow } from "../support/places.js";
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

/** Quarters of the bucket, which can hold 16 tokens each. */
const quarters = (values: readonly number[], ages?: readonly number[]) => rowsOf(2, values, ages);

describe.each(placeNames)("a bucket of four rows in the %s", (place) => {
  const { open, define, insert, parts } = useBackend(place);
  const { rateLimit, rateLimitAll, adjustRateLimit } = define({ hot: { ...shared, shards: 4 }, user });
  const values = async () => (await parts()).map(({ value }) => value);
  const take = (asked: object = {}) => rateLimit({ name: "hot", ...asked });
  const adjust = (count: number) => adjustRateLimit({ name: "hot", count });

  it.each([
    {
      title: "is given back to where there is room, the emptiest row first, none above its share",
      rows: [16, 15, 10, 4],
      count: -15,
      status: { remaining: 60, resetAt: NOW + 4 * HOUR },
      left: [16, 15, 13, 16],
    },
    {
      title: "is given back to no further than to its capacity",
      rows: [16, 15, 10, 4],
      count: -50,
      status: { remaining: 64, resetAt: NOW },
      left: [16, 16, 16, 16],
    },
    {
      title: "is charged more than all rows hold as one row, which owes it",
      rows: [1, 2, 3, 4],
      count: 13,
      status: { retryAt: NOW + 3 * HOUR, remaining: 0, resetAt: NOW + 67 * HOUR },
      left: [-3],
    },
  ])("$title", async ({ rows, count, status, left }) => {
    await insert(...quarters(rows));
    draw(0);
    expect(await adjust(count)).toEqual({ ok: true, ...status });
    expect(await values()).toEqual(left);
  });

  it.each([
    {
      title: "gives a short row half of what the next has more, also if neither was written lately",
      ages: [1000, 500, 0, 0],
      // What came in within a second makes half of the difference a bit less than 7.
      left: [6, 8, 16, 16],
    },
    { title: "shares nothing when a clock ahead has written the short one", ages: [-40], left: [0, 14, 16, 16] },
    { title: "shares nothing when a clock ahead has written the other one", ages: [0, -40], left: [0, 14, 16, 16] },
  ])("$title", async ({ ages, left }) => {
    await insert(...quarters([0, 16, 16, 16], ages));
    draw(0, 0.25);
    expect(await take({ count: 2 })).toEqual({ ok: true });
    expect((await values()).map(Math.floor)).toEqual(left);
  });

  it("merges a short row with those around it for a reservation", async () => {
    await insert(...quarters([0, 16, 16, 16]));
    draw(0, 0.25);
    expect(await take({ count: 2, reserve: true })).toEqual({ ok: true });
    expect(await values()).toEqual([14, 16, 16]);
  });

  it("of a sliding window never starts more than its rate in any period, also when a clock that is behind finds a row short", async () => {
    const sliding = { kind: "sliding window", rate: 40, period: 100 } as const;
    const row = { name: "hot", config: sliding };
    await insert(
      { ...row, shard: "0", value: 0, ts: NOW, recent: [{ at: NOW, count: 20 }] },
      { ...row, shard: "1", value: 20, ts: NOW - 40, recent: [] },
    );
    draw(0, 0.99);
    for (const [ms, count, taken] of [
      [-40, 1, 1],
      [1, 40, 19],
      // Of those 40 the one has left the window.
      [60, 40, 1],
    ] as const) {
      vi.setSystemTime(NOW + ms);
      expect(await take({ config: { ...sliding, shards: 2 }, count, atLeast: 0 })).toMatchObject({ taken });
    }
  });

  it.each([
    { title: "only that it is allowed, from one row", count: 1, rows: [16, 16, 16, 16], known: {} },
    {
      title: "how it stands, too, from all rows together",
      count: 10,
      rows: [4, 16, 16, 16],
      known: { remaining: 52, resetAt: NOW + 12 * HOUR },
    },
    { title: "how it stands if it is not split yet", count: 1, rows: [], known: { remaining: 64, resetAt: NOW } },
  ])("says $title, where another limit denies", async ({ count, rows, known }) => {
    await insert(...quarters(rows));
    draw(0, 0.01);
    await adjustRateLimit({ name: "user", key: "in debt", count: 1 });
    const all = await rateLimitAll([
      { name: "hot", count },
      { name: "user", count: 0, key: "in debt" },
    ]);
    const statuses = [
      { ok: true, ...known },
      { ok: false, retryAt: NOW + HOUR, remaining: 0, resetAt: NOW + HOUR },
    ];
    expect(all).toEqual({ ok: false, retryAt: NOW + HOUR, statuses });
    expect((await values()).filter((value) => value !== -1)).toEqual(rows);
  });

  const fast = { ...shared, rate: 64, period: 1000 } as const;
  const faster = { ...fast, rate: 640 };
  /** Fills the rows of a bucket as calls with the config have written them; the calls that follow have that config. */
  const fill = async (
    held: readonly number[],
    {
      config = fast,
      ages = [],
      shards = held.length,
    }: { config?: RateLimitConfig; ages?: number[]; shards?: number } = {},
  ) => {
    open();
    const rows = rowsOf(Math.log2(held.length), held, ages, config);
    await insert(...rows.map((row) => ({ ...row, plan: config })));
    return (asked: object = {}) => take({ config: { ...config, shards }, ...asked });
  };

  it.each([
    { title: "and gives the first half of what it has more", held: [0, 16, 16, 16], left: [7, 8, 16, 16] },
    { title: "and gives the first no more than whole tokens", held: [0.5, 12, 16, 16], left: [5.5, 6, 16, 16] },
    { title: "if that is two tokens", held: [0, 5, 16, 16], left: [2, 2, 16, 16] },
    { title: "unless that is less than two tokens", held: [0.5, 5, 16, 16], left: [0.5, 4, 16, 16] },
  ])("gives from a second row where the first is short, $title", async ({ held, left }) => {
    const take = await fill(held);
    draw(0, 0.3);
    expect(await take()).toEqual({ ok: true });
    expect(await values()).toEqual(left);
  });

  it("gives a smaller row no more than it has room for, and so loses nothing", async () => {
    const held = { "000": 0.5, "001": 8, "01": 16, "1": 32 };
    const row = { name: "hot", ts: NOW, config: fast, plan: fast };
    await insert(...Object.entries(held).map(([shard, value]) => ({ ...row, shard, value })));
    draw(0, 0.6);
    expect(await take({ config: { ...fast, shards: 8 } })).toEqual({ ok: true });
    expect(await values()).toEqual([7.5, 8, 16, 24]);
  });

  it.each([
    { title: "where it has found another short", held: [0, 1, 16, 16], numbers: [0, 0.3, 0], left: 5 },
    { title: "and not where it has found that one first", held: [1, 16, 16, 16], numbers: [0, 0, 0], left: 4 },
  ])("has a row split by the call that empties it, $title", async ({ held, numbers, left }) => {
    const take = await fill(held, { ages: [1, 1, 1, 1], shards: 8 });
    draw(...numbers);
    expect(await take()).toEqual({ ok: true });
    expect(await values()).toHaveLength(left);
  });

  it.each([1, 2, 3, 5, 8])(
    "gives all that its rows hold and no more, whichever the calls find: counts of %i",
    async (count) => {
      await insert(...quarters([0, 16, 3, 9]));
      vi.spyOn(Math, "random").mockImplementation(createRandom("uneven rows"));
      let taken = 0;
      while ((await take({ count })).ok) taken += count;
      expect(taken).toBe(28 - (28 % count));
    },
  );

  it("that is slow becomes one with its neighbours as they run out, so that denials read one row", async () => {
    await insert(...quarters([1, 2, 1, 1]));
    draw(0, 0.3, 0.6, 0.9);
    const seen: number[][] = [];
    for (let call = 0; call < 5; call++) {
      expect(await take()).toMatchObject({ ok: true });
      seen.push(await values());
    }
    expect(seen).toEqual([[2, 1, 1], [1, 1, 1], [1, 1], [1], [0]]);
    expect(await take()).toMatchObject({ ok: false });
  });

  it.each([
    { held: [1, 16, 16, 16], asked: {}, left: [0, 16, 16, 16] },
    { held: [16, 16, 16, 16], asked: { count: 2, atLeast: 1 }, left: [14, 16, 16, 16], taken: 2 },
    { held: [0, 1, 16, 16], asked: {}, left: [0, 0, 16, 16] },
    { held: [0, 16, 16, 16], asked: { count: 8 }, left: [4, 4, 16, 16] },
    { held: [16, 16, 16, 16], asked: { count: 16 }, left: [0, 16, 16, 16] },
  ])(
    "gives from the first row, or from a second if that is short: $held, $asked",
    async ({ held, asked, left, taken }) => {
      const take = await fill(held, { config: faster });
      draw(0, 0.3);
      expect(await take(asked)).toEqual({ ok: true, ...(taken !== undefined && { taken }) });
      expect(await values()).toEqual(left);
    },
  );

  it("is read whole by a call that takes nothing", async () => {
    const take = await fill([12, 12, 12, 12], { config: shared });
    expect(await take({ count: 0 })).toEqual({ ok: true, remaining: 48, resetAt: NOW + 16 * HOUR });
  });

  const short = { ok: false, retryAt: NOW + 63, remaining: 0, resetAt: NOW + 1000 };
  it.each([
    // Both calls find the first row, then two.
    { held: [0, 0, 0, 0], ages: [], numbers: [0, 0.01], answer: short },
    { held: [0, 0, 0, 0], ages: [], numbers: [0, 0.3], answer: short },
    { held: [0.5, 0.6, 16, 16], ages: [], numbers: [0, 0.3], answer: { ok: true, remaining: 32 } },
    // The other of the two was written before.
    { held: [0, 0, 16, 16], ages: [0, 10, 10, 10], numbers: [0, 0.3], answer: { ok: true } },
    { held: [0, 0, 16, 16], ages: [10, 0, 10, 10], numbers: [0, 0.3], answer: { ok: true } },
  ])("is read whole before a denial where one of two was written this very ms: $held, $ages, $numbers", async (row) => {
    const take = await fill(row.held, { ages: row.ages });
    draw(...row.numbers);
    const status = await take();
    expect(status).toMatchObject(row.answer);
    if (!status.ok) expect(status).toEqual(row.answer);
  });

  it("denies by two rows where they are older, but no reservation, and nobody whom less would suffice", async () => {
    const ages = [10, 10, 10, 10];
    const take = await fill([0, 0, 0, 0], { ages });
    draw(0, 0.3);
    expect(await take()).toEqual({ ok: false, retryAt: NOW + 63 });
    draw(0, 0.3);
    expect(await take({ reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 6 });
    const takeFaster = await fill([2, 2, 2, 2], { config: faster, ages });
    draw(0, 0.3);
    expect(await takeFaster({ count: 6, atLeast: 1 })).toMatchObject({ ok: true, taken: 6 });
  });

  it.each([
    ["overlap in no span, however large the count", { count: 40 }],
    ["let nothing through where the limit is not split and one lies beside that of the whole", { config: shared }],
  ])("has rows that %s", async (_what, asked) => {
    await insert({ name: "hot", value: 64, ts: NOW }, ...quarters([16, 16, 16, 16]));
    draw(0);
    await expect(take(asked)).rejects.toThrow("the stored shards overlap or leave a gap");
  });

  it.each([
    { held: [4, 8, 8, 8, 8, 8, 8, 8], left: [23, 8, 8, 8, 8] },
    // A row of a slow limit that is left with less than the count folds.
    { held: [1, 1, 1, 2, 8, 8, 8, 8], left: [32] },
  ])(
    "gives a large count from the rows around the first that hold four such counts, which become one: $held",
    async (row) => {
      const take = await fill(row.held, { config: shared });
      draw(0);
      expect(await take({ count: 5 })).toEqual({ ok: true });
      expect(await values()).toEqual(row.left);
    },
  );

  it("gives a large count from all rows where those around the first are short", async () => {
    const take = await fill([0, 0, 1, 1, 8, 8, 8, 8], { config: shared, ages: Array<number>(8).fill(100) });
    draw(0);
    expect(await take({ count: 5 })).toMatchObject({ ok: true, remaining: 29 });
    expect((await values()).reduce((sum, value) => sum + Math.floor(value), 0)).toBe(29);
  });

  it.each([
    { ages: [1999, 9000, 9000, 9000], left: [11, 12, 12, 12] },
    { ages: [2000, 0, 9000, 9000], left: [23, 12, 12] },
    { ages: [4000, 0, 0, 0], left: [47] },
  ])(
    "stays on its rows while the one that a call finds is in use, and folds those around it if that is idle: $ages",
    async (row) => {
      await insert(...quarters([12, 12, 12, 12], row.ages));
      draw(0);
      expect(await take()).toEqual({ ok: true });
      expect((await values()).map(Math.floor)).toEqual(row.left);
    },
  );
});

/** Calls at equal distances meet no other: what is denied here is denied in vain. */
describe.each(placeNames)("calls at once in one mutation, in the %s", (place) => {
  const { define, mutation } = useBackend(place);

  it.each(["fixed window", "sliding window"] as const)(
    "get all that the rows of a %s hold, and no more",
    async (kind) => {
      const config: RateLimitConfig = { kind, rate: 64, period: 1000, shards: { atLeast: 32, atMost: 32 } };
      const { within } = define({ hot: config });
      const statuses = await mutation((ctx) =>
        Promise.all(Array.from({ length: 65 }, () => within(ctx).rateLimit({ name: "hot" }))),
      );
      expect(statuses.filter(({ ok }) => ok)).toHaveLength(64);
    },
  );
});

describe("a window of 300 a second on several rows, called one by one", () => {
  const { insert, define, parts } = useBackend("tables");
  const sliding = { kind: "sliding window", rate: 300, period: 1000, shards: "auto" } as const;
  const fixed = { kind: "fixed window", rate: 300, period: 1000, start: 0, shards: "auto" } as const;
  it.each([
    { config: sliding, perSecond: 240, most: 0.01 },
    { config: sliding, perSecond: 270, most: 0.035 },
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
      const tight = { kind: "fixed window", rate: 64, period: 1000, capacity: 64, start: 500 } as const;
      await insert(...rowsOf(2, [0, 1, 2, 1], [10, 10, 10, 10], tight));
      const { rateLimit } = define({ hot: { ...tight, shards: 4 } });
      draw(0, 0.3, 0.6);
      const status = await rateLimit({ name: "hot", count: 3, refundable });
      expect(status).toEqual({ ok: true, ...(refundable && { takenAt: NOW }) });
      expect((await parts()).map(({ value }) => value)).toEqual([0, 0, 0, 1]);
    },
  );
});

describe("a denial of a fast window on two rows", () => {
  const { insert, define } = useBackend("tables");

  it("looks at each of them once", async () => {
    const config = { kind: "fixed window", rate: 64, period: 1000, start: 0 } as const;
    await insert(...rowsOf(1, [0, 0], [10, 10], { ...config, capacity: 64 }));
    const { rateLimit } = define({ hot: { ...config, shards: 2 } });
    vi.setSystemTime(NOW - 5);
    draw(0);
    expect(await rateLimit({ name: "hot" })).toMatchObject({ ok: false });
    expect(Math.random).toHaveBeenCalledTimes(2);
  });
});

describe("a window of 1024 a second on 256 rows, of which each holds three of its four tokens", () => {
  const { insert, define } = useBackend("tables");
  const config = { kind: "fixed window", rate: 1024, period: 1000, start: 0 } as const;

  it.each([1, 20, 21, 40, 51])("serves a count of %i", async (count) => {
    await insert(...rowsOf(8, Array<number>(256).fill(3), Array<number>(256).fill(-1), { ...config, capacity: 1024 }));
    const { rateLimit } = define({ hot: { ...config, shards: 256 } });
    vi.setSystemTime(NOW + 2);
    expect(await rateLimit({ name: "hot", count })).toMatchObject({ ok: true });
  });
});
