/** A walk over the buckets of a limit, in the order of their keys: a batch of rows at a time, never half a bucket. */
import { badField } from "../engine/misuse.js";
import { type Reader, readAfter, type Row } from "./rows.js";

/**
 * Rows read at a time. More than the 256 of one bucket, so that a batch always ends between two of them; few enough that it
 * stays far below the 32,000 documents that a transaction may read, and is over in tens of milliseconds.
 */
export const BATCH_ROWS = 512;

/** A place between two buckets of a limit; without `after`, the one before the first. */
export interface Cursor {
  readonly name: string;
  readonly after?: { readonly key: string | undefined } | undefined;
}

interface Batch {
  /** The next buckets, each with all its rows. */
  readonly buckets: readonly { readonly key: string | undefined; readonly rows: readonly Row[] }[];
  /** Where the next batch starts; null after the last. */
  readonly next: Cursor | null;
}

export async function readBatch(ctx: Reader, { name, after }: Cursor): Promise<Batch> {
  const rows = await readAfter(ctx, { name, after, most: BATCH_ROWS });
  const byKey = new Map<string | undefined, Row[]>();
  for (const row of rows) {
    const own = byKey.get(row.key);
    if (own) own.push(row);
    else byKey.set(row.key, [row]);
  }
  const buckets = [...byKey].map(([key, own]) => ({ key, rows: own }));
  if (rows.length < BATCH_ROWS) return { buckets, next: null };
  // The last may have more rows than were read. Alone it has too many to make sense; it is passed by, so that the walk goes on.
  const whole = buckets.length > 1 ? buckets.slice(0, -1) : buckets;
  return { buckets: whole, next: { name, after: whole.at(-1) } };
}

/** A cursor as text. JSON has no undefined: null is the bucket without a key. */
export function writeCursor({ name, after }: Cursor): string {
  return JSON.stringify(after ? [name, after.key ?? null] : [name]);
}

/** @throws when the text is none that `writeCursor` wrote; `limit` is the one to name then. */
export function readCursor(limit: string, text: string): Cursor {
  const [name, key, ...more] = parseArray(text);
  if (typeof name === "string" && more.length === 0) {
    if (key === undefined) return { name };
    if (key === null) return { name, after: { key: undefined } };
    if (typeof key === "string") return { name, after: { key } };
  }
  throw badCursor(limit, text);
}

export function badCursor(limit: string, text: unknown): Error {
  return badField(limit, "cursor", "one that the page before returned", text);
}

function parseArray(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
