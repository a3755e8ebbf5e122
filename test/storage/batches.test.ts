/** A walk over the buckets of a limit: the size of a batch, and cursors. test/operations/list.test.ts tests the buckets that it finds. */
import { describe, expect, it } from "vitest";
import { BATCH_ROWS, readCursor, sizeOf, walk } from "../../src/storage/batches.js";
import type { Cursor, Reader, Row } from "../../src/storage/rows.js";

/** A database with the rows of one limit, in order. No app could insert such rows today. */
function readerOf(rows: readonly Partial<Row>[]): Reader {
  const query = { withIndex: () => rows };
  return { db: { query: () => query } } as unknown as Reader;
}

async function walked(...args: Parameters<typeof walk>) {
  const buckets = [];
  for await (const bucket of walk(...args)) buckets.push(bucket);
  return buckets;
}

describe("the size of a batch", () => {
  const short = { name: "send", key: "ab", value: 0, ts: 0 };

  it("counts names, keys and logs", () => {
    const sizes = (...rows: Partial<Row>[]) => rows.reduce((sum, row) => sum + sizeOf(row as Row), 0);
    expect(sizes(short)).toBe(300 + 3 * 6);
    expect(sizes({ name: "send", value: 0, ts: 0 })).toBe(300 + 3 * 4);
    expect(sizes({ ...short, recent: Array(64).fill({ at: 0, count: 1 }) })).toBe(300 + 3 * 6 + 64 * 40);
    expect(sizes({ ...short, override: { block: true, note: "abc" } })).toBe(300 + 3 * 9);
    expect(sizes(short, { ...short, key: "abc" })).toBe(300 + 3 * 6 + 300 + 3 * 7);
  });

  it.each([
    ["a batch", undefined, BATCH_ROWS],
    ["a batch of four times the rows", 4 * BATCH_ROWS, 4 * BATCH_ROWS],
  ])(
    "is bounded: %s ends at the first bucket after its rows, and the next batch continues there",
    async (_what, most, rows) => {
      const keys = Array.from({ length: rows + 2 }, (_, i) => `key ${i}`);
      const all = readerOf(keys.map((key) => ({ ...short, key })));
      const buckets = await walked(all, ["send"], most);
      expect(buckets.map(({ key }) => key)).toEqual(keys.slice(0, rows));
      expect(buckets.at(-1)?.next).toEqual(["send", keys[rows - 1]]);
    },
  );

  it.each([0, 3])("is bounded: a batch ends after 4 MiB, not %i bytes before", async (less) => {
    // 300 + 40 + 3 * (4 + 1,397,984) bytes are 4 MiB.
    const large = { ...short, key: "a".repeat(1_397_984 - less / 3), recent: [{ at: 0, count: 1 }] };
    expect(sizeOf(large as Row)).toBe(4 * 2 ** 20 - less);
    const buckets = await walked(readerOf([large, { ...short, key: "b" }]), ["send"]);
    expect(buckets).toHaveLength(less ? 2 : 1);
  });
});

describe("a cursor", () => {
  it.each<Cursor>([["send"], ["send", null], ["send", "alice"], ['a "quoted" name', "null"]])(
    "%j is written as text and read back",
    (...cursor) => {
      const text = JSON.stringify(cursor);
      expect(readCursor(text)).toEqual(cursor);
      expect(readCursor(text, cursor[0] ?? "")).toEqual(cursor);
    },
  );

  const others = ["", "send", "{}", "[]", "null", "[5]", '["send",5]', '["send","a","b"]', '["send",{}]', '["send"'];
  it.each([...others, "[null]", "__proto__"])("%s is refused, since no page returned it", (text) => {
    const problem = `cursor must be one that the page before returned, got ${JSON.stringify(text)}.`;
    expect(() => readCursor(text, "send")).toThrow(`Rate limit "send": ${problem}`);
    expect(() => readCursor(text)).toThrow(`sweepRateLimits: ${problem}`);
  });
});
