/** Rows ↔ shards of one bucket: which rows a call has read, and what they stand for. */
import type { Limit } from "../engine/kinds/kind.js";
import { damageError, show } from "../engine/misuse.js";
import { isPart, pointAt, tile, WHOLE } from "../engine/sharding/interval.js";
import { fold, fullShard, heldBy, type Shard, shareOf, sumOf } from "../engine/sharding/shard.js";
import { fromStored, toStored } from "../engine/units.js";
import { areEqual, type Bucket, storedConfig, type StoredPlan, storedLimit } from "../engine/bucket.js";
import type { RateLimitConfig } from "../wire/configs.js";
import { holdsTokens, type Reader, readLast, readRows, type Row, type RowChange } from "./rows.js";

/** A shard as it is stored: in one row as a rule, in none when the bucket is full. */
export interface StoredShard extends Shard {
  readonly rows: readonly Row[];
}

/** The shard that covers a random point, or that of a row that has been read. @param random - in [0, 1). */
export async function loadAt(ctx: Reader, bucket: Bucket, random: number, known?: Row | null): Promise<StoredShard> {
  const point = known?.shard ?? pointAt(random);
  const row = known ?? (await readLast(ctx, bucket, point));
  // No row before the point: the bucket has none, or its first one was deleted by hand. Only all rows tell, and nothing may be granted twice.
  const shards = row && wasSplitUnder(row, bucket) ? [fromRow(bucket, row)] : await loadAll(ctx, bucket);
  const shard = shards.find(({ interval }) => point.startsWith(interval));
  if (!shard) throw gapError(bucket);
  return shard;
}

/** The shards within an interval. */
export async function loadAll(ctx: Reader, bucket: Bucket, within = WHOLE): Promise<StoredShard[]> {
  return shardsOf(bucket, await readRows(ctx, bucket, within), within);
}

/**
 * All rows of a bucket, or those within an interval → its shards. A bucket that was split under another config counts as one shard,
 * in the state that it had under that config at its last write. A change of config thus has the same effect as on one row: the new
 * config applies to all arrivals since.
 */
export function shardsOf(bucket: Bucket, all: readonly Row[], within = WHOLE): StoredShard[] {
  const { limit, key } = bucket;
  const rows = all.filter(holdsTokens);
  const [first] = rows;
  if (!first) return [{ ...fullShard(limit), rows }];
  const parts = rows.filter(({ shard }) => shard !== undefined);
  if (rows.length > 1 && parts.length < rows.length) return [mended(bucket, rows, parts)];
  if (wasSplitUnder(first, bucket)) return tiling(bucket, rows, within);
  if (!first.config) throw gapError(bucket);
  const former = { ...bucket, limit: storedLimit(bucket, first.config), plan: first.plan };
  const lastWrite = Math.max(...rows.map(({ ts }) => ts));
  const { state } = fold(former.limit, tiling(former, rows), lastWrite);
  return [{ interval: WHOLE, limit, state: fromStored(limit, toStored(former.limit, state), key), rows }];
}

/**
 * Several rows that each stand for the whole bucket; one of them may have been split since. Runs that do not see each other's rows leave them,
 * such as a nested `runMutation` next to a call. All that any of them took counts as taken. The result never holds more than any one of them.
 */
function mended(bucket: Bucket, rows: readonly Row[], parts: readonly Row[]): StoredShard {
  const { limit } = bucket;
  const wholes = rows.filter(({ shard }) => shard === undefined).map((row) => fromRow(bucket, row));
  const shards: Shard[] = [...wholes, ...shardsOf(bucket, parts)];
  const latest = rows.reduce((time, { ts }) => Math.max(time, ts), 0);
  const { state } = fold(limit, shards, latest);
  const taken = sumOf(shards, (shard) => shard.limit.capacity - heldBy(shard, latest));
  // Kinds that remember what was taken hold this already. For the others, the sum counts the capacity once for each row.
  const surplus = state.value - (limit.capacity - taken);
  // The windows' use adds up: it counts no capacity.
  const mended = { ...limit.kind.take(limit, state, surplus), window: state.window };
  return { interval: WHOLE, limit, state: mended, rows };
}

function tiling(bucket: Bucket, rows: readonly Row[], whole = WHOLE): StoredShard[] {
  const shards = rows.map((row) => fromRow(bucket, row));
  const intervals = shards.map(({ interval }) => interval);
  const isTiled = tile(whole, intervals) && rows.every((row) => wasSplitUnder(row, bucket));
  if (!isTiled) throw gapError(bucket);
  return shards;
}

function fromRow({ limit, key }: Bucket, row: Row): StoredShard {
  const { shard, shard: interval = WHOLE } = row;
  if (shard !== undefined && !isPart(shard)) {
    throw damageError(limit.name, key, `the stored shard ${show(shard)} is unusable`);
  }
  const share = shareOf(limit, interval);
  return { interval, limit: share, state: fromStored(share, row, key), rows: [row] };
}

function gapError({ limit, key }: Bucket): Error {
  return damageError(limit.name, key, "the stored shards overlap or leave a gap");
}

/** The fields that decide how a limit's shares are cut and filled: all of its config but the bounds on reservations and rows. */
function splitConfig({ config }: Limit): RateLimitConfig {
  return storedConfig({ ...config, maxReserved: undefined });
}

/**
 * Rows of a plan with another name are written anew, even if they are cut alike, so that all rows name the same plan. A config of a
 * call needs no name: the config that the rows were cut under is compared.
 */
function wasSplitUnder({ shard, config, plan }: Row, bucket: Bucket): boolean {
  if (shard === undefined) return true;
  return nameOf(plan) === nameOf(bucket.plan) && areEqual(splitConfig(bucket.limit), config);
}

/** The name of a plan; a config of a call has none. */
export function nameOf(plan: StoredPlan | undefined): string | undefined {
  return typeof plan === "string" ? plan : undefined;
}

/** The plan or config that a bucket's rows were written under: the same for all. */
export function planOf(rows: readonly Row[]): StoredPlan | undefined {
  return rows.find(holdsTokens)?.plan;
}

/** The changed shards, in the place of their rows. A shard that is in both lists is not written. */
export function changeOf(bucket: Bucket, before: readonly StoredShard[], after: readonly Shard[]): RowChange {
  const { limit } = bucket;
  const [were, are] = [new Set<Shard>(before), new Set(after)];
  const rows = before.flatMap((shard) => (are.has(shard) ? [] : shard.rows));
  const changed = after.filter((shard) => !were.has(shard));
  const contents = changed.map(({ interval, state }) => ({
    ...toStored(limit, state),
    ...(interval !== WHOLE && { shard: interval, config: splitConfig(limit) }),
  }));
  return { bucket, rows, contents };
}
