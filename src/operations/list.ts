/** Listing the buckets of a limit with what they hold, page by page. */
import { project } from "../engine/kinds/bucket.js";
import { forKey } from "../engine/limit.js";
import { badField } from "../engine/misuse.js";
import { decideOnAll } from "../engine/sharding/probe.js";
import { cover, overlap } from "../engine/sharding/reshard.js";
import { partFromStored } from "../engine/stored.js";
import type { Limit, Part } from "../engine/types.js";
import { snapshotOf } from "../engine/snapshot.js";
import type { Reader, Row } from "../storage/rows.js";
import type { RateLimitPage } from "../validators.js";
import { badCursor, BATCH_ROWS, type Cursor, readBatch, readCursor, writeCursor } from "../storage/batches.js";

/** Rows read for one page, however few of its keys are wanted: a page may be short, but it never takes long. */
const PAGE_ROWS = 4 * BATCH_ROWS;
const MAX_PAGE_KEYS = 1000;

/** Which keys of a limit to list. */
export interface ListRequest {
  readonly limit: Limit;
  readonly from: Cursor;
  readonly most: number;
  readonly onlyLimited: boolean;
}

interface ListArgs {
  cursor?: string | undefined;
  limit?: number | undefined;
  onlyLimited?: boolean | undefined;
}

/** @throws when `limit` is no whole number from 1 to 1,000, or the cursor is not of this limit. */
export function parseList(limit: Limit, { cursor, limit: most = 100, onlyLimited = false }: ListArgs): ListRequest {
  const { name } = limit;
  if (!(Number.isInteger(most) && most >= 1 && most <= MAX_PAGE_KEYS)) {
    throw badField(name, "limit", `a whole number from 1 to ${MAX_PAGE_KEYS}`, most);
  }
  if (typeof onlyLimited !== "boolean") throw badField(name, "onlyLimited", "true or false", onlyLimited);
  const from = cursor === undefined ? { name } : readCursor(name, cursor);
  if (from.name !== name) throw badCursor(name, cursor);
  return { limit, from, most, onlyLimited };
}

/** A page of the keys of a limit, in their order. */
export async function list(ctx: Reader, { limit, from, most, onlyLimited }: ListRequest): Promise<RateLimitPage> {
  const now = Date.now();
  const page: RateLimitPage["page"] = [];
  let next: Cursor | null = from;
  for (let read = 0; next && read < PAGE_ROWS; read += BATCH_ROWS) {
    const batch = await readBatch(ctx, next);
    for (const bucket of batch.buckets) {
      const { key } = bucket;
      const entry = describe(forKey(limit, key), bucket.rows, now);
      if (!onlyLimited || !entry.ok) page.push(key === undefined ? entry : { key, ...entry });
      if (page.length === most) return { page, cursor: writeCursor({ name: limit.name, after: { key } }) };
    }
    next = batch.next;
  }
  return { page, cursor: next && writeCursor(next) };
}

/** What a bucket holds, and what it would answer to one more token. */
function describe(limit: Limit, rows: readonly Row[], now: number): Omit<RateLimitPage["page"][number], "key"> {
  const stored = new Map<number, Part>();
  for (const row of rows) {
    if (stored.has(row.shard)) throw overlap(limit, row.shard);
    stored.set(row.shard, partFromStored(limit, row.shard, row));
  }
  const parts = cover(limit, stored);
  const current = parts.map((part) => ({ ...part, bucket: project(part.limit, part.bucket, now) }));
  const demand = { count: Math.min(limit.unitsPerToken, limit.capacity), reserve: false };
  return { value: snapshotOf(limit, current).value, ...decideOnAll(limit, parts, now, demand).status };
}
