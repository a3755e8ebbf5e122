/** Listing: pages of a limit's keys with what they hold now. */
import { booleanField, checkFields, type Fields } from "../engine/fields.js";
import { nameOf, storedConfig } from "../engine/bucket.js";
import { type BucketArgs, bucketOf, requestTo } from "../engine/request.js";
import { fold, heldByAll } from "../engine/sharding/shard.js";
import { BATCH_ROWS, type BucketRows, readCursor, walk } from "../storage/batches.js";
import { type Cursor, isControl, type Reader, type Row } from "../storage/rows.js";
import { controlOf, foundAmong, isOf, latest } from "../storage/found.js";
import type { RateLimitPage } from "../wire/admin.js";
import { present } from "../wire/present.js";
import { answerUnder } from "./answer.js";
import { type Call, startCall, termsOf } from "./terms.js";

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

/** The rows at a key, and those of one of its buckets. */
interface OwnRows extends BucketRows {
  readonly own: readonly Row[];
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
 * @throws when `limit` is no whole number from 1 to 1,000, or the cursor is another limit's.
 */
export function parseList(asked: BucketArgs, options: ListOptions) {
  const { name } = asked;
  // Without `shards`: several rows are shown as one.
  const config = storedConfig(asked.config);
  const plans = asked.plans?.map((own) => ({ ...own, config: storedConfig(own.config) }));
  const { limit } = bucketOf({ name, config });
  // Where a deploy has made one bucket of several rows, as a call does it: what they promised stays promised. While it
  // is split, each row owes for itself.
  const join = bucketOf(asked).limit.levels.most > 0 ? fold : undefined;
  checkFields(name, "listRateLimits", options, FIELDS);
  const { cursor, limit: most = 100, onlyLimited = false, onlyOverridden = false } = options;
  const from: Cursor = cursor === undefined ? [name] : readCursor(cursor, name);
  // Parsed once for all keys.
  const listed = { ...asked, plans, term: { config, limit } };
  return { listed, join, from, most, onlyLimited, onlyOverridden };
}

/** A page of the keys of a limit, in their order. */
export async function list(ctx: Reader, request: ListRequest): Promise<RateLimitPage> {
  const call = startCall(true);
  const { from, most, onlyLimited, onlyOverridden } = request;
  const page: RateLimitPage["page"] = [];
  let next: Cursor | null = null;
  for await (const bucket of walk(ctx, from, PAGE_ROWS)) {
    const describeAll = async (each: readonly Row[][]) => {
      const entries = await Promise.all(each.map((own) => describe(ctx, request, { ...bucket, own }, call)));
      return entries.filter((entry) => entry !== undefined);
    };
    let entries = await describeAll(bucketsAmong(bucket.rows));
    // An operator looks for a key with a control row, also if it has no bucket that calls ask: a full one.
    if (entries.length === 0 && bucket.rows.some(isControl)) entries = await describeAll([[]]);
    for (const entry of entries) {
      const isWanted = (!onlyLimited || !entry.ok) && (!onlyOverridden || entry.override);
      if (isWanted) page.push(present(entry));
    }
    next = bucket.next;
    if (page.length >= most) break;
  }
  return { page, cursor: next && JSON.stringify(next) };
}

/** The rows of each bucket at a key, by kind and period, without the control row. */
export function bucketsAmong(rows: readonly Row[]): Row[][] {
  const others = rows.filter((row) => !isControl(row));
  const buckets = [...new Set(others.map(({ bucket }) => bucket))];
  return buckets.map((bucket) => others.filter((row) => row.bucket === bucket));
}

/**
 * The state of a bucket and its answer to one more token; for a damaged one, the error. Undefined if a deploy has taken
 * its kind or period away: no call asks it.
 */
async function describe(ctx: Reader, { listed, join }: ListRequest, { key, rows, own }: OwnRows, call: Call) {
  const { now } = call;
  const { override, pause } = controlOf(rows.find(isControl));
  const entry = {
    key,
    override: (override?.until ?? Infinity) > now ? override : undefined,
    pausedUntil: pause && pause.until > now ? pause.until : undefined,
  };
  try {
    const id = { ...listed, key };
    // An override may be of another kind: of another of the buckets.
    const found = { ...foundAmong(id, rows), row: latest(own), join };
    const terms = termsOf(bucketOf(id), found, call);
    const { bucket, counted } = terms;
    const { row } = found;
    if (row && !isOf(bucket.limit, row) && !isOf(counted.limit, row)) return undefined;
    const { capacity, unitsPerToken } = counted.limit;
    const count = Math.min(1, capacity / unitsPerToken);
    const asked = { ...terms, bucket: requestTo(bucket, { count }), counted: requestTo(counted, { count }) };
    const { status, shards } = await answerUnder(ctx, asked);
    const value = heldByAll(shards, now) / unitsPerToken;
    return { value, ...status, ...entry, plan: nameOf(bucket.plan) };
  } catch (error) {
    return { value: 0, ok: false, error: (error as Error).message, ...entry };
  }
}
