/** Listing: pages of a limit's keys with what they hold now. */
import { booleanField, checkFields, type Fields } from "../engine/fields.js";
import { misuseError } from "../engine/misuse.js";
import { type BucketArgs, parseBucket, requestTo } from "../engine/request.js";
import { heldByAll } from "../engine/sharding/shard.js";
import { asWritten } from "../engine/bucket.js";
import { BATCH_ROWS, type BucketRows, readCursor, walk } from "../storage/batches.js";
import type { Cursor, Reader } from "../storage/rows.js";
import { nameOf, planOf, shardsOf } from "../storage/shards.js";
import type { RateLimitPage } from "../wire/answers.js";
import { present } from "../wire/present.js";
import { answerOnRows } from "./consume.js";
import { countedUnder, overridesAmong } from "./override.js";

/** Which keys of a limit to list. */
type ListRequest = ReturnType<typeof parseList>;

export interface ListOptions {
  /** The `cursor` of the page before; absent for the first. */
  cursor?: string | undefined;
  /** The most keys on a page: a whole number from 1 to 1,000, default 100. */
  limit?: number | undefined;
  /** Only keys that would be denied a token now. A page may then be short, even empty, before the last. */
  onlyLimited?: boolean | undefined;
  /** Only keys whose limit is overridden now. A page may then be short, even empty, before the last. */
  onlyOverridden?: boolean | undefined;
}

/** A page ends at the first bucket after this many rows. */
const PAGE_ROWS = 4 * BATCH_ROWS;

const FIELDS: Fields = {
  cursor: { permitted: "one that the page before returned", holds: (value) => typeof value === "string" },
  limit: { atLeast: 1, atMost: 1000, isWhole: true },
  onlyLimited: booleanField,
  onlyOverridden: booleanField,
};

/**
 * @param asked - the limit; its plans, if rows say which of them holds.
 * @throws when `limit` is no whole number from 1 to 1,000, the cursor is another limit's, or the limit has no overrides to list.
 */
export function parseList(asked: BucketArgs, options: ListOptions) {
  const { name, config, overrides } = asked;
  const { limit } = parseBucket(asked);
  checkFields(name, "listRateLimits", options, FIELDS);
  const { cursor, limit: most = 100, onlyLimited = false, onlyOverridden = false } = options;
  if (onlyOverridden && !overrides) {
    throw misuseError(name, "onlyOverridden needs a limit that is defined with overrides: true.");
  }
  const from: Cursor = cursor === undefined ? [name] : readCursor(cursor, name);
  // Parsed once for all keys.
  const listed = { ...asked, definition: { config, limit } };
  return { listed, from, most, onlyLimited, onlyOverridden };
}

/** A page of the keys of a limit, in their order. */
export async function list(ctx: Reader, request: ListRequest): Promise<RateLimitPage> {
  const now = Date.now();
  const { listed, from, most, onlyLimited, onlyOverridden } = request;
  const page: RateLimitPage["page"] = [];
  let next: Cursor | null = null;
  for await (const bucket of walk(ctx, from, PAGE_ROWS)) {
    const entry = await describe(listed, bucket, now);
    const isWanted = (!onlyLimited || !entry.ok) && (!onlyOverridden || entry.override);
    if (isWanted) page.push(present(entry));
    next = bucket.next;
    if (page.length === most) break;
  }
  return { page, cursor: next && JSON.stringify(next) };
}

/** The state of a bucket and its answer to one more token; for a damaged one, the error. */
async function describe(listed: ListRequest["listed"], { key, rows }: BucketRows, now: number) {
  const [override] = listed.overrides ? overridesAmong(rows) : [];
  const entry = { key, override: (override?.until ?? Infinity) > now ? override : undefined };
  try {
    const bucket = asWritten(parseBucket({ ...listed, key }), planOf(rows));
    const counted = countedUnder(bucket, rows, now);
    const { capacity, unitsPerToken } = counted.limit;
    const shards = shardsOf(counted, rows);
    const count = Math.min(1, capacity / unitsPerToken);
    const { status } = await answerOnRows(requestTo(bucket, { count }), rows, now);
    return { value: heldByAll(shards, now) / unitsPerToken, ...status, ...entry, plan: nameOf(bucket.plan) };
  } catch (error) {
    return { value: 0, ok: false, error: (error as Error).message, ...entry };
  }
}
