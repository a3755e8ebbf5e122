/** States as they are stored, in tokens ↔ states as the engine counts them, in units. */
import type { Entry, Limit, State } from "./kinds/kind.js";
import { damageError, show } from "./misuse.js";
import { END_OF_TIME } from "./time.js";
import { ceilUnits, floorUnits, MAX_TOKENS, MAX_UNITS } from "./units.js";

/** What was taken and when, as a row or a snapshot holds it: `count` tokens at `at`, in ms since the epoch. */
export interface StoredEntry {
  readonly at: number;
  readonly count: number;
}

/** A state as a row or a snapshot holds it: `value` tokens at `ts`, in ms since the epoch. */
export interface StoredState {
  readonly value: number;
  readonly ts: number;
  readonly recent?: readonly StoredEntry[] | undefined;
}

/**
 * The state that a row holds, at most full: its capacity may have been lowered since. Fails closed.
 * @throws when the row cannot have been written by this package: nothing is let through until the bucket is reset.
 */
export function fromStored(limit: Limit, stored: StoredState, key: string | undefined): State {
  const { value, ts, recent } = stored;
  const { unitsPerToken, capacity } = limit;
  // A token is at least one unit, whatever the config was when the row was written.
  const isPlausible = Number.isFinite(value) && value <= MAX_TOKENS && value >= -MAX_UNITS;
  if (!isPlausible || !isMoment(ts)) {
    throw damageError(limit.name, key, `the stored state is unusable (value ${show(value)}, ts ${show(ts)})`);
  }
  const state = { value: Math.min(capacity, floorUnits(value, unitsPerToken)), ts };
  if (recent === undefined) return state;
  return { ...state, recent: entriesFrom(limit, recent, key) };
}

function entriesFrom(limit: Limit, recent: readonly StoredEntry[], key: string | undefined): Entry[] {
  let last = 0;
  return recent.map(({ at, count }) => {
    if (!(isMoment(at) && at >= last && Number.isFinite(count) && count >= 0)) {
      throw damageError(limit.name, key, `the stored entry of recent is unusable (at ${show(at)}, count ${show(count)})`);
    }
    last = at;
    return { at, units: Math.min(MAX_UNITS, ceilUnits(count, limit.unitsPerToken)) };
  });
}

function isMoment(ts: number): boolean {
  return Number.isInteger(ts) && ts >= 0 && ts <= END_OF_TIME;
}

export function toStored({ unitsPerToken }: Limit, { value, ts, recent }: State): StoredState {
  return {
    value: value / unitsPerToken,
    ts,
    ...(recent && { recent: recent.map(({ at, units }) => ({ at, count: units / unitsPerToken })) }),
  };
}
