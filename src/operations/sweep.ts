/** Sweeping: deleting the rows of buckets that are full again, since they mean the same as no rows, and overrides that have ended. */
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/kinds/limit.js";
import { overrideOf, parseOverride } from "../engine/override.js";
import { advance } from "../engine/sharding/shard.js";
import { storedLimit } from "../engine/bucket.js";
import { type BucketRows, readCursor, walk } from "../storage/batches.js";
import * as storage from "../storage/rows.js";
import { planOf, shardsOf } from "../storage/shards.js";
import type { RateLimitOverride } from "../wire/configs.js";
import type { SweepArgs } from "../wire/answers.js";
import { overridesAmong } from "./override.js";

/**
 * A bucket's rows are deleted when it has been full and unwritten for this long. The clocks of servers differ by less than a
 * minute, so all agree that it is full, and none is about to write it. After the same time all agree that an override has ended. A
 * row of a window stays for one window more: it says when its windows began.
 */
const SETTLED_MS = 60_000;

type Targets = SweepArgs["targets"];

/** The buckets of one batch (of one limit) with the rows that go, and the cursor of the next batch; null after the last. */
export async function findFull(ctx: storage.Reader, { targets, cursor }: SweepArgs) {
  const now = Date.now();
  const limits = parseTargets(targets);
  const from = cursor === undefined ? await findNext(ctx, limits) : readCursor(cursor);
  const buckets: BucketRows[] = [];
  if (!from) return { buckets, cursor: null };
  const [name] = from;
  const own = limitsOf(limits, name);
  let next: storage.Cursor | null = null;
  for await (const bucket of walk(ctx, from)) {
    const rows = rowsToDelete(own, bucket, now);
    if (rows.length > 0) buckets.push({ ...bucket, rows });
    next = bucket.next;
  }
  next ??= await findNext(ctx, limits, name);
  return { buckets, cursor: next && JSON.stringify(next) };
}

/** The next limit whose rows can be judged: defined, or with rows that hold a call's config. Others belong to another set of limits. */
async function findNext(ctx: storage.Reader, limits: readonly Limit[], after?: string): Promise<storage.Cursor | null> {
  const row = await storage.readNextName(ctx, after);
  if (!row) return null;
  const { name, plan } = row;
  const isJudged = typeof plan === "object" || limitsOf(limits, name).length > 0;
  return isJudged ? [name] : await findNext(ctx, limits, name);
}

/** Deletes the rows of these buckets that still may go; says how many. */
export async function deleteFull(
  ctx: storage.Writer,
  targets: Targets,
  buckets: readonly storage.BucketId[],
): Promise<number> {
  const now = Date.now();
  const limits = parseTargets(targets);
  let deleted = 0;
  for (const bucket of buckets) {
    const all = await storage.readRows(ctx, bucket);
    const rows = rowsToDelete(limitsOf(limits, bucket.name), { ...bucket, rows: all }, now);
    await storage.write(ctx, { bucket, rows, contents: [] });
    deleted += rows.length;
  }
  return deleted;
}

/** One batch where the rows are at hand, in the same transaction. */
export async function sweepBatch(ctx: storage.Writer, batch: SweepArgs) {
  const { buckets, cursor } = await findFull(ctx, batch);
  for (const bucket of buckets) await storage.write(ctx, { bucket, rows: bucket.rows, contents: [] });
  return { deleted: buckets.reduce((sum, { rows }) => sum + rows.length, 0), cursor };
}

/** All limits that are defined: of one with plans that of each plan. @throws when one of the configs is invalid. */
function parseTargets(targets: Targets): Limit[] {
  return targets.flatMap(({ name, configs }) => configs.map((config) => parseLimit(name, config)));
}

const limitsOf = (limits: readonly Limit[], name: string) => limits.filter((limit) => limit.name === name);

/**
 * Overrides that are in force stay, and their configs count among those that a bucket must be full under. An override that cannot
 * be used, or one of several, continues to deny after its end.
 */
function rowsToDelete(limits: readonly Limit[], bucket: BucketRows, now: number): storage.Row[] {
  const { name, rows } = bucket;
  const [override, ...others] = overridesAmong(rows);
  if (others.length > 0) return [];
  try {
    if (override) parseOverride(name, override);
  } catch {
    return [];
  }
  const hasEnded = (override?.until ?? Infinity) <= now - SETTLED_MS;
  const isGoing = isFull(limits, bucket, hasEnded ? undefined : override, now);
  return rows.filter((row) => (storage.holdsTokens(row) ? isGoing : hasEnded));
}

/**
 * Whether a bucket is full under each plan of its definition, and under the config of a call that its rows were written under. A
 * damaged bucket is not: its rows stay, and continue to deny.
 */
function isFull(
  defined: readonly Limit[],
  { name, key, rows }: BucketRows,
  stored: RateLimitOverride | undefined,
  now: number,
): boolean {
  const isFullUnder = (limit: Limit) => {
    const settled = now - SETTLED_MS - (limit.kind.countsMs?.(limit) ?? 0);
    return shardsOf({ name, limit: limit.kind.forKey?.(limit, key) ?? limit, key }, rows).every((shard) => {
      const { value, window } = advance(shard, settled).state;
      // A window may remember tokens that count if the capacity is raised again.
      return shard.state.ts <= settled && value === shard.limit.capacity && !window?.excess;
    });
  };
  try {
    const written = planOf(rows);
    // A plan by its name is among those that are defined.
    const limits = typeof written === "object" ? [...defined, storedLimit({ name, key }, written)] : defined;
    const overridden = limits.flatMap((limit) => {
      const override = stored && overrideOf({ name, limit, key }, stored);
      return override?.limit ? [override.limit] : [];
    });
    return limits.length > 0 && [...limits, ...overridden].every(isFullUnder);
  } catch {
    return false;
  }
}
