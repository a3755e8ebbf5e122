/** Sweeping: deleting the rows that are full again, since they mean the same as no row. */
import { project } from "../engine/kinds/bucket.js";
import { forKey, parseLimit } from "../engine/limit.js";
import { badField } from "../engine/misuse.js";
import { partFromStored } from "../engine/stored.js";
import type { Limit } from "../engine/types.js";
import { deleteRow, type Reader, readRange, type Row, type Writer } from "../storage/rows.js";
import type { FullRows, RateLimitConfig, SweepArgs } from "../validators.js";
import { readBatch, readCursor, writeCursor } from "../storage/batches.js";

/**
 * A row goes when it has been full for this long: a minute is more than the clocks of servers differ by, so all of them agree
 * that it is full, and none of them is about to write it.
 */
const SETTLED_MS = 60_000;

type Targets = SweepArgs["targets"];

/**
 * Each limit with all the configs under which a row must be full before it goes.
 * @throws when one of the further configs is invalid.
 */
export function sweepTargets(
  limits: ReadonlyMap<string, Limit>,
  configs: Readonly<Record<string, readonly RateLimitConfig[]>> = {},
): Targets {
  const targets = new Map([...limits].map(([name, limit]) => [name, [limit.config] as RateLimitConfig[]]));
  for (const [name, further] of Object.entries(configs)) {
    // The types forbid anything else, JavaScript does not.
    const given: unknown = further;
    if (!Array.isArray(given)) throw badField(name, "configs", "an array of configs", given);
    const parsed = further.map((config) => parseLimit(name, config).config);
    targets.set(name, [...(targets.get(name) ?? []), ...parsed]);
  }
  return [...targets].map(([name, all]) => ({ name, configs: all }));
}

/** The rows of one batch (of one limit) that are full, and the cursor of the next batch; null after the last. */
export async function findFull(
  ctx: Reader,
  { targets, cursor }: { targets: Targets; cursor?: string | undefined },
): Promise<{ rows: Row[]; cursor: string | null }> {
  const now = Date.now();
  const from = cursor === undefined ? undefined : readCursor("sweep", cursor);
  const names = [...new Set(targets.map(({ name }) => name))].sort();
  const [name, following] = from ? names.filter((each) => each >= from.name) : names;
  if (name === undefined) return { rows: [], cursor: null };
  const limits = limitsOf(targets, name);
  const { buckets, next } = await readBatch(ctx, from?.name === name ? from : { name });
  const rows = buckets.flatMap((bucket) => bucket.rows.filter((row) => isFull(limits, row, now)));
  if (next) return { rows, cursor: writeCursor(next) };
  return { rows, cursor: following === undefined ? null : writeCursor({ name: following }) };
}

/** Deletes those of the rows that are still full; says how many. */
export async function deleteFull(ctx: Writer, targets: Targets, rows: FullRows["rows"]): Promise<number> {
  const now = Date.now();
  let deleted = 0;
  for (const { shard, ...id } of rows) {
    const limits = limitsOf(targets, id.name);
    for (const row of await readRange(ctx, id, { first: shard, last: shard })) {
      if (!isFull(limits, row, now)) continue;
      await deleteRow(ctx, row);
      deleted++;
    }
  }
  return deleted;
}

/** One batch where the rows are at hand, in the same transaction. */
export async function sweepBatch(
  ctx: Writer,
  args: { targets: Targets; cursor?: string | undefined },
): Promise<{ deleted: number; cursor: string | null }> {
  const { rows, cursor } = await findFull(ctx, args);
  for (const row of rows) await deleteRow(ctx, row);
  return { deleted: rows.length, cursor };
}

function limitsOf(targets: Targets, name: string): Limit[] {
  return targets
    .filter((target) => target.name === name)
    .flatMap(({ configs }) => configs.map((config) => parseLimit(name, config)));
}

/**
 * Whether a row is full under every config that its limit is called with, at least one. A row that makes no sense is not: it
 * stays, and goes on denying.
 */
function isFull(limits: readonly Limit[], row: Row, now: number): boolean {
  const isFullUnder = (limit: Limit) => {
    const part = partFromStored(forKey(limit, row.key), row.shard, row);
    return project(part.limit, part.bucket, now - SETTLED_MS).value === part.limit.capacity;
  };
  try {
    return limits.length > 0 && limits.every(isFullUnder);
  } catch {
    return false;
  }
}

/** What the component's query says of a row to the mutation that deletes it. */
export function idOf({ name, key, shard }: Row): FullRows["rows"][number] {
  return key === undefined ? { name, shard } : { name, key, shard };
}
