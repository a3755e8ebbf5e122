/**
 * Which part of a bucket a row stands for: an interval of [0, 1), named by the binary digits with which all of its
 * points begin. "0" and "1" are the halves of a bucket, "00" to "11" its quarters. Rows of a bucket are none (it is
 * full) or tile [0, 1), so the digits of exactly one row begin those of each point. It comes last of the rows up to the
 * point, in the order of strings.
 */

/** Its length is the level of splitting; its first digits name the shallower intervals around it. */
export type Interval = string;

/** The whole bucket. */
export const WHOLE: Interval = "";

export const MAX_LEVEL = 11;

/**
 * Enough for 10,000 calls a second: 1.12 attempts a call, with half as many rows 1.26. A transaction may read 4,096
 * ranges.
 */
export const MAX_SHARDS = 2 ** MAX_LEVEL;

/**
 * The `shard` of the control row (control.ts): after the row of the whole bucket and before those of its parts. So a
 * call that looks for the last row up to a point finds it without a second read, unless the bucket is split.
 */
export const CONTROL_SHARD = "!";

/** Whether a row's `shard` names a part of a split bucket. */
export function isPart(shard: string): boolean {
  return /^[01]+$/.test(shard) && shard.length <= MAX_LEVEL;
}

/** @param random - in [0, 1). */
export function pointAt(random: number): string {
  const digits = Math.floor(random * MAX_SHARDS).toString(2);
  return digits.padStart(MAX_LEVEL, "0");
}

export function halves(interval: Interval): [Interval, Interval] {
  return [`${interval}0`, `${interval}1`];
}

/** How much of [0, 1) parts that do not overlap cover together. */
export function widthOf(parts: readonly Interval[]): number {
  return parts.reduce((sum, part) => sum + 2 ** -part.length, 0);
}

/** Whether parts, in the order of strings, cover an interval exactly once. */
export function tile(whole: Interval, parts: readonly Interval[]): boolean {
  const isClear = parts.every((part, i) => part.startsWith(whole) && !parts[i + 1]?.startsWith(part));
  return isClear && widthOf(parts) === 2 ** -whole.length;
}

/** Names a row for as long as it stands for its part of a bucket: another part gets another row (storage/rows.ts). */
export function nameOfRow({ shard = WHOLE, _id }: { shard?: Interval | undefined; _id: string }): string {
  return `${shard} ${_id}`;
}

/** Where the part of a named row begins, in [0, 1); undefined for one that is none. */
export function startOf(named: string): number | undefined {
  const shard = named.slice(0, named.indexOf(" "));
  return isPart(shard) ? Number.parseInt(shard, 2) / 2 ** shard.length : undefined;
}
