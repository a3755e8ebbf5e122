/** A walk over the buckets of a limit: batches of bounded size, never half a bucket, and cursors. */
import { describe, expect, it } from "vitest";
import { BATCH_ROWS, type Cursor, mayGoOn, readBatch, readCursor, writeCursor } from "../../src/storage/batches.js";
import type { Reader, Row } from "../../src/storage/rows.js";
import { type Backend, insertRows, openBackend, type StoredRow } from "../support/places.js";

const rowOf = (key: string | undefined, more: Partial<StoredRow> = {}): StoredRow => ({
  name: "send",
  value: 0,
  ts: 0,
  ...(key !== undefined && { key }),
  ...more,
});
async function backendWith(rows: readonly StoredRow[]): Promise<Backend> {
  const t = openBackend();
  await insertRows("tables", t, rows);
  return t;
}
const batchOf = (t: Backend, cursor: Cursor) => t.query((ctx) => readBatch(ctx, cursor));

/** All buckets, batch by batch: the numbers of their rows. */
async function walk(t: Backend): Promise<{ key: string | undefined; rows: number }[][]> {
  const batches = [];
  let cursor: Cursor | null = { name: "send" };
  while (cursor) {
    const batch: Awaited<ReturnType<typeof readBatch>> = await batchOf(t, cursor);
    batches.push(batch.buckets.map(({ key, rows }) => ({ key, rows: rows.length })));
    cursor = batch.next;
  }
  return batches;
}

describe("a batch", () => {
  it("has the buckets of one limit in the order of their keys, the one without a key first, each with all its rows", async () => {
    const t = await backendWith([
      rowOf("b", { shard: "1" }),
      rowOf("a"),
      rowOf(undefined),
      rowOf("b", { shard: "0" }),
      rowOf("a", { name: "other" }),
      rowOf("ab"),
    ]);
    expect(await walk(t)).toEqual([
      [
        { key: undefined, rows: 1 },
        { key: "a", rows: 1 },
        { key: "ab", rows: 1 },
        { key: "b", rows: 2 },
      ],
    ]);
    const { buckets } = await batchOf(t, { name: "send" });
    expect(buckets.at(-1)?.rows.map(({ shard }) => shard)).toEqual(["0", "1"]);
    expect(await batchOf(t, { name: "none" })).toEqual({ buckets: [], bytes: 0, next: null });
  });

  it("begins after its cursor", async () => {
    const t = await backendWith([rowOf(undefined), rowOf("a"), rowOf("b")]);
    const afters = [undefined, { key: undefined }, { key: "a" }, { key: "aa" }, { key: "b" }];
    const batches = await Promise.all(afters.map((after) => batchOf(t, { name: "send", after })));
    const keys = batches.map(({ buckets }) => buckets.map(({ key }) => key));
    expect(keys).toEqual([[undefined, "a", "b"], ["a", "b"], ["b"], ["b"], []]);
  });

  it("ends at the first bucket after 512 rows, and the next batch goes on there", async () => {
    const keys = Array.from({ length: BATCH_ROWS + 2 }, (_, i) => `key ${String(i).padStart(4, "0")}`);
    const t = await backendWith(keys.map((key) => rowOf(key)));
    const batches = await walk(t);
    expect(batches.map((batch) => batch.length)).toEqual([BATCH_ROWS, 2]);
    expect(batches.flat().map(({ key }) => key)).toEqual(keys);
    const { next } = await batchOf(t, { name: "send" });
    expect(next).toEqual({ name: "send", after: { key: keys[BATCH_ROWS - 1] } });
  });
});

/** A database of one limit's rows, in order, for rows that no app could insert today. */
function readerOf(rows: readonly Partial<Row>[]): Reader {
  const query = { withIndex: () => rows };
  return { db: { query: () => query } } as unknown as Reader;
}

describe("the size of a batch", () => {
  const short = { name: "send", key: "ab", value: 0, ts: 0 };

  it("counts names, keys and what a row remembers", async () => {
    const sizeOf = async (...rows: Partial<Row>[]) => (await readBatch(readerOf(rows), { name: "send" })).bytes;
    expect(await sizeOf(short)).toBe(300 + 3 * 6);
    expect(await sizeOf({ name: "send", value: 0, ts: 0 })).toBe(300 + 3 * 4);
    expect(await sizeOf({ ...short, recent: Array(64).fill({ at: 0, count: 1 }) })).toBe(300 + 3 * 6 + 64 * 40);
    expect(await sizeOf({ ...short, override: { block: true, note: "abc" } })).toBe(300 + 3 * 9);
    expect(await sizeOf(short, { ...short, key: "abc" })).toBe(300 + 3 * 6 + 300 + 3 * 7);
  });

  it("is bounded: 4 MiB end a batch", async () => {
    // 300 + 40 + 3 * (4 + 1,397,984) bytes are 4 MiB.
    const large = { ...short, key: "a".repeat(1_397_984), recent: [{ at: 0, count: 1 }] };
    const { buckets, bytes } = await readBatch(readerOf([large, { ...short, key: "b" }]), { name: "send" });
    expect(bytes).toBe(4 * 2 ** 20);
    expect(buckets).toHaveLength(1);
  });

  it("lets a walk go on for four batches, or 4 MiB", () => {
    expect([0, 3, 4].map((batches) => mayGoOn(batches, 0))).toEqual([true, true, false]);
    expect([4 * 2 ** 20 - 1, 4 * 2 ** 20].map((bytes) => mayGoOn(1, bytes))).toEqual([true, false]);
  });
});

describe("a cursor", () => {
  it.each<Cursor>([
    { name: "send" },
    { name: "send", after: { key: undefined } },
    { name: "send", after: { key: "alice" } },
    { name: 'a "quoted" name', after: { key: "null" } },
  ])("%j is text, and comes back", (cursor) => {
    expect(readCursor("send", writeCursor(cursor))).toEqual(cursor);
  });

  const others = ["", "send", "{}", "[]", "null", "[5]", '["send",5]', '["send","a","b"]', '["send",{}]', '["send"'];
  it.each([...others, "[null]", "__proto__"])("%s is none that a page has returned", (text) => {
    expect(() => readCursor("send", text)).toThrow(
      `Rate limit "send": cursor must be one that the page before returned, got ${JSON.stringify(text)}.`,
    );
  });
});
