/** A walk over the buckets of a limit, in the order of their keys: a batch of rows at a time, never half a bucket. */
import { fieldError } from "../engine/misuse.js";
import { type BucketId, type Cursor, type Reader, type Row, rowsAfter } from "./rows.js";

/**
 * A batch ends at the first bucket after this many rows. With the last bucket's (at most 2,048) that is far below the
 * 32,000 documents that a transaction may read, and over in tens of milliseconds.
 */
export const BATCH_ROWS = 512;
/** And after this many bytes of the 16 MiB that a transaction may read: old keys may be of any length. */
const BATCH_BYTES = 4 * 2 ** 20;

export interface BucketRows extends BucketId {
  readonly rows: readonly Row[];
}

/** A bucket of a batch, with all its rows, or with those up to one that `skips` the others. */
interface Walked extends BucketRows {
  /** The place after it; null after the limit's last bucket. */
  readonly next: Cursor | null;
}

/**
 * The buckets of one batch after a place, read as they are asked for.
 * @param skips - whether a row is the last that is read of its bucket.
 */
export async function* walk(
  ctx: Reader,
  from: Cursor,
  mostRows = BATCH_ROWS,
  skips?: (row: Row) => boolean,
): AsyncGenerator<Walked> {
  const [name] = from;
  let rows: Row[] = [];
  let read = 0;
  let bytes = 0;
  for await (const row of rowsSkipping(ctx, from, skips)) {
    const { key } = rows[0] ?? row;
    if (key !== row.key) {
      yield { name, key, rows, next: [name, key ?? null] };
      if (read >= mostRows || bytes >= BATCH_BYTES) return;
      rows = [];
    }
    rows.push(row);
    read++;
    bytes += sizeOf(row);
  }
  const [last] = rows;
  if (last) yield { name, key: last.key, rows, next: null };
}

/** The rows after a place. After a row for which `skips` holds come those of the next bucket. */
async function* rowsSkipping(ctx: Reader, from: Cursor, skips?: (row: Row) => boolean): AsyncGenerator<Row> {
  for (let after: Cursor | undefined = from; after;) {
    const rows: AsyncIterable<Row> = rowsAfter(ctx, after);
    after = undefined;
    for await (const row of rows) {
      yield row;
      if (!skips?.(row)) continue;
      after = [row.name, row.key ?? null];
      break;
    }
  }
}

/**
 * About, in bytes, and mostly less: UTF-8 takes up to three for a UTF-16 unit, an entry of `recent` 40, all other
 * fields together 300.
 */
export function sizeOf({ name, key = "", recent = [], override: { note = "" } = {} }: Row): number {
  return 300 + 3 * (name.length + key.length + note.length) + 40 * recent.length;
}

/**
 * @param own - the limit that it must be of; a sweep's may be of any. @throws when the text is no such cursor as JSON.
 */
export function readCursor(text: string, own?: string): Cursor {
  try {
    const parsed: unknown = JSON.parse(text);
    const [name, after, ...more] = Array.isArray(parsed) ? (parsed as unknown[]) : [];
    const isName = typeof name === "string" && name === (own ?? name);
    const isPlace = after === undefined || after === null || typeof after === "string";
    if (isName && isPlace && more.length === 0) return parsed as Cursor;
  } catch {
    // It is no JSON.
  }
  throw fieldError(own ?? { of: "sweepRateLimits" }, "cursor", "one that the page before returned", text);
}
