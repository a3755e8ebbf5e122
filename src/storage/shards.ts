/** Rows ↔ shards of one bucket: which rows a call has read, and what they stand for. */
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import { damageError, show } from "../engine/misuse.js";
import type { Bucket } from "../engine/request.js";
import {
  covers,
  fromShard,
  type Interval,
  isSame,
  lastShardAt,
  shardsWithin,
  tile,
  toShard,
  WHOLE,
} from "../engine/sharding/interval.js";
import { fold, fullShard, type Shard, shareOf } from "../engine/sharding/shard.js";
import { fromStored, toStored } from "../engine/units.js";
import type { RateLimitConfig } from "../configs.js";
import {
  type Content,
  deleteRow,
  holdsTokens,
  insertRow,
  patchRow,
  type Reader,
  readLast,
  readRange,
  readRows,
  type Row,
  type Writer,
} from "./rows.js";

/** A shard as it is stored: in one row as a rule, in none when the bucket is full. */
export interface StoredShard extends Shard {
  readonly rows: readonly Row[];
}

/** The shard that covers a point; undefined when the bucket was split under another config, and so must be read whole. */
export async function loadAt(ctx: Reader, bucket: Bucket, point: number): Promise<StoredShard | undefined> {
  const row = await readLast(ctx, bucket, lastShardAt(point));
  if (!row) {
    // A bucket without rows is full; one whose first row is missing is not.
    if ((await readRows(ctx, bucket)).some(holdsTokens)) throw gapError(bucket);
    return { ...fullShard(bucket.limit), rows: [] };
  }
  const shard = fromRow(bucket, row);
  if (!covers(shard.interval, point)) throw gapError(bucket);
  return wasSplitUnder(row, bucket.limit) ? shard : undefined;
}

/** The shards within an interval that is not the whole; the bucket is known to be split under its limit's own config. */
export async function loadWithin(ctx: Reader, bucket: Bucket, interval: Interval): Promise<StoredShard[]> {
  const rows = await readRange(ctx, bucket, shardsWithin(interval));
  return tiling(bucket, interval, rows);
}

/** All shards; one, if there is no row or the bucket was split under another config. */
export async function loadAll(ctx: Reader, bucket: Bucket): Promise<StoredShard[]> {
  return shardsOf(bucket, await readRows(ctx, bucket));
}

/** All rows of a bucket → its shards. */
export function shardsOf(bucket: Bucket, all: readonly Row[]): StoredShard[] {
  const { limit } = bucket;
  const rows = all.filter(holdsTokens);
  if (rows.length === 0) return [{ ...fullShard(limit), rows }];
  if (rows.every((row) => wasSplitUnder(row, limit))) return tiling(bucket, WHOLE, rows);
  return [{ ...foldForeign(bucket, rows), rows }];
}

/**
 * A bucket that was split under another config, as one: as it stood under that config at its last write. So a change of config does
 * the same to a split bucket as to one row: what has come in since counts by the new one.
 */
function foldForeign(bucket: Bucket, rows: readonly Row[]): Shard {
  const { name, limit, key } = bucket;
  const config = rows[0]?.config;
  if (!config) throw gapError(bucket);
  const whole = parseLimit(name, config);
  const former = { ...bucket, limit: whole.kind.forKey(whole, key) };
  if (!rows.every((row) => wasSplitUnder(row, former.limit))) throw gapError(former);
  const shards = tiling(former, WHOLE, rows);
  const lastWrite = Math.max(...rows.map(({ ts }) => ts));
  const { state } = fold(former.limit, WHOLE, shards, lastWrite);
  return { interval: WHOLE, limit, state: fromStored(limit, toStored(former.limit, state), key) };
}

function tiling(bucket: Bucket, whole: Interval, rows: readonly Row[]): StoredShard[] {
  const shards = rows.map((row) => fromRow(bucket, row));
  const intervals = shards.map(({ interval }) => interval);
  if (!tile(whole, intervals)) throw gapError(bucket);
  return shards;
}

function fromRow(bucket: Bucket, row: Row): StoredShard {
  const { limit, key } = bucket;
  const interval = fromShard(row.shard);
  if (!interval) throw damageError(limit.name, key, `the stored shard ${show(row.shard)} is unusable`);
  const share = shareOf(limit, interval);
  return { interval, limit: share, state: fromStored(share, row, key), rows: [row] };
}

function gapError({ limit, key }: Bucket): Error {
  return damageError(limit.name, key, "the stored shards overlap or leave a gap");
}

/** What decides how a limit's shares are cut and filled: all of its config but the bounds on reservations and rows. */
function splitConfig({ config }: Limit): RateLimitConfig {
  const shared = { ...config };
  delete shared.shards;
  delete shared.maxReserved;
  return shared;
}

function wasSplitUnder({ shard, config }: Row, limit: Limit): boolean {
  if (shard === undefined) return true;
  const stored: Readonly<Record<string, unknown>> = config ?? {};
  const own = splitConfig(limit) as unknown as Readonly<Record<string, unknown>>;
  const fields = Object.keys(own).filter((field) => own[field] !== undefined);
  return fields.length === Object.keys(stored).length && fields.every((field) => own[field] === stored[field]);
}

/** Writes the shards that take the place of others, into as many of their rows as will do. */
export async function save(
  ctx: Writer,
  bucket: Bucket,
  before: readonly StoredShard[],
  after: readonly Shard[],
): Promise<void> {
  const free = before.flatMap(({ rows }) => rows);
  const places = after.map((shard) => ({ shard, row: takeOut(free, (row) => holds(row, shard)) }));
  for (const { shard, row } of places) {
    const target = row ?? takeOut(free, () => true);
    if (target) await patchRow(ctx, target, contentOf(bucket, shard));
    else await insertRow(ctx, bucket, contentOf(bucket, shard));
  }
  for (const row of free) await deleteRow(ctx, row);
}

function takeOut(rows: Row[], fits: (row: Row) => boolean): Row | undefined {
  const at = rows.findIndex(fits);
  return at < 0 ? undefined : rows.splice(at, 1)[0];
}

function holds({ shard }: Row, { interval }: Shard): boolean {
  const own = fromShard(shard);
  return own !== undefined && isSame(own, interval);
}

function contentOf({ limit }: Bucket, shard: Shard): Content {
  const content = toStored(limit, shard.state);
  const number = toShard(shard.interval);
  return number === undefined ? content : { ...content, shard: number, config: splitConfig(limit) };
}
