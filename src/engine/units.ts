/** Tokens, as callers give them and rows hold them ↔ whole units, as the engine counts them. */
import type { StoredState } from "../wire/snapshots.js";
import { type Entry, type Limit, type State, type Window, withUsed } from "./kinds/kind.js";
import { bounded, compact } from "./kinds/log.js";
import { damageError, show } from "./misuse.js";
import { END_OF_TIME } from "./time.js";

/** No value is further from zero than this: low enough that tokens → units → tokens gives the same number back. */
export const MAX_UNITS = 2 ** 50;

/**
 * The most tokens that a config or an adjustment may name: beyond any real limit, and a unit is never more than a
 * token.
 */
export const MAX_TOKENS = 1e12;

/** The least rate that a config may name: a token in 1e12 periods. */
export const MIN_TOKENS = 1e-12;

/** Two units in the last place: what a decimal such as 0.29 can be off by after one multiplication. */
export const SNAP = 2 ** -51;

/** Tokens as whole units, rounded down (what is granted or stored). */
export function floorUnits(tokens: number, unitsPerToken: number): number {
  const units = tokens * unitsPerToken;
  return Math.floor(units + Math.abs(units) * SNAP);
}

/** Tokens as whole units, rounded up (what is charged). */
export function ceilUnits(tokens: number, unitsPerToken: number): number {
  // Not -floorUnits(): of 0 that is -0.
  return 0 - floorUnits(-tokens, unitsPerToken);
}

/**
 * A count in units: a charge is rounded up, a refund down, and both are cut off at what any bucket can hold or owe. A
 * count that is equal to the capacity as a number is equal in units, also 10.000000000000002 of 10, a sum of doubles.
 */
export function unitsOf(limit: Limit, count: number): number {
  const { capacity, unitsPerToken, tokens } = limit;
  const isAll = Math.abs(Math.abs(count) - tokens) <= tokens * 4 * SNAP;
  // A capacity of less than a unit is none.
  if (isAll && capacity > 0) return Math.sign(count) * capacity;
  const MOST = 2 * MAX_UNITS;
  const counted = Math.max(-MOST, Math.min(MOST, count));
  return Math.max(-MOST, Math.min(MOST, -floorUnits(-counted, unitsPerToken)));
}

/**
 * The state that a row holds, at most full: its capacity may have been lowered since. Fails closed.
 * @throws when the row cannot have been written by this package: nothing is let through until the bucket is reset.
 */
export function fromStored(limit: Limit, stored: StoredState, key: string | undefined): State {
  const { value, ts, seen = 0, window, recent, headroom } = stored;
  const { unitsPerToken, capacity } = limit;
  // A token is at least one unit, under any config that the row was written with.
  const isPlausible = Number.isFinite(value) && value <= MAX_TOKENS && value >= -MAX_UNITS;
  const isDated = Number.isInteger(ts) && ts >= 0 && ts <= END_OF_TIME;
  if (!(isPlausible && isDated && Number.isInteger(seen)))
    throw unusableError(limit, key, "state", { value, ts, seen });
  const held = Math.min(capacity, floorUnits(value, unitsPerToken));
  // A log that was lost does not say that nothing was taken.
  const isLogLost = !limit.kind.runsFrom && !recent && held < capacity;
  return {
    value: held,
    ts,
    ...(isLogLost && { recent: [bounded({ at: ts, units: capacity - held })] }),
    ...(seen > 0 && { seen }),
    ...(window && { window: windowFrom(limit, window, key) }),
    ...(recent && { recent: entriesFrom(limit, "recent", recent, key).map(bounded) }),
    ...(headroom && { headroom: entriesFrom(limit, "headroom", headroom, key) }),
  };
}

function isTime(time: number): boolean {
  return Number.isInteger(time) && time >= 0 && time <= END_OF_TIME;
}

function unusableError({ name }: Limit, key: string | undefined, what: string, fields: Record<string, unknown>): Error {
  const shown = Object.entries(fields).map(([field, value]) => `${field} ${show(value)}`);
  return damageError(name, key, `the stored ${what} is unusable (${shown.join(", ")})`);
}

function windowFrom(limit: Limit, stored: NonNullable<StoredState["window"]>, key: string | undefined): Window {
  const { used, ...window } = stored;
  const { since } = window;
  // The first window of a bucket may have begun before 1970.
  const isDated = Number.isInteger(since) && Math.abs(since) <= END_OF_TIME;
  if (!isDated || !(used === undefined || (Number.isFinite(used) && used >= 0)))
    throw unusableError(limit, key, "window", { since, used });
  return withUsed(window, used === undefined ? Infinity : ceilUnits(Math.min(MAX_UNITS, used), limit.unitsPerToken));
}

function entriesFrom(
  limit: Limit,
  field: "recent" | "headroom",
  stored: NonNullable<StoredState["recent"]>,
  key: string | undefined,
): Entry[] {
  // Tokens taken are rounded up, tokens that may come back are rounded down.
  const round = field === "recent" ? ceilUnits : floorUnits;
  let last = 0;
  return stored.map(({ count, ...entry }) => {
    const { at, from = at, all } = entry;
    const isCount = Number.isFinite(count) && count >= (all ? -MAX_TOKENS : 0);
    const isUsable = isTime(at) && at >= last && isTime(from) && isCount;
    if (!isUsable) throw unusableError(limit, key, `entry of ${field}`, { at, count });
    last = at;
    // Cut off, since the product of the largest numbers overflows.
    return { ...entry, units: round(Math.min(MAX_UNITS, count), limit.unitsPerToken) };
  });
}

/** A state as a row holds it, and which of the buckets at a key it is of. */
type StoredRow = StoredState & { readonly bucket?: string };

export function toStored(limit: Limit, { value, ts, seen, window, recent, headroom }: State): StoredRow {
  const { unitsPerToken } = limit;
  const store = (entries: readonly Entry[]) =>
    entries.map(({ units, ...entry }) => ({ ...entry, count: units / unitsPerToken }));
  return {
    value: value / unitsPerToken,
    ts,
    ...(limit.bucket && { bucket: limit.bucket }),
    ...(seen && { seen }),
    ...(window && { window: { ...window, ...(window.used !== undefined && { used: window.used / unitsPerToken }) } }),
    // Several rows that have become one remember more than a row holds.
    ...(recent && { recent: store(compact(recent, ts)) }),
    ...(headroom && { headroom: store(headroom) }),
  };
}
