/** Rows: the only file that touches ctx.db. */
import type { DocumentByName, GenericDatabaseReader, GenericDatabaseWriter } from "convex/server";
import type { Stored } from "./engine/stored.js";
import type { RateLimitsDataModel } from "./tables.js";

export type Reader = { db: GenericDatabaseReader<RateLimitsDataModel> };
export type Writer = { db: GenericDatabaseWriter<RateLimitsDataModel> };
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
