/**
 * Sweeping: deleting the rows of buckets that are full again, since they mean the same as no rows, and what no longer
 * holds of control rows.
 */
import { type Control, forgottenUntil, overrideOf, parseOverride, pausedUntil } from "../engine/control.js";
import type { Limit } from "../engine/kinds/kind.js";
import { checkLimit, limitLeftIn, parseChecked, parseLimit } from "../engine/kinds/limit.js";
import { isPart } from "../engine/sharding/interval.js";
import type { Shard } from "../engine/sharding/shard.js";
import { BATCH_ROWS, type BucketRows, readCursor, walk } from "../storage/batches.js";
import * as storage from "../storage/rows.js";
import { foundAmong, isOf } from "../storage/found.js";
import { shardsOf } from "../storage/shards.js";
import type { SweepArgs } from "../wire/admin.js";
import { bucketsAmong } from "./list.js";

/**
 * A bucket's rows are deleted when it has been full and unwritten for this long. The clocks of servers differ by less
 * than a minute, so all agree that it is full, and none is about to write it. After the same time all agree that an
 * override has ended.
 */
const SETTLED_MS = 60_000;

type Targets = SweepArgs["targets"];

/**
 * The buckets of one batch (of one limit) with the rows that go, and the cursor of the next batch; null after the last.
 */
export async function findFull(ctx: storage.Reader, { targets, cursor }: SweepArgs) {
  const now = Date.now();
  checkTargets(targets);
  const from = cursor === undefined ? await findNext(ctx, targets) : readCursor(cursor);
  const buckets: BucketRows[] = [];
  if (!from) return { buckets, cursor: null };
  const [name] = from;
  let next: storage.Cursor | null = null;
  const defined = limitsOf(targets, name);
  // A split bucket in use keeps its rows, and to read all in one transaction would conflict with each call on it.
  const isHot = ({ shard = "", ts }: storage.Row) => isPart(shard) && ts > now - SETTLED_MS;
  for await (const bucket of walk(ctx, from, BATCH_ROWS, isHot)) {
    const rows = bucket.rows.some(isHot) ? [] : rowsToDelete(defined, bucket, now);
    if (rows.length > 0) buckets.push({ ...bucket, rows });
    next = bucket.next;
  }
  next ??= await findNext(ctx, targets, name);
  return { buckets, cursor: next && JSON.stringify(next) };
}

/**
 * The next limit whose rows can be judged: defined, or with rows that hold a call's config. Others belong to another
 * set of limits. A control row, which holds none, may come first.
 */
async function findNext(ctx: storage.Reader, targets: Targets, after?: string): Promise<storage.Cursor | null> {
  // A transaction may read 4,096 ranges. The next batch goes on after the last name.
  const MOST_NAMES = 1000;
  let name = after ?? "";
  for (let names = 0; names < MOST_NAMES; names++) {
    const row = await storage.readNextName(ctx, name);
    if (!row) return null;
    name = row.name;
    const isOfCalls = typeof row.plan === "object" || storage.isControl(row);
    if (isOfCalls || targets.some((own) => own.name === name)) return [name];
  }
  return [`${name}\0`];
}

/** Deletes the rows of these buckets that still may go; says how many. */
export async function deleteFull(
  ctx: storage.Writer,
  targets: Targets,
  buckets: readonly storage.BucketId[],
): Promise<number> {
  const now = Date.now();
  checkTargets(targets);
  const names = new Set(buckets.map(({ name }) => name));
  const defined = new Map(Array.from(names, (name) => [name, limitsOf(targets, name)]));
  let deleted = 0;
  for (const bucket of buckets) {
    const all = await storage.readRows(ctx, bucket);
    const rows = rowsToDelete(defined.get(bucket.name), { ...bucket, rows: all }, now);
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

/** @throws when one of the configs has an invalid field. */
function checkTargets(targets: Targets): void {
  for (const { name, configs } of targets) for (const config of configs) checkLimit(name, config);
}

/**
 * A limit as it is defined, with plans as each of them says. Undefined for one that a deploy has made uncountable:
 * its calls are refused, and it does not stop the sweep of others.
 */
function limitsOf(targets: Targets, name: string): Limit[] | undefined {
  const configs = targets.flatMap((own) => (own.name === name ? own.configs : []));
  try {
    return configs.map((config) => parseChecked(name, config));
  } catch {
    return undefined;
  }
}

/**
 * An override that is in force counts among what a bucket must be full under. One that cannot be used continues to deny
 * after its end.
 */
function rowsToDelete(defined: readonly Limit[] | undefined, bucket: BucketRows, now: number): storage.Row[] {
  if (!defined) return [];
  try {
    const { control, rows } = foundAmong(bucket, bucket.rows);
    const { override } = control;
    if (override) parseOverride(bucket.name, override);
    const hasEnded = !override || (override.until ?? Infinity) <= now - SETTLED_MS;
    const held = hasEnded ? { ...control, override: undefined } : control;
    const isFullWith = (own: readonly storage.Row[]) => isFull(defined, { ...bucket, rows: own }, held, now);
    const going = bucketsAmong(rows).filter(isFullWith).flat();
    // Without a definition, the configs of the calls have judged it with their rows.
    const isJudged = defined.length === 0 && rows.length > 0;
    const isLast = going.length === rows.length && (isJudged || isFullWith([]));
    const holdsUntil = Math.max(pausedUntil(control), forgottenUntil(control));
    const goes = hasEnded && (control.count === 0 || (holdsUntil <= now - SETTLED_MS && isLast));
    return goes ? [...going, ...bucket.rows.filter(storage.isControl)] : going;
  } catch {
    return [];
  }
}

/**
 * Whether one of the buckets at a key is full under each plan of its definition, and under the config of a call that
 * its rows were written under. A damaged bucket is not: its rows stay, and continue to deny.
 */
function isFull(defined: readonly Limit[], { name, key, rows }: BucketRows, control: Control, now: number): boolean {
  const isFullUnder = (limit: Limit) => {
    const settled = now - SETTLED_MS - rememberedMs(limit);
    // A row may have been filled since a pause: without it the pause would have left less.
    const shards = [rows, []].flatMap((own) => shardsOf({ name, limit, key }, { control, rows: own }));
    return shards.every((shard) => isFullSince(shard, settled));
  };
  const own = rows.flatMap(({ plan }) => (typeof plan === "object" ? [parseLimit(name, plan)] : []));
  const limits = [...defined, ...own].map((limit) => limit.kind.forKey?.(limit, key) ?? limit);
  const overridden = limits.flatMap((limit) => overrideOf({ name, limit, key }, control, now)?.limit ?? []);
  const judged = [...limits, ...overridden].filter((limit) => rows.every((row) => isOf(limit, row)));
  if (judged.length > 0) return judged.every(isFullUnder);
  const [row] = rows;
  // A reset left this control row of a limit that is not defined.
  if (!row && limits.length === 0) return !control.pause && (control.reset?.at ?? 0) <= now - SETTLED_MS;
  const left = row && limits.length > 0 ? limitLeftIn(name, row.bucket) : undefined;
  // A window's debt is paid at a rate that nobody knows; what a log owes leaves with its entries.
  return left !== undefined && (!left.kind.runsFrom || rows.every(({ value }) => value >= 0)) && isFullUnder(left);
}

function isFullSince({ limit, state }: Shard, time: number): boolean {
  return state.ts <= time && limit.kind.advance(limit, state, time).value === limit.capacity;
}

/**
 * A window's row stays for one window more: it says when its windows began. Those of a calendar may be longer than the
 * average.
 */
function rememberedMs({ kind, periodMs, config }: Limit): number {
  if (!kind.whenReset) return 0;
  return typeof config.period === "string" ? 2 * periodMs : periodMs;
}
