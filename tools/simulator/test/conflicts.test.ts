import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Database } from "../database.js";
import { Store } from "../store.js";
import { Transaction } from "../transaction.js";
import { forAnyAsync } from "../../../test/support/random.js";

function openStore() {
  const store = new Store();
  store.defineTable("/rows", { by_name_key_shard: ["name", "key", "shard"] });
  const begin = () => {
    const transaction = new Transaction(store, 1000);
    return { transaction, db: new Database(transaction, "", "mutation") };
  };
  /** Runs a transaction that begins and commits at once. */
  const write = async <Result>(body: (db: Database) => Promise<Result>): Promise<Result> => {
    const { transaction, db } = begin();
    const result = await body(db);
    expect(transaction.hasConflict()).toBe(false);
    transaction.commit();
    return result;
  };
  const insert = async (shard: number, key?: string) =>
    await write(async (db) => await db.insert("rows", { name: "hot", key, shard, value: 5 }));
  return { store, begin, write, insert };
}

function shardOf(db: Database, shard: number, key?: string) {
  return db.query("rows").withIndex("by_name_key_shard", (q) => q.eq("name", "hot").eq("key", key).eq("shard", shard));
}

/** The rows whose shard is within the bounds, or all rows. */
function allShards(db: Database, { from, to }: { from?: number | undefined; to?: number | undefined } = {}) {
  return db.query("rows").withIndex("by_name_key_shard", (q) => {
    const all = q.eq("name", "hot").eq("key", undefined);
    const above = from === undefined ? all : all.gte("shard", from);
    return to === undefined ? above : above.lte("shard", to);
  });
}

/** A read or a write. `id` is the id of the row of shard 2. */
type Act = (db: Database, id: string) => Promise<unknown>;

const one = (shard: number): Act => {
  return (db) => shardOf(db, shard).unique();
};
const between: Act = (db) =>
  db
    .query("rows")
    .withIndex("by_name_key_shard", (q) => q.eq("name", "hot").eq("key", undefined).gt("shard", 2).lt("shard", 4))
    .collect();
const insert = (shard?: number, key?: string): Act => {
  return (db) => db.insert("rows", { name: "hot", key, shard, value: 5 });
};
const patch = (fields: { value?: number; shard?: number }): Act => {
  return (db, id) => db.patch(id, fields);
};
const insertAndDelete: Act = async (db, id) => {
  await db.delete((await insert(7)(db, id)) as string);
};

/**
 * Named cases, in addition to the property below: what a transaction reads, what another one commits meanwhile, and whether the first
 * must then be retried.
 */
const cases: readonly [title: string, read: Act, meanwhile: Act, conflicts: boolean][] = [
  ["a document read by id changes", (db, id) => db.get(id), patch({ value: 1 }), true],
  ["a document that is named with its table changes", one(2), (db, id) => db.patch("rows", id, { value: 1 }), true],
  ["the same shard of another key is inserted", one(2), insert(2, "a"), false],
  ["a document enters a range and leaves it again", one(7), insertAndDelete, false],
  ["a row without the field enters the start of a range", (db) => allShards(db, { to: 1 }).first(), insert(), true],
  ["a row is written outside bounds that exclude it", between, patch({ value: 1 }), false],
  ["a row is patched with the values it has", one(2), patch({ value: 5 }), false],
  ["both patch the same document, since a patch reads", patch({ value: 2 }), patch({ value: 1 }), true],
  ["both insert, since an insert does not read", insert(3), insert(3), false],
];

describe("whether a transaction conflicts if, after its snapshot,", () => {
  it.each(cases)("%s", async (_title, read, meanwhile, conflicts) => {
    const { begin, write, insert } = openStore();
    const id = await insert(2);
    const first = begin();
    await read(first.db, id);
    await write((db) => meanwhile(db, id));
    expect(first.transaction.hasConflict()).toBe(conflicts);
  });

  it("a read of the stale snapshot conflicts with nothing and does not see its transaction's own writes", async () => {
    const { begin, write, insert } = openStore();
    const id = await insert(2);
    const { transaction, db } = begin();
    await db.patch(id, { value: 4 });
    const before = transaction.cost.rangesRead;
    const stale = new Database(transaction, "", "stale query");
    await write((other) => other.insert("rows", { name: "hot", shard: 9, value: 5 }));
    expect((await allShards(stale).collect()).map(({ value }) => value)).toEqual([5]);
    expect(transaction.cost.rangesRead).toBe(before + 1);
    expect(transaction.hasConflict()).toBe(false);
    await expect(stale.patch(id, { value: 3 })).rejects.toThrow("cannot write");
  });
});

it("an index sorts a missing field first, so a range with only an upper bound includes it", async () => {
  const { begin, write, insert } = openStore();
  await insert(2);
  await write((db) => db.insert("rows", { name: "hot", value: 7 }));
  const { db } = begin();
  expect((await allShards(db, { to: 5 }).collect()).map(({ value }) => value)).toEqual([7, 5]);
  expect(await allShards(db, { to: 1 }).order("desc").first()).toMatchObject({ value: 7 });
  expect((await allShards(db, { from: 0 }).collect()).map(({ value }) => value)).toEqual([5]);
});

it("an index moves a row if a patch changes its field, or removes the field with undefined", async () => {
  const { begin, write, insert } = openStore();
  const id = await insert(2);
  await write((db) => db.patch(id, { shard: 40 }));
  expect((await allShards(begin().db, { to: 39 }).collect()).length).toBe(0);
  await write((db) => db.patch(id, { shard: undefined }));
  const row = await allShards(begin().db, { to: 0 }).first();
  expect(Object.keys(row ?? {}).sort()).toEqual(["_creationTime", "_id", "name", "value"]);
});

it("an index conflicts exactly if a key is left, entered or rewritten in the part of the range that was read", async () => {
  const shard = fc.nat(9);
  const bound = fc.option(shard, { nil: undefined });
  const change = fc.record({ do: fc.constantFrom("insert", "patch", "delete", "move"), shard, to: shard });
  const orders = fc.constantFrom("asc", "desc");
  const read = fc.record({ from: bound, to: bound, order: orders, most: fc.constantFrom(1, 2, 99) });
  const someChanges = fc.array(change, { maxLength: 3 });
  await forAnyAsync([fc.uniqueArray(shard), read, someChanges], 500, async (rows, asked, changes) => {
    const { begin, write, insert } = openStore();
    const ids = new Map<number, string>();
    for (const row of rows) ids.set(row, await insert(row));
    const { transaction, db } = begin();
    const { from = 0, to = 9, order, most } = asked;
    const sign = order === "asc" ? 1 : -1;
    const within = (shard: number) => shard >= from && shard <= to;
    const expected = rows
      .filter(within)
      .sort((a, b) => sign * (a - b))
      .slice(0, most);
    const found = await allShards(db, asked).order(order).take(most);
    expect(found.map(({ shard }) => shard)).toEqual(expected);
    // The transaction has read up to the last row that it needed, or to the end.
    const last = expected[most - 1];
    const isRead = (shard: number) => within(shard) && (last === undefined || sign * (shard - last) <= 0);
    const touched: number[] = [];
    for (const { do: act, shard, to } of changes) {
      const id = ids.get(shard);
      if (id === undefined) {
        if (act !== "insert") continue;
        ids.set(shard, await insert(shard));
      } else if (act === "patch") await write((db) => db.patch(id, { value: 100 + touched.length }));
      else if (act === "delete" || (act === "move" && !ids.has(to))) {
        ids.delete(shard);
        await write((db) => (act === "delete" ? db.delete(id) : db.patch(id, { shard: to })));
        if (act === "move") {
          ids.set(to, id);
          touched.push(to);
        }
      } else continue;
      touched.push(shard);
    }
    expect(transaction.hasConflict()).toBe(touched.some(isRead));
  });
});

describe("a snapshot", () => {
  it("shows the documents as they were at its start, regardless of later commits", async () => {
    const { begin, write, insert } = openStore();
    const id = await insert(2);
    const readers = [];
    for (let value = 4; value >= 0; value--) {
      readers.push({ reader: begin(), value: value + 1 });
      await write((db) => db.patch(id, { value }));
    }
    await write((db) => db.delete(id));
    for (const { reader, value } of readers) {
      expect(await shardOf(reader.db, 2).unique()).toMatchObject({ value });
      expect(await reader.db.get("rows", id)).toMatchObject({ value });
      // The states of jobs belong to the snapshot as well.
      expect(await reader.db.system.get("rows", id)).toMatchObject({ value });
      reader.transaction.close();
    }
    expect(await begin().db.get(id)).toBeNull();
  });

  it("shows the transaction's own writes on top, in the index's order", async () => {
    const { begin, insert } = openStore();
    const id = await insert(2);
    await insert(4);
    const { db } = begin();
    await db.insert("rows", { name: "hot", shard: 3, value: 5 });
    await db.patch(id, { shard: 5 });
    expect((await allShards(db).collect()).map(({ shard }) => shard)).toEqual([3, 4, 5]);
    expect((await allShards(db).order("desc").collect()).map(({ shard }) => shard)).toEqual([5, 4, 3]);
    expect(await shardOf(db, 2).unique()).toBeNull();
    await db.insert("rows", { name: "hot", shard: 3, value: 5 });
    await expect(shardOf(db, 3).unique()).rejects.toThrow("more than one");
  });

  it("does not show a commit that is validated but not published, and conflicts with it", async () => {
    const { store, begin, insert } = openStore();
    const id = await insert(2);
    const writer = begin();
    await writer.db.patch(id, { value: 1 });
    const { ts } = writer.transaction.stage();
    const before = begin();
    expect(await before.db.get(id)).toMatchObject({ value: 5 });
    expect(before.transaction.hasConflict()).toBe(true);
    store.publish(ts);
    expect(await before.db.get(id)).toMatchObject({ value: 5 });
    const after = begin();
    expect(await after.db.get(id)).toMatchObject({ value: 1 });
    expect(after.transaction.hasConflict()).toBe(false);
  });

  it("follows the order of validation: a later commit cannot be published earlier", () => {
    const { store, begin } = openStore();
    begin().transaction.stage();
    const { ts } = begin().transaction.stage();
    expect(() => {
      store.publish(ts);
    }).toThrow("cannot be published");
  });

  it("keeps the keys of deleted rows only while a transaction reads them", async () => {
    const { store, begin, write, insert } = openStore();
    const reader = begin();
    for (const shard of [1, 2, 3]) {
      const id = await insert(shard);
      await write((db) => db.delete(id));
    }
    expect(store.table("/rows").index("by_name_key_shard").size).toBe(3);
    reader.transaction.close();
    await insert(4);
    expect(store.table("/rows").index("by_name_key_shard").size).toBe(1);
  });

  it("keeps the key of a row that leaves it, comes back and leaves again, while a transaction reads it", async () => {
    const { begin, write, insert } = openStore();
    const id = await insert(2);
    const moveTo = (shard: number) => write((db) => db.patch(id, { shard }));
    // Only an open snapshot keeps the record that the row has left its key.
    const before = begin();
    await moveTo(3);
    await moveTo(2);
    const back = begin();
    await moveTo(3);
    before.transaction.close();
    await insert(4);
    expect(await shardOf(back.db, 2).unique()).toMatchObject({ value: 5 });
  });

  it("a fork begins with the same documents and then changes independently", async () => {
    const { store, write, insert } = openStore();
    const id = await insert(2);
    const fork = store.fork();
    const alone = new Transaction(fork, 2000);
    const db = new Database(alone, "", "mutation");
    await db.insert("rows", { name: "hot", shard: 3, value: 5 });
    await db.patch(id, { value: 0 });
    alone.commit();
    expect([fork.count("rows"), store.count("rows")]).toEqual([2, 1]);
    expect(await write((db) => db.get(id))).toMatchObject({ value: 5 });
  });
});

it("a sub-transaction that throws discards its writes, but its reads still conflict", async () => {
  const { begin, write, insert } = openStore();
  const id = await insert(2);
  const { transaction, db } = begin();
  await db.insert("rows", { name: "kept", shard: 1, value: 5 });
  const attempt = transaction.nested(async () => {
    await shardOf(db, 2).unique();
    await db.patch(id, { value: 0 });
    throw new Error("stop");
  });
  await expect(attempt).rejects.toThrow("stop");
  expect([...transaction.writes.values()].map(({ document }) => document?.["name"])).toEqual(["kept"]);
  await write((db) => db.patch(id, { value: 1 }));
  expect(transaction.hasConflict()).toBe(true);
});
