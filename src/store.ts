/** Rows: the only file that touches ctx.db. */
import type { DocumentByName, NamedTableInfo, QueryInitializer, WithoutSystemFields } from "convex/server";
import type { Stored } from "./engine/stored.js";
import type { RateLimitsDataModel } from "./tables.js";

/**
 * What is used of ctx.db, for the one table: so the db of any data model that has the table fits, whatever other tables it
 * has, and one without it does not compile.
 */
export type Reader = {
  db: { query(table: "rateLimits"): QueryInitializer<NamedTableInfo<RateLimitsDataModel, "rateLimits">> };
};
export type Writer = {
  db: Reader["db"] & {
    insert(table: "rateLimits", row: WithoutSystemFields<Row>): Promise<Row["_id"]>;
    patch(table: "rateLimits", id: Row["_id"], change: Stored): Promise<void>;
    delete(table: "rateLimits", id: Row["_id"]): Promise<void>;
  };
};
export type Row = DocumentByName<RateLimitsDataModel, "rateLimits">;

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
