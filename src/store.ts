/** Rows: the only file that touches ctx.db. */
import type {
  DocumentByName,
  IndexRange,
  IndexRangeBuilder,
  NamedIndex,
  NamedTableInfo,
  Query,
  WithoutSystemFields,
} from "convex/server";
import type { Stored } from "./engine/stored.js";
import type { RateLimitsDataModel } from "./tables.js";

type Table = NamedTableInfo<RateLimitsDataModel, "rateLimits">;
type Index = NamedIndex<Table, "by_name_key_shard">;
export type Row = DocumentByName<RateLimitsDataModel, "rateLimits">;

/**
 * What is asked of a `ctx.db`, and no more: the one table, through its own index. So the database of any app whose schema has
 * the table fits, whatever else is in it, and that of an app without the table, or without the index, does not compile.
 */
export interface Reader {
  db: {
    query(table: "rateLimits"): {
      withIndex(index: "by_name_key_shard", range: (q: IndexRangeBuilder<Row, Index>) => IndexRange): Query<Table>;
    };
  };
}

export interface Writer {
  db: Reader["db"] & {
    insert(table: "rateLimits", row: WithoutSystemFields<Row>): Promise<Row["_id"]>;
    patch(table: "rateLimits", id: Row["_id"], fields: Stored): Promise<void>;
    delete(table: "rateLimits", id: Row["_id"]): Promise<void>;
  };
}

/** The shard that is the whole bucket. */
export const WHOLE = 1;

export async function readRow(
  { db }: Reader,
  name: string,
  key: string | undefined,
  shard: number,
): Promise<Row | null> {
  return await db
    .query("rateLimits")
    .withIndex("by_name_key_shard", (q) => q.eq("name", name).eq("key", key).eq("shard", shard))
    .unique();
}

/** Writes a bucket over the row it was read from, or as a new row where there was none. */
export async function writeRow(
  { db }: Writer,
  { row, name, key, shard }: { row: Row | null; name: string; key: string | undefined; shard: number },
  { value, ts }: Stored,
): Promise<void> {
  if (row) {
    await db.patch("rateLimits", row._id, { value, ts });
  } else {
    await db.insert("rateLimits", { name, ...(key === undefined ? {} : { key }), shard, value, ts });
  }
}

/** Deletes every row of a bucket, whatever its shards. */
export async function deleteRows({ db }: Writer, name: string, key: string | undefined): Promise<void> {
  const rows = await db
    .query("rateLimits")
    .withIndex("by_name_key_shard", (q) => q.eq("name", name).eq("key", key))
    .collect();
  for (const row of rows) await db.delete("rateLimits", row._id);
}
