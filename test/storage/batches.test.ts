/** A walk over the buckets of a limit: the size of a batch, and cursors. test/operations/list.test.ts tests the buckets that it finds. */
import { describe, expect, it } from "vitest";
import { BATCH_ROWS, mayGoOn, readBatch, readCursor, writeCursor } from "../../src/storage/batches.js";
import type { Cursor, Reader, Row } from "../../src/storage/rows.js";

/** A database with the rows of one limit, in order. No app could insert such rows today. */
function readerOf(rows: readonly Partial<Row>[]): Reader {
  const query = { withIndex: () => rows };
  return { db: { query: () => query } } as unknown as Reader;
}

describe("the size of a batch", () => {
  const short = { name: "send", key: "ab", value: 0, ts: 0 };

  it("counts names, keys and logs", async () => {
    const sizeOf = async (...rows: Partial<Row>[]) => (await readBatch(readerOf(rows), { name: "send" })).bytes;
    expect(await sizeOf(short)).toBe(300 + 3 * 6);
    expect(await sizeOf({ name: "send", value: 0, ts: 0 })).toBe(300 + 3 * 4);
    expect(await sizeOf({ ...short, recent: Array(64).fill({ at: 0, count: 1 }) })).toBe(300 + 3 * 6 + 64 * 40);
    expect(await sizeOf({ ...short, override: { block: true, note: "abc" } })).toBe(300 + 3 * 9);
    expect(await sizeOf(short, { ...short, key: "abc" })).toBe(300 + 3 * 6 + 300 + 3 * 7);
  });

  it("is bounded: a batch ends at the first bucket after 512 rows, and the next batch continues there", async () => {
    const keys = Array.from({ length: BATCH_ROWS + 2 }, (_, i) => `key ${i}`);
    const { buckets, next } = await readBatch(readerOf(keys.map((key) => ({ ...short, key }))), { name: "send" });
    expect(buckets.map(({ key }) => key)).toEqual(keys.slice(0, BATCH_ROWS));
    expect(next).toEqual({ name: "send", after: { key: keys[BATCH_ROWS - 1] } });
  });

  it("is bounded: a batch ends after 4 MiB", async () => {
    // 300 + 40 + 3 * (4 + 1,397,984) bytes are 4 MiB.
    const large = { ...short, key: "a".repeat(1_397_984), recent: [{ at: 0, count: 1 }] };
    const { buckets, bytes } = await readBatch(readerOf([large, { ...short, key: "b" }]), { name: "send" });
    expect(bytes).toBe(4 * 2 ** 20);
    expect(buckets).toHaveLength(1);
  });

  it("lets a walk continue for up to four batches and up to 4 MiB", () => {
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
  ])("%j is written as text and read back", (cursor) => {
    expect(readCursor("send", writeCursor(cursor))).toEqual(cursor);
  });

  const others = ["", "send", "{}", "[]", "null", "[5]", '["send",5]', '["send","a","b"]', '["send",{}]', '["send"'];
  it.each([...others, "[null]", "__proto__"])("%s is refused, since no page returned it", (text) => {
    expect(() => readCursor("send", text)).toThrow(
      `Rate limit "send": cursor must be one that the page before returned, got ${JSON.stringify(text)}.`,
    );
  });
});
