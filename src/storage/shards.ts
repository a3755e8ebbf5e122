/** Rows ↔ shards of one bucket: which rows a call has read, and what they stand for. */
import { applyControl, type Control, overrideError } from "../engine/control.js";
import { type Bucket, nameOf } from "../engine/bucket.js";
import { fullState, type Limit, type State } from "../engine/kinds/kind.js";
import { since } from "../engine/headroom.js";
import { damageError, show } from "../engine/misuse.js";
import { type Interval, isPart, pointAt, tile, WHOLE } from "../engine/sharding/interval.js";
import { charged, fold, fullShard, heldBy, merged, type Shard, shareOf, sumOf } from "../engine/sharding/shard.js";
import { fromStored, toStored } from "../engine/units.js";
import {
  type BucketId,
  controlOf,
  isControl,
  type Reader,
  readControl,
  readLast,
  readRows,
  type Row,
  type RowChange,
} from "./rows.js";

/** A shard as it is stored: in one row as a rule, in none when the bucket is full. */
export interface StoredShard extends Shard {
  readonly rows: readonly Row[];
}

/** What a call reads first: the control row, and all rows or, of a bucket that may be split, that of a random point. */
export interface Found {
  readonly control: Control;
  /** All rows at the name and key but the control row, of all kinds and periods; undefined if only `row` was read. */
  readonly rows?: readonly Row[] | undefined;
  /** The row that covers the point, or the one that was written last; null if there is none. */
  readonly row: Row | null;
  readonly point: string;
  /** The time of the call, if it has one. */
  readonly now?: number | undefined;
  /** How several rows become one. By default what they promised stays promised; a list nets what they owe. */
  readonly join?: typeof merged | undefined;
}

/** What says all shards of a bucket. */
type FoundRows = Omit<Found, "row" | "point">;

/** @param random - in [0, 1). */
export async function find(ctx: Reader, bucket: Bucket, random: number): Promise<Found> {
  const point = pointAt(random);
  const row = bucket.limit.levels.most > 0 ? await readLast(ctx, bucket, point) : undefined;
  if (row === undefined || (row && isControl(row))) return foundAmong(bucket, await readRows(ctx, bucket), point);
  // The control row lies between the whole and the parts.
  const controls = row && isPart(row.shard ?? WHOLE) ? await readControl(ctx, bucket) : [];
  return { control: controlAmong(bucket, controls), row, point };
}

/** What a call has found that has read all rows at a name and key. */
export function foundAmong(bucket: BucketId, all: readonly Row[], point = ""): Found & { rows: readonly Row[] } {
  const rows = all.filter((row) => !isControl(row));
  return { control: controlAmong(bucket, all), rows, row: latest(rows), point };
}

/** The control row of a bucket. @throws when there are several: nothing is let through until they are cleared. */
export function controlAmong(bucket: BucketId, rows: readonly Row[]): Control {
  const controls = rows.filter(isControl);
  if (controls.length > 1) throw overrideError(bucket, "There must be one, not several.");
  const control = controlOf(controls[0]);
  const { count, pause, reset, override } = control;
  const counts = [count, pause?.count ?? 0, reset?.count ?? 0];
  const isUsable = counts.every((seen) => Number.isInteger(seen) && seen >= 0 && seen <= count);
  const times = [pause?.at ?? 0, pause?.until ?? 0, reset?.at ?? 0];
  if (isUsable && times.every((time) => Number.isInteger(time) && time >= 0) && (count > 0 || override || !controls[0]))
    return control;
  throw overrideError(bucket, "It says nothing that can be used.");
}

/** The row that was written last: it says the plan of calls that name none. */
export function latest(rows: readonly Row[]): Row | null {
  return rows.reduce<Row | null>((last, row) => (last && last.ts > row.ts ? last : row), null);
}

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
  return await loadFirst(ctx, bucket, { ...found, row: await readLast(ctx, bucket, point), point });
}

/** The shards within an interval. */
export async function loadAll(ctx: Reader, bucket: Bucket, found: FoundRows, within = WHOLE): Promise<StoredShard[]> {
  const { rows = await readRows(ctx, bucket, within) } = found;
  return shardsOf(bucket, { ...found, rows }, within);
}

/** Whether a row is of the bucket that a limit has at its name and key: of its kind, and its period. */
export function isOf({ bucket }: Limit, row: Row): boolean {
  return row.bucket === bucket;
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
  const intervals = rows.map(({ shard = WHOLE }) => shard);
  const areTiles = tile(within, intervals);
  // None are a full bucket. A reset has made the others full, whatever is wrong with them.
  const isFull = within === WHOLE && !areTiles && rows.every((row) => isForgotten(row, control));
  if (isFull) return [{ ...controlled(fullShard(limit), control), rows }];
  const parts = rows.filter(({ shard }) => shard !== undefined);
  if (rows.length > 1 && parts.length < rows.length) return [mended(bucket, control, rows, parts)];
  const shards = rows.map((row) => fromRow(bucket, control, row));
  if (!areTiles) throw gapError(bucket);
  return joinedTo(limit, shards, found);
}

/** The shards of a bucket on the levels that its limit permits. */
function joinedTo(limit: Limit, shards: StoredShard[], { now = Infinity, join = merged }: FoundRows): StoredShard[] {
  const { most } = limit.levels;
  if (shards.every(({ interval }) => interval.length <= most)) return shards;
  const around = new Map<Interval, StoredShard[]>();
  for (const shard of shards) {
    const interval = shard.interval.slice(0, most);
    const others = around.get(interval);
    if (others) others.push(shard);
    else around.set(interval, [shard]);
  }
  return [...around].map(([interval, own]) => {
    const [only] = own;
    if (only && own.length === 1) return only;
    const rows = own.flatMap((shard) => shard.rows);
    // At the last write, unless a clock ahead has made that: what other rows have taken must not leave before its time.
    const last = Math.max(...rows.map(({ ts }) => ts));
    return { ...join(limit, own, Math.min(now, last), interval), rows };
  });
}

/**
 * Several rows that each stand for the whole bucket; one of them may have been split since. Runs that do not see each
 * other's rows leave them, such as a nested `runMutation` next to a call. All that any of them took counts as taken.
 * The result never holds more than any one of them.
 */
function mended(bucket: Bucket, control: Control, rows: readonly Row[], parts: readonly Row[]): StoredShard {
  const { limit } = bucket;
  const wholes = rows.filter(({ shard }) => shard === undefined).map((row) => fromRow(bucket, control, row));
  const shards: Shard[] = [...wholes, ...shardsOf(bucket, { control, rows: parts })];
  const last = rows.reduce((time, { ts }) => Math.max(time, ts), 0);
  const whole = fold(limit, shards, last);
  const taken = sumOf(shards, (shard) => shard.limit.capacity - heldBy(shard, last));
  // Kinds that remember what was taken hold this already. For others the sum counts the capacity for each row.
  const { state } = charged(whole, whole.state.value - (limit.capacity - taken));
  // The windows' use adds up: it counts no capacity.
  const { window } = whole.state;
  return { interval: WHOLE, limit, state: { ...state, ...(window && { window }) }, rows };
}

function fromRow({ limit, key, plan }: Bucket, control: Control, row: Row): StoredShard {
  const { shard, shard: interval = WHOLE } = row;
  if (shard !== undefined && !isPart(shard)) {
    throw damageError(limit.name, key, `the stored shard ${show(shard)} is unusable`);
  }
  const share = shareOf(limit, interval);
  const state = isForgotten(row, control) ? { ...fullState(share), ts: row.ts } : fromStored(share, row, key);
  const known = nameOf(row.plan) === nameOf(plan) ? state : remembered(share, state);
  return { ...controlled({ interval, limit: share, state: known }, control), rows: [row] };
}

/** Under a larger plan than it was written under, more may come back than this one ever held; a log says how much. */
function remembered({ capacity }: Limit, state: State): State {
  const { headroom, recent, ts, value } = state;
  return headroom && !recent ? { ...state, headroom: since(headroom, ts + 1, capacity - value) } : state;
}

/** Whether the control row says that a row is full, since it was written before a reset. */
function isForgotten({ seen = 0, ts }: Row, { reset }: Control): boolean {
  return seen < (reset?.count ?? 0) && Number.isInteger(ts);
}

function controlled(shard: Shard, control: Control): Shard {
  return control.count === 0 ? shard : { ...shard, state: applyControl(shard.limit, shard.state, control) };
}

function gapError({ limit, key }: Bucket): Error {
  return damageError(limit.name, key, "the stored shards overlap or leave a gap");
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
