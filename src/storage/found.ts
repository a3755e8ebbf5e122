/** What a call reads first of a bucket: the control row, and one row or all. */
import { type Control, NO_CONTROL, overrideError } from "../engine/control.js";
import type { Bucket } from "../engine/bucket.js";
import type { Limit } from "../engine/kinds/kind.js";
import { isPart, pointAt, WHOLE } from "../engine/sharding/interval.js";
import type { merged } from "../engine/sharding/shard.js";
import {
  type BucketId,
  isControl,
  readAround,
  type Reader,
  readControl,
  readLast,
  readRows,
  type Row,
} from "./rows.js";

/** The control row, and all rows or, of a bucket that may be split, that of a random point. */
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

/** @param random - in [0, 1). */
export async function find(ctx: Reader, bucket: Bucket, random: number): Promise<Found> {
  const point = pointAt(random);
  const row = bucket.limit.levels.most > 0 ? await readLast(ctx, bucket, point) : undefined;
  if (row === undefined || (row && isControl(row))) return foundAmong(bucket, await readRows(ctx, bucket), point);
  // The control row lies between the whole and the parts.
  const controls = row && isPart(row.shard ?? WHOLE) ? await readControl(ctx, bucket) : [];
  return { control: controlAmong(bucket, controls), row: await ownAt(ctx, bucket, row, point), point };
}

/** The row of a bucket that covers a point. */
export async function findAt(ctx: Reader, bucket: Bucket, point: string): Promise<Row | null> {
  return await ownAt(ctx, bucket, await readLast(ctx, bucket, point), point);
}

/**
 * The row of a bucket that covers a point. The last row before the point is of another bucket if a deploy has changed
 * the limit's kind or period: rows of the former one lie between.
 */
async function ownAt(ctx: Reader, bucket: Bucket, last: Row | null, point: string): Promise<Row | null> {
  if (!last || isControl(last) || isOf(bucket.limit, last)) return last;
  return (await readAround(ctx, bucket, point)).findLast((row) => isOf(bucket.limit, row)) ?? last;
}

/** Whether a row is of the bucket that a limit has at its name and key: of its kind, and its period. */
export function isOf({ bucket }: Limit, row: Row): boolean {
  return row.bucket === bucket;
}

/** The finding of a call that has read all rows at a name and key. */
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

export function controlOf(row: Row | undefined): Control {
  return row ? { ...NO_CONTROL, ...row.control, ...(row.override && { override: row.override }) } : NO_CONTROL;
}

/** The row that was written last: it says the plan of calls that name none. */
export function latest(rows: readonly Row[]): Row | null {
  return rows.reduce<Row | null>((last, row) => (last && last.ts > row.ts ? last : row), null);
}
