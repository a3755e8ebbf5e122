/** Sweeping: deleting the rows of buckets that are full again, since they mean the same as no rows, and overrides that have ended. */
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import { fieldError } from "../engine/misuse.js";
import { isUsable, overrideOf } from "../engine/override.js";
import { heldBy } from "../engine/sharding/shard.js";
import { storedLimit } from "../engine/written.js";
import { type BucketRows, readBatch, readCursor, writeCursor } from "../storage/batches.js";
import {
  type BucketId,
  deleteRow,
  holdsTokens,
  planOf,
  type Reader,
  readRows,
  type Row,
  type Writer,
} from "../storage/rows.js";
import { shardsOf } from "../storage/shards.js";
import type { RateLimitConfig, RateLimitOverride } from "../wire/configs.js";
import type { SweepArgs } from "../wire/answers.js";

/**
 * A bucket's rows are deleted when it has been full and unwritten for this long. The clocks of servers differ by less than a
 * minute, so all agree that it is full, and none is about to write it. After the same time all agree that an override has ended. A
 * row of a window stays for one window more: it says when its windows began.
 */
const SETTLED_MS = 60_000;

type Targets = SweepArgs["targets"];

/**
 * Each limit with all the configs under which a bucket must be full before its rows go.
 * @throws when one of the further configs is invalid.
 */
export function sweepTargets(
  limits: ReadonlyMap<string, Limit>,
  configs: Readonly<Record<string, readonly RateLimitConfig[]>>,
): Targets {
  const targets = new Map([...limits].map(([name, limit]) => [name, [limit.config] as RateLimitConfig[]]));
  for (const [name, further] of Object.entries(configs)) {
    // The types forbid anything else, JavaScript does not.
    const given: unknown = further;
    if (!Array.isArray(given)) throw fieldError(name, "configs", "an array of configs", given);
    const parsed = further.map((config) => parseLimit(name, config).config);
    targets.set(name, [...(targets.get(name) ?? []), ...parsed]);
  }
  return [...targets].map(([name, all]) => ({ name, configs: all }));
}

/** The buckets of one batch (of one limit) with the rows that go, and the cursor of the next batch; null after the last. */
export async function findFull(
  ctx: Reader,
  { targets, cursor }: { targets: Targets; cursor?: string | undefined },
): Promise<{ buckets: (BucketRows & { name: string })[]; cursor: string | null }> {
  const now = Date.now();
  const from = cursor === undefined ? undefined : readCursor("sweep", cursor);
  const names = [...new Set(targets.map(({ name }) => name))].sort();
  const [name, following] = from ? names.filter((each) => each >= from.name) : names;
  if (name === undefined) return { buckets: [], cursor: null };
  const limits = limitsOf(targets, name);
  const batch = await readBatch(ctx, from?.name === name ? from : { name });
  const buckets = batch.buckets
    .map(({ key, rows }) => ({ name, key, rows: rowsToDelete(limits, { key, rows }, now) }))
    .filter(({ rows }) => rows.length > 0);
  if (batch.next) return { buckets, cursor: writeCursor(batch.next) };
  return { buckets, cursor: following === undefined ? null : writeCursor({ name: following }) };
}

/** Deletes the rows of these buckets that still may go; says how many. */
export async function deleteFull(ctx: Writer, targets: Targets, buckets: readonly BucketId[]): Promise<number> {
  const now = Date.now();
  let deleted = 0;
  for (const { name, key } of buckets) {
    const all = await readRows(ctx, { name, key });
    const rows = rowsToDelete(limitsOf(targets, name), { key, rows: all }, now);
    for (const row of rows) await deleteRow(ctx, row);
    deleted += rows.length;
  }
  return deleted;
}

/** One batch where the rows are at hand, in the same transaction. */
export async function sweepBatch(
  ctx: Writer,
  args: { targets: Targets; cursor?: string | undefined },
): Promise<{ deleted: number; cursor: string | null }> {
  const { buckets, cursor } = await findFull(ctx, args);
  const rows = buckets.flatMap((bucket) => bucket.rows);
  for (const row of rows) await deleteRow(ctx, row);
  return { deleted: rows.length, cursor };
}

function limitsOf(targets: Targets, name: string): Limit[] {
  return targets
    .filter((target) => target.name === name)
    .flatMap(({ configs }) => configs.map((config) => parseLimit(name, config)));
}

/**
 * Overrides that are in force stay, and their configs count among those that a bucket must be full under. An override that cannot
 * be used, or one of several, continues to deny after its end.
 */
function rowsToDelete(limits: readonly Limit[], { key, rows }: BucketRows, now: number): Row[] {
  const [row, ...others] = rows.filter((each) => !holdsTokens(each));
  if (others.length > 0 || (row?.override && !isUsable(row.name, row.override))) return [];
  const hasEnded = row?.override?.until !== undefined && row.override.until <= now - SETTLED_MS;
  const bucket = rows.filter(holdsTokens);
  const isGoing = isFull(limits, { key, rows: bucket }, hasEnded ? undefined : row?.override, now);
  return [...(isGoing ? bucket : []), ...(row && hasEnded ? [row] : [])];
}

/**
 * Whether a bucket is full under every config that its limit is called with, at least one, and that its rows were written under. A
 * damaged bucket is not: its rows stay, and continue to deny.
 */
function isFull(
  limits: readonly Limit[],
  { key, rows }: BucketRows,
  stored: RateLimitOverride | undefined,
  now: number,
): boolean {
  const isFullUnder = (limit: Limit) => {
    const settled = now - SETTLED_MS - (limit.kind.countsMs?.(limit) ?? 0);
    return shardsOf({ name: limit.name, limit: limit.kind.forKey(limit, key), key }, rows).every(
      (shard) => shard.state.ts <= settled && heldBy(shard, settled) === shard.limit.capacity,
    );
  };
  try {
    const overridden = limits.flatMap((limit) => {
      const override = stored && overrideOf({ name: limit.name, limit, key }, stored);
      return override?.does === "configure" ? [override.limit] : [];
    });
    const written = planOf(rows);
    // A config of a call is known from its row only; a named plan is among the limits.
    const own =
      typeof written === "object" ? limits.slice(0, 1).map(({ name }) => storedLimit({ name, key }, written)) : [];
    return limits.length > 0 && [...limits, ...own, ...overridden].every(isFullUnder);
  } catch {
    return false;
  }
}
