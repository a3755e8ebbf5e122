import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { parseLimit } from "../../src/engine/limit.js";
import { list as listIn, parseList } from "../../src/operations/list.js";
import type { Reader } from "../../src/storage/rows.js";
import { partsOf } from "../support/parts.js";
import { type Backend, type StoredRow, defineIn, insertRows, openBackend, placeNames } from "../support/places.js";
import { NOW, useClock } from "../support/jobs.js";

useClock();

const send: RateLimitConfig = { kind: "token bucket", rate: 5, period: 1000 };

describe.each(placeNames)("in the %s", (place) => {
  const {
    rateLimit,
    checkRateLimit,
    listRateLimits: list,
    getRateLimit,
  } = defineIn(place, {
    send,
    spaced: { ...send, capacity: 0 },
    half: { ...send, capacity: 0.5 },
    window: { kind: "fixed window", rate: 5, period: 60_000 },
    hot: { kind: "token bucket", rate: 64, period: 60_000, shards: 8 },
  });
  type Args = Parameters<typeof list>[1];
  const page = (t: Backend, args: Args) => t.query(async (ctx) => await list(ctx, args));
  /** All keys, page by page, and the length of each page. */
  async function walk(t: Backend, args: Args) {
    const keys: (string | undefined)[] = [];
    const lengths: number[] = [];
    for (let cursor: string | undefined | null; cursor !== null;) {
      const answer = await page(t, cursor === undefined ? args : { ...args, cursor });
      keys.push(...answer.page.map(({ key }) => key));
      lengths.push(answer.page.length);
      cursor = answer.cursor;
    }
    return { keys, lengths };
  }
  const use = (t: Backend, name: string, counts: Record<string, number>) =>
    t.mutation(async (ctx) => {
      for (const [key, count] of Object.entries(counts)) await rateLimit(ctx, { name, key, count, reserve: true });
    });

  it("a limit that was never used has an empty page, and it is the last", async () => {
    const t = openBackend();
    expect(await page(t, { name: "send" })).toEqual({ page: [], cursor: null });
  });

  it("each key has its value and what a check would say now, the bucket without a key first", async () => {
    const t = openBackend();
    await use(t, "send", { b: 5, a: 2, c: 7 });
    await use(t, "window", { a: 5 });
    await t.mutation(async (ctx) => await rateLimit(ctx, { name: "send" }));
    vi.setSystemTime(NOW + 100);
    const { page: entries, cursor } = await page(t, { name: "send" });
    expect(cursor).toBeNull();
    const hasKey = t.query(async (ctx) => (await list(ctx, { name: "send" })).page.map((entry) => "key" in entry));
    expect(await hasKey).toEqual([false, true, true, true]);
    expect(entries.map(({ key, value }) => [key, value])).toEqual([
      [undefined, 4.5],
      ["a", 3.5],
      ["b", 0.5],
      ["c", -1.5],
    ]);
    for (const entry of entries) {
      const { key } = entry;
      expect(entry).toMatchObject(await t.query(async (ctx) => await checkRateLimit(ctx, { name: "send", key })));
    }
    expect(entries[3]).toMatchObject({ ok: false, retryAt: NOW + 600, remaining: 0, resetAt: NOW + 1400 });
  });

  it("pages end where they were asked to, and the next ones go on there", async () => {
    const t = openBackend();
    await t.mutation(async (ctx) => await rateLimit(ctx, { name: "send" }));
    await use(t, "send", { a: 1, b: 1, c: 1, d: 1 });
    for (const limit of [1, 2, 3]) {
      const { keys } = await walk(t, { name: "send", limit });
      expect(keys).toEqual([undefined, "a", "b", "c", "d"]);
    }
    const first = await page(t, { name: "send", limit: 1 });
    expect(first.page).toMatchObject([{ value: 4 }]);
    expect(first.cursor).not.toBeNull();
  });

  it("onlyLimited leaves out whom one more token would be given", async () => {
    const t = openBackend();
    await use(t, "send", { a: 1, b: 5, c: 4.5, d: 4, e: 9 });
    expect((await walk(t, { name: "send", onlyLimited: true })).keys).toEqual(["b", "c", "e"]);
    vi.setSystemTime(NOW + 100);
    expect((await walk(t, { name: "send", onlyLimited: true, limit: 1 })).keys).toEqual(["b", "e"]);
  });

  it("of a limit without capacity, those are limited who owe", async () => {
    const t = openBackend();
    await use(t, "spaced", { a: 1, b: 2 });
    vi.setSystemTime(NOW + 200);
    expect((await walk(t, { name: "spaced", onlyLimited: true })).keys).toEqual(["b"]);
  });

  it("of a limit that never holds a token, those are limited who have less than it holds", async () => {
    const t = openBackend();
    await use(t, "half", { a: 0.25, b: 0.5 });
    vi.setSystemTime(NOW + 50);
    const { page: entries } = await page(t, { name: "half" });
    expect(entries).toMatchObject([
      { key: "a", value: 0.5, ok: true },
      { key: "b", value: 0.25, ok: false, retryAt: NOW + 100 },
    ]);
  });

  it("the windows of each key are its own", async () => {
    const t = openBackend();
    await use(t, "window", { a: 5, b: 5 });
    const { page: entries } = await page(t, { name: "window" });
    const starts = entries.map(({ retryAt = 0 }) => retryAt);
    expect(starts[0]).not.toBe(starts[1]);
    for (const { key, retryAt } of entries) {
      const checked = await t.query(async (ctx) => await checkRateLimit(ctx, { name: "window", key }));
      expect(retryAt).toBe(checked.retryAt);
    }
  });

  it("a sharded bucket is one entry, with all its shards in its value", async () => {
    const t = openBackend();
    await use(t, "hot", { a: 50, b: 64 });
    await t.mutation(async (ctx) => {
      for (let i = 0; i < 9; i++) await rateLimit(ctx, { name: "hot", key: "a" });
    });
    const { page: entries } = await page(t, { name: "hot" });
    expect(entries).toMatchObject([
      { key: "a", value: 5, ok: true, remaining: 4 },
      { key: "b", value: 0, ok: false },
    ]);
    const { value } = await t.query(async (ctx) => await getRateLimit(ctx, { name: "hot", key: "a" }));
    expect(value).toBe(5);
  });

  it("thousands of rows are walked in pages of bounded work, and no key is cut in two or lost", async () => {
    const t = openBackend();
    const rows: StoredRow[] = [];
    // Eight shards of one token each, so that 512 rows end in the middle of a key, the first one being whole.
    const key = (i: number) => `user ${String(i).padStart(4, "0")}`;
    const split = { kind: "token bucket", rate: 64, period: 60_000, capacity: 64 } as const;
    for (let i = 0; i < 300; i++) {
      const value = i === 299 ? 0 : 1;
      if (i === 0) rows.push({ name: "hot", key: key(i), value: 8, ts: NOW });
      else {
        rows.push(...partsOf(3).map((shard) => ({ name: "hot", key: key(i), shard, value, ts: NOW, config: split })));
      }
    }
    await insertRows(place, t, rows);
    const all = await walk(t, { name: "hot", limit: 1000 });
    expect(all.keys).toEqual(Array.from({ length: 300 }, (_, i) => key(i)));
    expect(all.lengths).toHaveLength(2);
    // 2,048 rows at most are looked at for a page, so that a page may be empty before the last.
    const limited = await walk(t, { name: "hot", onlyLimited: true });
    expect(limited).toEqual({ keys: [key(299)], lengths: [0, 1] });
    const { page: entries } = await page(t, { name: "hot", limit: 100 });
    expect(new Set(entries.slice(1).map(({ value }) => value))).toEqual(new Set([8]));
  });

  it.each([0, 1001, 1.5])("a page of %d entries is refused", async (limit) => {
    await expect(page(openBackend(), { name: "send", limit })).rejects.toThrow(
      `Rate limit "send": limit must be a whole number at least 1 and at most 1000, got ${limit}.`,
    );
  });

  it("a cursor that is none, or is of another limit, is refused", async () => {
    const t = openBackend();
    await use(t, "send", { a: 1, b: 1 });
    const { cursor } = await page(t, { name: "send", limit: 1 });
    const bad = ["", "a", "5", "null", "{}", "[]", "[5]", '["send",5]', '["send","a","b"]', "__proto__", '["sen'];
    for (const text of bad) {
      const problem = `Rate limit "send": cursor must be one that the page before returned, got ${JSON.stringify(text)}.`;
      await expect(page(t, { name: "send", cursor: text }), text).rejects.toThrow(problem);
    }
    await expect(page(t, { name: "window", cursor: cursor ?? "" })).rejects.toThrow(
      'Rate limit "window": cursor must be',
    );
  });

  it("a bucket whose rows make no sense is an entry that says so, between its neighbours", async () => {
    const t = openBackend();
    await use(t, "send", { a: 1, c: 1 });
    const bad = (key: string, fields: Partial<StoredRow>) => ({ name: "send", key, value: 1, ts: NOW, ...fields });
    const twice = bad("b2", {});
    // More rows than a bucket can have do not stop the walk.
    const many = Array.from({ length: 600 }, () => bad("b3", { shard: "none" }));
    await insertRows(place, t, [bad("b1", { value: NaN }), twice, twice, ...many]);
    const { page: entries, cursor } = await page(t, { name: "send" });
    const problems = [
      [undefined, "a"],
      ["the stored state is unusable (value NaN", "b1"],
      // Two rows of one bucket, each whole, count as one.
      [undefined, "b2"],
      ["the stored shards overlap or leave a gap", "b3"],
      [undefined, "c"],
    ] as const;
    expect(entries.map(({ key }) => key)).toEqual(problems.map(([, key]) => key));
    for (const [i, [problem]] of problems.entries()) {
      if (problem === undefined) expect(entries[i]?.error).toBeUndefined();
      else expect(entries[i]).toMatchObject({ ok: false, error: expect.stringContaining(problem) as string });
    }
    expect(cursor).toBeNull();
    const limited = await page(t, { name: "send", onlyLimited: true });
    expect(limited.page.map(({ key }) => key)).toEqual(["b1", "b2", "b3"]);
  });

  it("a limit that is not defined cannot be listed: its config is nobody's", async () => {
    const t = openBackend();
    const free = defineIn(place, {});
    const listed = t.query(async (ctx) => await free.listRateLimits(ctx, { name: "send" }));
    await expect(listed).rejects.toThrow('Rate limit "send": is not defined, so its keys cannot be listed.');
  });
});

/** A database of rows of one limit, in order, whose keys no app could use today. */
function readerOf(keys: readonly string[]): Reader {
  const query = {
    withIndex: (_index: string, range: (q: object) => object) => {
      let from = "";
      const q = { eq: () => q, gt: (_field: string, key: string) => ((from = key), q) };
      range(q);
      return keys.filter((key) => key > from).map((key) => ({ name: "send", key, value: 0, ts: 0 }));
    },
  };
  return { db: { query: () => query } } as unknown as Reader;
}

it("a page reads no further once it has read 4 MiB", async () => {
  const keys = ["a", "b", "c"].map((first) => first + "k".repeat(2 ** 21));
  const limit = parseLimit("send", send);
  const first = await listIn(readerOf(keys), parseList({ limit }, {}));
  expect(first.page.map(({ key }) => key)).toEqual(keys.slice(0, 1));
  expect(first.cursor).toBe(JSON.stringify(["send", keys[0]]));
  const small = await listIn(readerOf(["a", "b", "c"]), parseList({ limit }, {}));
  expect(small).toMatchObject({ page: [{ key: "a" }, { key: "b" }, { key: "c" }], cursor: null });
});
