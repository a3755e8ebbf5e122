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

/** The name and key that all rows of a bucket share. */
export interface BucketId {
  readonly name: string;
  readonly key?: string | undefined;
}

/** All rows of a bucket, whatever its shards: at most MAX_SHARDS, in one range. */
export async function readRows({ db }: Reader, { name, key }: BucketId): Promise<Row[]> {
  return await db
    .query("rateLimits")
    .withIndex("by_name_key_shard", (q) => q.eq("name", name).eq("key", key))
    .collect();
}

/** The rows of a range of shards; the range, and nothing more, is what the transaction depends on. */
export async function readRange(
  { db }: Reader,
  { name, key }: BucketId,
  { first, last }: { first: number; last: number },
): Promise<Row[]> {
  return await db
    .query("rateLimits")
    .withIndex("by_name_key_shard", (q) => {
      const bucket = q.eq("name", name).eq("key", key);
      return first === last ? bucket.eq("shard", first) : bucket.gte("shard", first).lte("shard", last);
    })
    .collect();
}

export async function insertRow(
  { db }: Writer,
  { name, key, shard }: BucketId & { shard: number },
  { value, ts }: Stored,
): Promise<void> {
  await db.insert("rateLimits", { name, ...(key === undefined ? {} : { key }), shard, value, ts });
}

export async function patchRow({ db }: Writer, { _id }: Row, { value, ts }: Stored): Promise<void> {
  await db.patch("rateLimits", _id, { value, ts });
}

export async function deleteRow({ db }: Writer, { _id }: Row): Promise<void> {
  await db.delete("rateLimits", _id);
}
