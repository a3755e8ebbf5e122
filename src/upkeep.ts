/** Looking after many buckets at once: listing them, and sweeping away those that are full again. */
import { project } from "./engine/bucket.js";
import { forKey, parseLimit } from "./engine/limit.js";
import { badField } from "./engine/misuse.js";
import { decideOnAll } from "./engine/probe.js";
import { cover } from "./engine/reshard.js";
import { partFromStored } from "./engine/stored.js";
import type { Limit } from "./engine/types.js";
import { snapshotOf } from "./snapshot.js";
import { deleteRow, type Reader, readAfter, readRange, type Row, type Writer } from "./store.js";
import type { FullRows, RateLimitPage, SweepArgs } from "./validators.js";

/**
 * Rows read at a time. More than the 256 of one key, so that a batch always ends between two keys; few enough that a batch
 * stays far below the 16,000 documents of a transaction and is over in tens of milliseconds.
 */
const BATCH_ROWS = 512;
/** Rows read for one page of a list, however few of its keys are wanted. */
const PAGE_ROWS = 4 * BATCH_ROWS;
const MAX_PAGE_KEYS = 1000;

/** Which keys of a limit to list. */
export interface ListRequest {
  readonly limit: Limit;
  readonly cursor: string | undefined;
  readonly most: number;
  readonly onlyLimited: boolean;
}

/** @throws when `limit` is not a whole number from 1 to 1,000. */
export function parseList(
  limit: Limit,
  { cursor, limit: most = 100, onlyLimited = false }: { cursor?: string; limit?: number; onlyLimited?: boolean },
): ListRequest {
  if (!(Number.isInteger(most) && most >= 1 && most <= MAX_PAGE_KEYS)) {
    throw badField(limit.name, "limit", `a whole number from 1 to ${MAX_PAGE_KEYS}`, most);
  }
  return { limit, cursor, most, onlyLimited };
}

/** A page of the keys of a limit, in their order. */
export async function list(ctx: Reader, { limit, cursor, most, onlyLimited }: ListRequest): Promise<RateLimitPage> {
  const now = Date.now();
  const page: RateLimitPage["page"] = [];
  let after = cursor === undefined ? undefined : readCursor(cursor).after;
  for (let read = 0; read < PAGE_ROWS; read += BATCH_ROWS) {
    const { groups, isLast } = await readGroups(ctx, limit.name, after, BATCH_ROWS);
    for (const group of groups) {
      const entry = describe(forKey(limit, group.key), group.rows, now);
      after = { key: group.key };
      if (!onlyLimited || !entry.ok) page.push(group.key === undefined ? entry : { key: group.key, ...entry });
      if (page.length === most) return { page, cursor: writeCursor({ name: limit.name, after }) };
    }
    if (isLast) return { page, cursor: null };
  }
  return { page, cursor: writeCursor({ name: limit.name, after }) };
}

/** What a bucket holds, and what it would answer to one more token. */
function describe(limit: Limit, rows: readonly Row[], now: number): Omit<RateLimitPage["page"][number], "key"> {
  const parts = cover(limit, new Map(rows.map((row) => [row.shard, partFromStored(limit, row.shard, row)])));
  const current = parts.map((part) => ({ ...part, bucket: project(part.limit, part.bucket, now) }));
  const demand = { count: Math.min(limit.unitsPerToken, limit.capacity), reserve: false };
  return { value: snapshotOf(limit, current).value, ...decideOnAll(limit, parts, now, demand).status };
}

/**
 * The rows of one batch (of one limit) that are full again, and so mean the same as no row. A row is full when it is so under
 * every config that its limit is called with; a row that makes no sense stays, so that it goes on denying.
 */
export async function findFull(ctx: Reader, { targets, cursor }: SweepArgs): Promise<FullRows> {
  const now = Date.now();
  const from = cursor === undefined ? { name: "" } : readCursor(cursor);
  const [target, next] = targets.filter(({ name }) => name >= from.name).sort((a, b) => (a.name < b.name ? -1 : 1));
  if (!target) return { rows: [], cursor: null };
  const { name, configs } = target;
  const limits = configs.map((config) => parseLimit(name, config));
  const after = name === from.name ? from.after : undefined;
  const { groups, isLast } = await readGroups(ctx, name, after, BATCH_ROWS);
  const rows = groups.flatMap((group) => group.rows.filter((row) => isFull(limits, row, now)).map(idOf));
  const last = groups.at(-1);
  if (!isLast && last) return { rows, cursor: writeCursor({ name, after: last }) };
  return { rows, cursor: next ? writeCursor({ name: next.name }) : null };
}

/** Deletes those of the rows that are still full; says how many. */
export async function deleteFull(ctx: Writer, targets: SweepArgs["targets"], rows: FullRows["rows"]): Promise<number> {
  const now = Date.now();
  let deleted = 0;
  for (const id of rows) {
    const configs = targets.find(({ name }) => name === id.name)?.configs ?? [];
    const limits = configs.map((config) => parseLimit(id.name, config));
    for (const row of await readRange(ctx, id, { first: id.shard, last: id.shard })) {
      if (!isFull(limits, row, now)) continue;
      await deleteRow(ctx, row);
      deleted++;
    }
  }
  return deleted;
}

function isFull(limits: readonly Limit[], row: Row, now: number): boolean {
  try {
    return (
      limits.length > 0 &&
      limits.every((limit) => {
        const part = partFromStored(forKey(limit, row.key), row.shard, row);
        return project(part.limit, part.bucket, now).value === part.limit.capacity;
      })
    );
  } catch {
    return false;
  }
}

function idOf({ name, key, shard }: Row): FullRows["rows"][number] {
  return key === undefined ? { name, shard } : { name, key, shard };
}

/** The next keys of a limit, each with all its rows, from at most `most` rows. */
async function readGroups(ctx: Reader, name: string, after: { key: string | undefined } | undefined, most: number) {
  const rows = await readAfter(ctx, { name, after, most });
  const groups = new Map<string | undefined, Row[]>();
  for (const row of rows) groups.set(row.key, [...(groups.get(row.key) ?? []), row]);
  const isLast = rows.length < most;
  const whole = [...groups].map(([key, own]) => ({ key, rows: own }));
  // The last key may have more rows than were read; alone it is taken as it is, so that every batch gets on.
  return { groups: isLast || whole.length === 1 ? whole : whole.slice(0, -1), isLast };
}

/** A place between two keys of a limit, as text. JSON has no undefined: null is the bucket without a key. */
interface Cursor {
  readonly name: string;
  readonly after?: { readonly key: string | undefined } | undefined;
}

function writeCursor({ name, after }: Cursor): string {
  return JSON.stringify(after ? [name, after.key ?? null] : [name]);
}

/** @throws when the text is no cursor that `list` or `sweep` returned. */
function readCursor(text: string): Cursor {
  const [name, ...key] = parseJson(text);
  const isKey = key.length === 0 || (key.length === 1 && (key[0] === null || typeof key[0] === "string"));
  if (typeof name !== "string" || !isKey) throw badField("", "cursor", "one that an earlier page returned", text);
  return key.length === 0 ? { name } : { name, after: { key: typeof key[0] === "string" ? key[0] : undefined } };
}

function parseJson(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
