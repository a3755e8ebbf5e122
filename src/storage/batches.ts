/** A walk over the buckets of a limit, in the order of their keys: a batch of rows at a time, never half a bucket. */
import { fieldError } from "../engine/misuse.js";
import { type BucketId, type Cursor, type Reader, type Row, rowsAfter } from "./rows.js";

/**
 * A batch ends at the first bucket after this many rows. With the last bucket's (at most 2,048) that is far below the 32,000
 * documents that a transaction may read, and over in tens of milliseconds.
 */
export const BATCH_ROWS = 512;
/** And after this many bytes of the 16 MiB that a transaction may read: old keys may be of any length. */
const BATCH_BYTES = 4 * 2 ** 20;

export interface BucketRows extends BucketId {
  readonly rows: readonly Row[];
}

interface Batch {
  /** The next buckets, each with all its rows. */
  readonly buckets: readonly BucketRows[];
  readonly bytes: number;
  /** The start of the next batch; null after the last. */
  readonly next: Cursor | null;
}

export async function readBatch(ctx: Reader, cursor: Cursor): Promise<Batch> {
  const { name } = cursor;
  const buckets: (BucketId & { rows: Row[] })[] = [];
  let read = 0;
  let bytes = 0;
  for await (const row of rowsAfter(ctx, cursor)) {
    const last = buckets.at(-1);
    if (last && last.key === row.key) last.rows.push(row);
    else if (last && (read >= BATCH_ROWS || bytes >= BATCH_BYTES)) {
      return { buckets, bytes, next: { name, after: { key: last.key } } };
    } else buckets.push({ name, key: row.key, rows: [row] });
    read++;
    bytes += sizeOf(row);
  }
  return { buckets, bytes, next: null };
}

/** At most, in bytes: UTF-8 takes three for a UTF-16 unit, an entry of `recent` 40, and all other fields together 300. */
function sizeOf({ name, key = "", recent = [], override: { note = "" } = {} }: Row): number {
  return 300 + 3 * (name.length + key.length + note.length) + 40 * recent.length;
}

/** Whether a walk may read another batch in the same transaction. */
export function mayGoOn(batches: number, bytes: number): boolean {
  return batches < 4 && bytes < BATCH_BYTES;
}

/** A cursor as text. JSON has no undefined: null is the bucket without a key. */
export function writeCursor({ name, after }: Cursor): string {
  return JSON.stringify(after ? [name, after.key ?? null] : [name]);
}

/** @throws when the text is none that `writeCursor` wrote; `limit` is the one to name then. */
export function readCursor(limit: string, text: string): Cursor {
  try {
    const parsed: unknown = JSON.parse(text);
    const [name, key, ...more] = Array.isArray(parsed) ? (parsed as unknown[]) : [];
    const isKey = key === undefined || key === null || typeof key === "string";
    if (typeof name === "string" && isKey && more.length === 0) {
      return key === undefined ? { name } : { name, after: { key: key ?? undefined } };
    }
  } catch {
    // It is no JSON.
  }
  throw cursorError(limit, text);
}

export function cursorError(limit: string, text: unknown): Error {
  return fieldError(limit, "cursor", "one that the page before returned", text);
}
