/** Tokens, as callers give them and rows hold them ↔ whole units, as the engine counts them. */
import type { StoredState } from "../wire/snapshots.js";
import { type Entry, type Limit, type State, windowOf } from "./kinds/kind.js";
import { compact } from "./kinds/log.js";
import { damageError, show } from "./misuse.js";
import { END_OF_TIME } from "./time.js";

/** No value is further from zero than this: low enough that tokens → units → tokens gives the same number back. */
export const MAX_UNITS = 2 ** 50;

/** The most tokens that a config or an adjustment may name: beyond any real limit, and a unit is never more than a token. */
export const MAX_TOKENS = 1e12;

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

/** Whether a count is all that a bucket holds, up to the rounding of a sum of a few doubles: 10.000000000000002 of 10. */
export function isAllOf(capacity: number, count: number): boolean {
  return Math.abs(count - capacity) <= capacity * 4 * SNAP;
}

/** A count that is equal to the capacity as a number, up to the rounding of a sum of a few doubles, is equal in units. */
export function unitsOf(limit: Limit, count: number): number {
  const { capacity, unitsPerToken, tokens } = limit;
  // Most counts are far from it. A capacity of less than a unit is none.
  if (2 * Math.abs(count) > tokens && isAllOf(tokens, Math.abs(count)) && capacity > 0)
    return Math.sign(count) * capacity;
  return -floorUnits(-count, unitsPerToken);
}

/**
 * The state that a row holds, at most full: its capacity may have been lowered since. Fails closed.
 * @throws when the row cannot have been written by this package: nothing is let through until the bucket is reset.
 */
export function fromStored(limit: Limit, stored: StoredState, key: string | undefined): State {
  const { value, ts, recent, headroom, window } = stored;
  const { unitsPerToken, capacity } = limit;
  // A token is at least one unit, under any config that the row was written with.
  const isPlausible = Number.isFinite(value) && value <= MAX_TOKENS && value >= -MAX_UNITS;
  if (!(isPlausible && Number.isInteger(ts) && ts >= 0 && ts <= END_OF_TIME)) {
    throw unusableError(limit, key, "state", { value, ts });
  }
  const held = { value: Math.min(capacity, floorUnits(value, unitsPerToken)), ts };
  const state = window ? { ...held, window: windowFrom(limit, window, key) } : held;
  if (recent !== undefined) return { ...state, recent: entriesFrom(limit, "recent", recent, key) };
  return headroom === undefined ? state : { ...state, headroom: entriesFrom(limit, "headroom", headroom, key) };
}

function unusableError({ name }: Limit, key: string | undefined, what: string, fields: Record<string, unknown>): Error {
  const shown = Object.entries(fields).map(([field, value]) => `${field} ${show(value)}`);
  return damageError(name, key, `the stored ${what} is unusable (${shown.join(", ")})`);
}

function windowFrom(limit: Limit, window: NonNullable<StoredState["window"]>, key: string | undefined) {
  const { unitsPerToken } = limit;
  const { since, used, excess = 0, before = 0, loweredAt = 0 } = window;
  // More was never used: the units of a larger number overflow.
  const isPlausible = [used, excess].every((tokens) => tokens >= 0 && Number.isFinite(tokens * MAX_UNITS));
  // A window in which the kind changed begins between two ms (`markOf`).
  const areWhole = [2 * since, 2 * before, loweredAt].every(Number.isInteger);
  const areTimes = areWhole && Math.max(since, before, loweredAt) <= END_OF_TIME;
  if (!(areTimes && isPlausible)) throw unusableError(limit, key, "window", { since, used, excess });
  return windowOf({ ...window, used: ceilUnits(used, unitsPerToken), excess: ceilUnits(excess, unitsPerToken) });
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
  return stored.map(({ at, count }) => {
    // A pause lies between two ms (headroom.ts), and so does the mark of another kind (`markOf`).
    const isTime = Number.isInteger(2 * at) && at >= last && at <= END_OF_TIME;
    const isUsable = isTime && Number.isFinite(count) && count >= 0;
    if (!isUsable) throw unusableError(limit, key, `entry of ${field}`, { at, count });
    last = at;
    // Cut off before and after: the product of the largest numbers overflows.
    return { at, units: Math.min(MAX_UNITS, round(Math.min(MAX_UNITS, count), limit.unitsPerToken)) };
  });
}

export function toStored({ unitsPerToken }: Limit, { value, ts, recent, headroom, window }: State): StoredState {
  const inTokens = (entries: readonly Entry[]) =>
    entries.map(({ at, units }) => ({ at, count: units / unitsPerToken }));
  return {
    value: value / unitsPerToken,
    ts,
    // Several rows that have become one remember more than a row holds.
    ...(recent && { recent: inTokens(compact(recent, ts)) }),
    ...(headroom && { headroom: inTokens(headroom) }),
    ...(window && {
      window: windowOf({ ...window, used: window.used / unitsPerToken, excess: (window.excess ?? 0) / unitsPerToken }),
    }),
  };
}

/** A quotient or product of rounded numbers may lie just beside the whole number that it stands for: 0.3 / 0.1 * 1000. */
export function lowered(value: number): number {
  return value * (1 - 8 * SNAP);
}

export function raised(value: number): number {
  return value * (1 + 8 * SNAP);
}
