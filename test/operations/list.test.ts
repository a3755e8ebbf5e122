import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { list as listIn, parseList } from "../../src/operations/list.js";
import { fold } from "../../src/engine/sharding/shard.js";
import type { Reader } from "../../src/storage/rows.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { placeNames, type StoredRow } from "../support/places.js";
import { NOW, useClock } from "../support/clock.js";

useClock();

const send: RateLimitConfig = { kind: "token bucket", rate: 5, period: 1000 };

describe.each(placeNames)("in the %s", (place) => {
  const { define, insert } = useBackend(place);
  const { rateLimit, checkRateLimit, listRateLimits, getRateLimit } = define({
    send,
    spaced: { ...send, capacity: 0 },
    half: { ...send, capacity: 0.5 },
    window: { kind: "fixed window", rate: 5, period: 60_000 },
    hot: { kind: "token bucket", rate: 64, period: 60_000, shards: 8 },
  });
  /** All keys of a paged list, and the length of each page. */
  async function walk(args: object) {
    const keys: (string | undefined)[] = [];
    const lengths: number[] = [];
    for (let cursor: string | undefined | null; cursor !== null;) {
      const answer = await listRateLimits(cursor === undefined ? args : { ...args, cursor });
      keys.push(...answer.page.map(({ key }) => key));
      lengths.push(answer.page.length);
      cursor = answer.cursor;
      expect(lengths.length).toBeLessThan(1000);
    }
    return { keys, lengths };
  }
  const use = async (name: string, counts: Record<string, number>) => {
    for (const [key, count] of Object.entries(counts)) await rateLimit({ name, key, count, reserve: true });
  };

  it("a limit that was never used has one empty page", async () => {
    expect(await listRateLimits({ name: "send" })).toEqual({ page: [], cursor: null });
  });

  it("each key has its value and the answer of a check now, with the bucket without a key first", async () => {
    await use("send", { b: 5, a: 2, c: 7 });
    await use("window", { a: 5 });
    await rateLimit({ name: "send" });
    vi.setSystemTime(NOW + 100);
    const { page, cursor } = await listRateLimits({ name: "send" });
    expect(cursor).toBeNull();
    expect(page.map((entry) => "key" in entry)).toEqual([false, true, true, true]);
    expect(page.map(({ key }) => key)).toEqual([undefined, "a", "b", "c"]);
    expect(page.map(({ value }) => value)).toEqual([4.5, 3.5, 0.5, -1.5]);
    for (const entry of page) expect(entry).toMatchObject(await checkRateLimit({ name: "send", key: entry.key }));
    expect(page[3]).toMatchObject({ ok: false, retryAt: NOW + 600, remaining: 0, resetAt: NOW + 1400 });
    // Each key has its own windows.
    await use("window", { b: 5 });
    const { page: windows } = await listRateLimits({ name: "window" });
    expect(new Set(windows.map(({ retryAt }) => retryAt)).size).toBe(2);
    for (const entry of windows) expect(entry).toMatchObject(await checkRateLimit({ name: "window", key: entry.key }));
  });

  it("a page ends at the requested length, and the next page continues there", async () => {
    await rateLimit({ name: "send" });
    await use("send", { a: 1, b: 1, c: 1, d: 1 });
    for (const limit of [1, 2, 3]) {
      expect((await walk({ name: "send", limit })).keys).toEqual([undefined, "a", "b", "c", "d"]);
    }
    expect((await walk({ name: "send", limit: 5 })).lengths).toEqual([5]);
    await insert(...Array.from({ length: 96 }, (_, i) => ({ name: "send", key: `e${i}`, value: 1, ts: NOW })));
    expect((await walk({ name: "send" })).lengths).toEqual([100, 1]);
    const first = await listRateLimits({ name: "send", limit: 1 });
    expect(first).toMatchObject({ page: [{ value: 4 }], cursor: expect.any(String) as string });
  });

  it.each([
    ["that would be denied one more token", "send", { a: 1, b: 5, c: 4.5, d: 4, e: 9 }, 0, ["b", "c", "e"]],
    ["that would be denied one more token", "send", { a: 1, b: 5, c: 4.5, d: 4, e: 9 }, 100, ["b", "e"]],
    ["that owe, of a limit with capacity 0", "spaced", { a: 1, b: 2 }, 200, ["b"]],
    ["that are not full, of a limit of less than a token", "half", { a: 0.25, b: 0.5 }, 50, ["b"]],
  ])("onlyLimited lists only the keys %s", async (_what, name, counts, laterMs, keys) => {
    await use(name, counts);
    vi.setSystemTime(NOW + laterMs);
    for (const limit of [1, 100]) expect((await walk({ name, onlyLimited: true, limit })).keys).toEqual(keys);
  });

  it("each bucket of a key, by kind and period, is an entry, unless a deploy has taken its plan away", async () => {
    const plans = { free: { rate: 5 }, pro: { kind: "fixed window", rate: 50, start: NOW } } as const;
    const shape = { kind: "token bucket", period: 1000 } as const;
    const both = define({ send: { ...shape, plans: { ...plans, old: { kind: "sliding window", rate: 9 } } } });
    for (const [plan, count] of Object.entries({ free: 2, pro: 20, old: 3 })) {
      expect(await both.rateLimit({ name: "send", key: "a", plan, count })).toMatchObject({ ok: true });
    }
    await both.pauseRateLimit({ name: "send", key: "b", until: NOW + 9 });
    const free = { key: "a", plan: "free", value: 3, ok: true, remaining: 2 };
    const pro = { key: "a", plan: "pro", value: 30, ok: true, remaining: 29 };
    const paused = { key: "b", value: 0, ok: false, retryAt: NOW + 209, pausedUntil: NOW + 9 };
    expect((await both.listRateLimits({ name: "send" })).page).toMatchObject([
      free,
      pro,
      { plan: "old", value: 6 },
      paused,
    ]);
    const after = define({ send: { ...shape, plans } });
    expect((await after.listRateLimits({ name: "send" })).page).toMatchObject([free, pro, paused]);
    await after.overrideRateLimit({
      name: "send",
      key: "a",
      config: { kind: "sliding window", period: 1000, rate: 4 },
    });
    expect((await after.listRateLimits({ name: "send", onlyOverridden: true })).page).toMatchObject([
      { plan: "free", value: 1 },
      { plan: "pro", value: 1 },
      { value: 1 },
    ]);
  });

  it("a bucket of a renamed plan is that of the plan that shares it, in lists, snapshots and refunds", async () => {
    const id = { name: "send", key: "a" };
    const bucket = { kind: "token bucket", period: 1000, rate: 5 } as const;
    const trial = { kind: "sliding window", period: 1000, rate: 3 } as const;
    const before = define({ send: { plans: { trial, free: bucket } } });
    await before.rateLimit({ ...id, plan: "free", count: 4, refundable: true });
    const after = define({ send: { plans: { trial, basic: bucket } } });
    const basic = { plan: "basic", value: 1 };
    expect((await after.listRateLimits({ name: "send" })).page).toMatchObject([{ key: "a", ...basic, remaining: 0 }]);
    expect(await after.getRateLimit(id)).toMatchObject(basic);
    expect(await after.adjustRateLimit({ ...id, count: -2, takenAt: NOW })).toMatchObject({ remaining: 3 });
    const without = define({ send: { plans: { trial } } });
    expect((await without.listRateLimits({ name: "send" })).page).toEqual([]);
    expect(await without.getRateLimit(id)).toMatchObject({ value: 3 });
  });

  it("a key with a control row is an entry, also if a deploy has taken the kinds of all its rows away", async () => {
    const old = define({ send: { kind: "sliding window", period: 1000, rate: 9 } });
    for (const key of ["a", "b", "c"]) await old.rateLimit({ name: "send", key });
    await old.overrideRateLimit({ name: "send", key: "b", block: true });
    await old.pauseRateLimit({ name: "send", key: "c", until: NOW + 9 });
    const blocked = { key: "b", ok: false, reason: "blocked", override: { block: true } };
    const paused = { key: "c", ok: false, pausedUntil: NOW + 9 };
    const { page } = await listRateLimits({ name: "send" });
    expect(page).toMatchObject([blocked, paused]);
    for (const entry of page) expect(entry).toMatchObject(await checkRateLimit({ name: "send", key: entry.key }));
    expect((await listRateLimits({ name: "send", onlyOverridden: true })).page).toMatchObject([blocked]);
  });

  it("a bucket that became one row owes what its rows promised, as in a check", async () => {
    const hot = { kind: "token bucket", rate: 64, period: 64_000, maxReserved: 64 } as const;
    const split = define({ hot: { ...hot, shards: { atLeast: 2, atMost: 2 } } });
    const whole = define({ hot });
    await split.rateLimit({ name: "hot", count: 64 });
    vi.setSystemTime(NOW + 1);
    await split.rateLimit({ name: "hot", count: 32, reserve: true });
    // It pays for the half of one row and fills it.
    await split.adjustRateLimit({ name: "hot", count: -48 });
    expect((await split.listRateLimits({ name: "hot" })).page).toMatchObject([{ value: 16.001, ok: true }]);
    const denied = await whole.checkRateLimit({ name: "hot" });
    const { value } = await whole.getRateLimit({ name: "hot" });
    const listed = { page: [{ ...denied, value }], cursor: null };
    expect(denied.ok).toBe(false);
    expect(await whole.listRateLimits({ name: "hot", onlyLimited: true })).toEqual(listed);
  });

  it("a sharded bucket is one entry, whose value is the sum of its shards", async () => {
    await use("hot", { a: 50, b: 64 });
    for (let i = 0; i < 9; i++) await rateLimit({ name: "hot", key: "a" });
    expect((await listRateLimits({ name: "hot" })).page).toMatchObject([
      { key: "a", value: 5, ok: true, remaining: 4 },
      { key: "b", value: 0, ok: false },
    ]);
    expect((await getRateLimit({ name: "hot", key: "a" })).value).toBe(5);
  });

  it("thousands of rows are listed in pages of bounded work, and no key is split or lost", async () => {
    const rows: StoredRow[] = [];
    // Each key has eight shards of one token, except the first, which is whole. So 512 rows end in the middle of a key.
    const key = (i: number) => `user ${String(i).padStart(4, "0")}`;
    for (let i = 1; i < 300; i++) {
      const value = i === 299 ? 0 : 1;
      rows.push(...partsOf(3).map((shard) => ({ name: "hot", key: key(i), shard, value, ts: NOW })));
    }
    await insert({ name: "hot", key: key(0), value: 8, ts: NOW }, ...rows);
    const all = await walk({ name: "hot", limit: 1000 });
    expect(all.keys).toEqual(Array.from({ length: 300 }, (_, i) => key(i)));
    expect(all.lengths).toHaveLength(2);
    // A page reads at most 2,048 rows, so a page before the last may be empty.
    const limited = await walk({ name: "hot", onlyLimited: true });
    expect(limited).toEqual({ keys: [key(299)], lengths: [0, 1] });
    const { page: entries } = await listRateLimits({ name: "hot", limit: 100 });
    expect(new Set(entries.slice(1).map(({ value }) => value))).toEqual(new Set([8]));
  });

  it("a bucket with damaged rows is an entry with an error, between its neighbours", async () => {
    await use("send", { a: 1, c: 1 });
    const bad = (key: string, fields: Partial<StoredRow>) => ({ name: "send", key, value: 1, ts: NOW, ...fields });
    const twice = bad("b2", {});
    // More rows than a bucket can have do not stop the walk.
    const many = Array.from({ length: 600 }, () => bad("b3", { shard: "none" }));
    await insert(bad("b1", { value: NaN }), twice, twice, ...many);
    const error = (text: string) => ({ ok: false, error: expect.stringContaining(text) as string });
    expect(await listRateLimits({ name: "send" })).toMatchObject({
      page: [
        { key: "a", ok: true },
        { key: "b1", ...error("the stored state is unusable (value NaN") },
        // Two whole rows of one bucket count as one.
        { key: "b2", ok: false, retryAt: NOW + 800 },
        { key: "b3", ...error('the stored shard "none" is unusable') },
        { key: "c", ok: true },
      ],
      cursor: null,
    });
    const limited = await listRateLimits({ name: "send", onlyLimited: true });
    expect(limited.page.map(({ key }) => key)).toEqual(["b1", "b2", "b3"]);
  });
});

/** A database with the rows of one limit, in order. No app could use such keys today. */
function readerOf(keys: readonly string[], more: (i: number) => object = () => ({})): Reader {
  const query = {
    withIndex: (_index: string, range: (q: object) => object) => {
      let from = "";
      const q = { eq: () => q, gt: (_field: string, key: string) => ((from = key), q) };
      range(q);
      return keys.filter((key) => key > from).map((key, i) => ({ name: "send", key, value: 0, ts: 0, ...more(i) }));
    },
  };
  return { db: { query: () => query } } as unknown as Reader;
}

it("a page ends once it has read 4 MiB", async () => {
  const keys = ["a", "b", "c"].map((first) => first + "k".repeat(2 ** 21));
  const first = await listIn(readerOf(keys), parseList({ name: "send", config: send }, {}));
  expect(first.page.map(({ key }) => key)).toEqual(keys.slice(0, 1));
  expect(first.cursor).toBe(JSON.stringify(["send", keys[0]]));
  const small = await listIn(readerOf(["a", "b", "c"]), parseList({ name: "send", config: send }, {}));
  expect(small).toMatchObject({ page: [{ key: "a" }, { key: "b" }, { key: "c" }], cursor: null });
});

it("a page ends once it has read 2,048 rows", async () => {
  const keys = Array.from({ length: 2050 }, (_, i) => String(1000 + i));
  const { page, cursor } = await listIn(
    readerOf(keys),
    parseList({ name: "send", config: send }, { onlyOverridden: true }),
  );
  expect(page).toEqual([]);
  expect(cursor).toBe(JSON.stringify(["send", keys[2047]]));
});

it("the rows of a bucket are joined once: of 2,048 sliding windows that takes most of a second that a query has", async () => {
  const reader = readerOf(["a", "a"], (i) => ({ shard: String(i) }));
  const join = vi.fn(fold);
  const { page } = await listIn(reader, { ...parseList({ name: "send", config: { ...send, shards: 2 } }, {}), join });
  expect(page).toMatchObject([{ key: "a", value: 5 }]);
  expect(join).toHaveBeenCalledTimes(1);
});
