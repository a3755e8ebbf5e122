/** Rows: the only file that touches ctx.db. */
import type {
  DocumentByName,
  GenericDatabaseReader,
  GenericDataModel,
  IndexRange,
  IndexRangeBuilder,
  NamedIndex,
  NamedTableInfo,
  Query,
  WithoutSystemFields,
} from "convex/server";
import type { Stored } from "../engine/stored.js";
import type { RateLimitsDataModel } from "./tables.js";
import type { RateLimitedJob } from "../validators.js";

type Table = NamedTableInfo<RateLimitsDataModel, "rateLimits">;
type Index = NamedIndex<Table, "by_name_key_shard">;
export type Row = DocumentByName<RateLimitsDataModel, "rateLimits">;

/** The name and key that all rows of a bucket share. */
export interface BucketId {
  readonly name: string;
  readonly key?: string | undefined;
}

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

/** Rows of one limit, those of one key after those of another, from the first key after `after` on. */
export async function readAfter(
  { db }: Reader,
  { name, after, most }: { name: string; after: { key: string | undefined } | undefined; most: number },
): Promise<Row[]> {
  return await db
    .query("rateLimits")
    .withIndex("by_name_key_shard", (q) => (after ? q.eq("name", name).gt("key", after.key) : q.eq("name", name)))
    .take(most);
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

/** A database that knows the state of the app's scheduled functions. */
export interface JobReader {
  db: Pick<GenericDatabaseReader<GenericDataModel>, "system">;
}

/** The state of a scheduled function; "deleted" when Convex has forgotten it, days after it ended. */
export async function readJobState({ db }: JobReader, id: RateLimitedJob["id"]) {
  return (await db.system.get("_scheduled_functions", id))?.state.kind ?? "deleted";
}
