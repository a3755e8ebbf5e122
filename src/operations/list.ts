/** Listing: pages of a limit's keys with what they hold now. */
import { booleanField, checkFields, type Fields, numberField } from "../engine/fields.js";
import type { Limit } from "../engine/kinds/kind.js";
import { decideOnAll } from "../engine/sharding/pool.js";
import { heldByAll } from "../engine/sharding/shard.js";
import {
  type BucketRows,
  type Cursor,
  cursorError,
  mayGoOn,
  readBatch,
  readCursor,
  writeCursor,
} from "../storage/batches.js";
import type { Reader } from "../storage/rows.js";
import { shardsOf } from "../storage/shards.js";
import type { RateLimitPage } from "../validators.js";

/** Which keys of a limit to list. */
export interface ListRequest {
  readonly limit: Limit;
  readonly from: Cursor;
  readonly most: number;
  readonly onlyLimited: boolean;
}

interface ListOptions {
  cursor?: string | undefined;
  limit?: number | undefined;
  onlyLimited?: boolean | undefined;
}

const FIELDS: Fields = {
  cursor: { permitted: "one that the page before returned", holds: (value) => typeof value === "string" },
  limit: numberField({ atLeast: 1, atMost: 1000, isWhole: true }),
  onlyLimited: booleanField,
};

/** @throws when `limit` is no whole number from 1 to 1,000, or the cursor is not of this limit. */
export function parseList(limit: Limit, options: ListOptions): ListRequest {
  const { name } = limit;
  checkFields(name, "listRateLimits", options, FIELDS);
  const { cursor, limit: most = 100, onlyLimited = false } = options;
  const from = cursor === undefined ? { name } : readCursor(name, cursor);
  if (from.name !== name) throw cursorError(name, cursor);
  return { limit, from, most, onlyLimited };
}

/** A page of the keys of a limit, in their order. */
export async function list(ctx: Reader, { limit, from, most, onlyLimited }: ListRequest): Promise<RateLimitPage> {
  const now = Date.now();
  const page: RateLimitPage["page"] = [];
  let next: Cursor | null = from;
  for (let batches = 0, bytes = 0; next && mayGoOn(batches, bytes); batches++) {
    const batch = await readBatch(ctx, next);
    for (const bucket of batch.buckets) {
      const { key } = bucket;
      const entry = describe(limit, bucket, now);
      if (!onlyLimited || !entry.ok) page.push(key === undefined ? entry : { key, ...entry });
      if (page.length === most) return { page, cursor: writeCursor({ name: limit.name, after: { key } }) };
    }
    bytes += batch.bytes;
    next = batch.next;
  }
  return { page, cursor: next && writeCursor(next) };
}

/** What a bucket holds, and what it would answer to one more token; of a damaged one, what is wrong with it. */
function describe(limit: Limit, { key, rows }: BucketRows, now: number): Omit<RateLimitPage["page"][number], "key"> {
  try {
    const own = limit.kind.forKey(limit, key);
    const shards = shardsOf({ limit: own, key }, rows);
    const demand = { units: Math.min(own.unitsPerToken, own.capacity), reserve: false, withinMs: Infinity };
    const { status } = decideOnAll(own, shards, now, demand);
    return { value: heldByAll(shards, now) / own.unitsPerToken, ...status };
  } catch (error) {
    return { value: 0, ok: false, error: (error as Error).message };
  }
}
