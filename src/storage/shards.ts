/** Rows ↔ shards of one bucket: what the rows that a call has read stand for. */
import { applyControl, type Control, countKnownTo } from "../engine/control.js";
import { type Bucket, nameOf } from "../engine/bucket.js";
import { emptyState, fullState, type Limit, type State } from "../engine/kinds/kind.js";
import { since } from "../engine/headroom.js";
import { compact } from "../engine/kinds/log.js";
import { damageError, show } from "../engine/misuse.js";
import { halves, type Interval, isPart, pointAt, tile, WHOLE } from "../engine/sharding/interval.js";
import { charged, fold, fullShard, heldBy, merged, type Shard, shareOf, sumOf } from "../engine/sharding/shard.js";
import { fromStored, toStored } from "../engine/units.js";
import { findAt, type Found, isOf } from "./found.js";
import { isControl, type Reader, readRows, type Row, type RowChange } from "./rows.js";

/** A shard as it is stored: in one row as a rule, in none when the bucket is full. */
export interface StoredShard extends Shard {
  readonly rows: readonly Row[];
}

/** The part of what a call has found that says all shards of a bucket. */
type FoundRows = Omit<Found, "row" | "point">;

/** The shard that a call has found. */
export async function loadFirst(ctx: Reader, bucket: Bucket, found: Found): Promise<StoredShard> {
  const { control, rows, row, point } = found;
  const { limit } = bucket;
  const { most } = limit.levels;
  const { shard: interval = WHOLE } = row ?? {};
  const isOwn = row && !rows && point.startsWith(interval) && isOf(limit, row);
  // No row before the point: there is none, or the first was deleted by hand. Only all rows tell, so none is missed.
  const shards =
    isOwn && interval.length <= most
      ? [fromRow(bucket, control, row)]
      : await loadAll(ctx, bucket, found, isOwn ? interval.slice(0, most) : WHOLE);
  const shard = shards.find((own) => point.startsWith(own.interval));
  if (!shard) throw gapError(bucket);
  return shard;
}

/** The shard that covers another random point. */
export async function loadAt(ctx: Reader, bucket: Bucket, found: Found, random: number): Promise<StoredShard> {
  const point = pointAt(random);
  return await loadFirst(ctx, bucket, { ...found, row: await findAt(ctx, bucket, point), point });
}

/** The shards within an interval. */
export async function loadAll(ctx: Reader, bucket: Bucket, found: FoundRows, within = WHOLE): Promise<StoredShard[]> {
  const { rows = await readRows(ctx, bucket, within) } = found;
  return shardsOf(bucket, { ...found, rows }, within);
}

/**
 * All rows of a bucket, or those within an interval → its shards. Each is counted by its share of the limit as it is
 * now: a changed config has the same effect on a row as on a bucket of one row. Smaller rows than the limit permits now
 * count as one with those around them, since the share of such a row may be nothing, which pays no debt.
 */
export function shardsOf(bucket: Bucket, found: FoundRows & { rows: readonly Row[] }, within = WHOLE): StoredShard[] {
  const { limit } = bucket;
  const { control } = found;
  const own = found.rows.filter((row) => !isControl(row) && isOf(limit, row));
  const rows = own.filter(({ shard = WHOLE }) => shard.startsWith(within));
  const areTiles = tile(
    within,
    rows.map(({ shard = WHOLE }) => shard),
  );
  // None are a full bucket. A reset has made the others full, also if something is wrong with them.
  const isFull = within === WHOLE && !areTiles && rows.every((row) => isForgotten(row, control));
  if (isFull) return [{ ...controlled(fullShard(limit), control), rows }];
  const shards = rows.map((row) => fromRow(bucket, control, row));
  const isArranged = areTiles && shards.every(({ interval }) => interval.length <= limit.levels.most);
  return isArranged ? shards : arranged(bucket, shards, found, within);
}

/**
 * The shards of an interval. Rows below the levels that the limit permits become one, as do rows that overlap. Runs
 * leave these that do not see each other's rows, such as a nested `runMutation` next to a call.
 * @throws when rows leave a gap, and no reset has repaired it.
 */
function arranged(bucket: Bucket, shards: readonly StoredShard[], found: FoundRows, interval: Interval): StoredShard[] {
  const { limit } = bucket;
  const { now = Infinity, join = merged } = found;
  if (shards.length === 0) return [missing(bucket, found.control, interval)];
  const own = shards.filter((shard) => shard.interval === interval);
  const partsOf = (half: Interval) => {
    const within = shards.filter((shard) => shard.interval.startsWith(half));
    return arranged(bucket, within, found, half);
  };
  const all = own.length === shards.length ? own : [...own, ...halves(interval).flatMap(partsOf)];
  if (all.length === 1 || (own.length === 0 && interval.length !== limit.levels.most)) return all;
  const rows = all.flatMap((shard) => shard.rows);
  const last = Math.max(...all.map(({ state }) => state.ts));
  if (own.length > 0) return [{ ...mended(limit, all, last, interval), rows }];
  // At the last write, unless a clock ahead has made that: what other rows have taken must not leave before its time.
  const one = join(limit, all, Math.min(now, last), interval);
  const { state } = one;
  const { recent } = state;
  // As its row will hold them: the times of a thousand rows are too many for a search.
  return [{ ...one, state: recent ? { ...state, recent: compact(recent, state.ts) } : state, rows }];
}

/** A part without a row. After a reset it is empty, not full: nobody knows what was taken since. */
function missing(bucket: Bucket, control: Control, interval: Interval): StoredShard {
  const { reset } = control;
  if (!reset) throw gapError(bucket);
  const limit = shareOf(bucket.limit, interval);
  const state = { ...emptyState(limit, reset.at), seen: reset.count };
  return { ...controlled({ interval, limit, state }, control), rows: [] };
}

/**
 * Shards that overlap, as one: all that was taken from any of them counts as taken. It never holds more than any one of
 * them.
 */
function mended(whole: Limit, shards: readonly Shard[], now: number, interval: Interval): Shard {
  const one = fold(whole, shards, now, interval);
  const { limit, state } = one;
  const taken = sumOf(shards, (shard) => shard.limit.capacity - heldBy(shard, now));
  // Kinds that remember what was taken hold this already. For others the sum counts the capacity for each row.
  const after = charged(one, state.value - (limit.capacity - taken)).state;
  // The windows' use adds up: it counts no capacity.
  return { ...one, state: { ...after, ...(state.window && { window: state.window }) } };
}

function fromRow({ limit, key, plan }: Bucket, control: Control, row: Row): StoredShard {
  const { shard, shard: interval = WHOLE } = row;
  if (shard !== undefined && !isPart(shard)) {
    throw damageError(limit.name, key, `the stored shard ${show(shard)} is unusable`);
  }
  const share = shareOf(limit, interval);
  // The time of a damaged row may be none.
  const ts = Number.isInteger(row.ts) ? row.ts : 0;
  const state = isForgotten(row, control) ? { ...fullState(share), ts } : fromStored(share, row, key);
  const known = nameOf(row.plan) === nameOf(plan) ? state : remembered(share, state);
  return { ...controlled({ interval, limit: share, state: known }, control), rows: [row] };
}

/** Under a larger plan than it was written under, more may come back than this one ever held; a log says how much. */
function remembered({ capacity }: Limit, state: State): State {
  const { headroom, recent, ts, value } = state;
  return headroom && !recent ? { ...state, headroom: since(headroom, ts + 1, capacity - value) } : state;
}

/** Whether the control row says that a row is full, since it was written before a reset. */
export function isForgotten(row: Row, control: Control): boolean {
  return countKnownTo(row, control) < (control.reset?.count ?? 0);
}

function controlled(shard: Shard, control: Control): Shard {
  return control.count === 0 ? shard : { ...shard, state: applyControl(shard.limit, shard.state, control) };
}

function gapError({ limit, key }: Bucket): Error {
  return damageError(limit.name, key, "the stored shards leave a gap");
}

/** The changed shards, in the place of their rows. A shard that is in both lists is not written. */
export function changeOf(bucket: Bucket, before: readonly StoredShard[], after: readonly Shard[]): RowChange {
  const { limit } = bucket;
  const [were, are] = [new Set<Shard>(before), new Set(after)];
  const rows = before.flatMap((shard) => (are.has(shard) ? [] : shard.rows));
  const changed = after.filter((shard) => !were.has(shard));
  const contents = changed.map(({ interval, state }) => ({
    ...toStored(limit, state),
    ...(interval !== WHOLE && { shard: interval }),
  }));
  return { bucket, rows, contents };
}
