/**
 * The door for kinds of limits. Everything that depends on the kind is a method of one `Kind` object; no other code
 * asks which kind a limit is. A new kind is a file here, a line in the registry (limit.ts), its fields (fields.ts), its
 * validator (wire/configs.ts), and an arbitrary in test/laws.
 */
import type { RateLimitConfig } from "../../wire/configs.js";
import type { Levels } from "../sharding/levels.js";

/**
 * A bucket holds `value` units at the time `ts` (ms since the epoch). The value is negative while units are owed. Time
 * before `ts` never counts again.
 */
export interface State {
  readonly value: number;
  readonly ts: number;
  /** How much the control row had counted when the state was written (control.ts); 0 if absent. */
  readonly seen?: number;
  /** For a kind with windows: when the window began that the bucket was in, and the units that were used in it. */
  readonly window?: Window;
  /** The units taken and when, oldest first, for a kind that remembers them. */
  readonly recent?: readonly Entry[];
  /** How much may come back of what was taken (headroom.ts); nothing if absent, unless a log says it. */
  readonly headroom?: readonly Entry[];
}

export interface Window {
  readonly since: number;
  /** Absent if all of the window is used, under any capacity. */
  readonly used?: number;
  /** Whether units are owed to reservations: their work starts in later windows, which pay for it. */
  readonly isReserved?: true;
}

/**
 * Units that were taken at a time, or are promised for it. `from` is the time of the first of several takes that were
 * joined, or that have a gift between them in one ms. With `all`, everything that a bucket holds was taken, under any
 * capacity; `units` are then what is owed besides or, below zero, what has been given back of it.
 */
export interface Entry {
  readonly at: number;
  readonly units: number;
  readonly from?: number;
  readonly all?: true;
}

/** When units were taken that come back, and when their work starts: later, if it was reserved. */
export interface Taking {
  readonly takenAt: number;
  readonly startsAt: number;
}

/** Made at `at`, it lets nothing start before `until`. `after`: the end of the pause that it extends. */
export interface Pause {
  readonly at: number;
  readonly until: number;
  readonly after?: number | undefined;
}

/** A parsed config with a name: every field is present, checked, and in units. */
export interface Limit {
  readonly name: string;
  readonly kind: Kind;
  /** The config that the limit was parsed from, with defaults filled in. */
  readonly config: RateLimitConfig;
  /** Which of the buckets of a key it is: limits with the same text share one (bucketNameOf in policy.ts). */
  readonly bucket: string | undefined;
  /** The tokens that a full bucket of the whole limit holds, also if this is a shard's part. */
  readonly tokens: number;
  readonly unitsPerToken: number;
  /** Units that arrive in each `periodMs`. */
  readonly refill: number;
  /** The length of a window in ms, on average; 1 if units arrive continuously. */
  readonly periodMs: number;
  /** The most units that a bucket holds. */
  readonly capacity: number;
  /** The most units that may be owed to reservations. */
  readonly maxReserved: number;
  /** How far a bucket may be split. */
  readonly levels: Levels;
}

/** When a reservation has its units, the state that holds it, and the units then owed after now. */
export interface Reservation {
  readonly at: number;
  readonly state: State;
  readonly owed: number;
}

/** Which part of a limit a shard is: the `index`-th of `count` equal ones. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

/**
 * Steps at which units arrive: at `start`, and every `period` ms after it, `count` times in all (default: for ever).
 */
export interface Run {
  readonly start: number;
  readonly period: number;
  readonly count?: number;
}

/** A state is *advanced* when its `ts` is now or later; the functions that change one want it so. */
export interface Kind<L extends Limit = Limit> {
  /** @param config - checked. @throws when fields that are each valid do not fit together. */
  parse(name: string, config: RateLimitConfig): L;
  /** The limit as it applies to one key; by default it is the same for all. */
  forKey?(limit: L, key: string | undefined): L;
  /** A shard's part of the limit. The parts of all shards add up to the limit. */
  shareOf(limit: L, share: Share): L;
  /** Whether what a bucket holds is lost unless it is taken in time; by default it is not. */
  lapses?(limit: L): boolean;

  // What clients need to say a status at any time.
  /**
   * The steps from a time on, if units arrive in steps. A kind without them keeps a log: each unit comes back a period
   * later.
   */
  runsFrom?(limit: L, ts: number): readonly Run[];
  /** The step after the last write of a state, if it brings fewer units than the others, and how many fewer. */
  shortStep?(limit: L, state: State): (Run & { readonly units: number }) | undefined;

  /** The state at `now`. A clock that steps back changes nothing: before `ts` the state is that of `ts`. */
  advance(limit: L, state: State, now: number): State;
  /** The first ms, from `ts` on, at which the state holds `units` (at most the capacity). */
  whenHolding(limit: L, state: State, units: number): number;
  /** When the next window starts, of a kind that is reset then; by default a bucket is reset when it is full. */
  whenReset?(limit: L, state: State, now: number): number;
  /** Takes units now, below zero if need be. */
  take(limit: L, advanced: State, units: number): State;
  /** Promises units for the first time at which the bucket can pay for them. */
  reserve(limit: L, advanced: State, units: number): Reservation;
  /** The first ms at which a reservation of `units` would owe no more than `maxReserved`. */
  whenReservable(limit: L, state: State, units: number): number;
  /**
   * Gives units back, never above capacity. With `taking`, no more than the bucket would hold if these units had never
   * been taken; without it they are a gift.
   */
  giveBack(limit: L, advanced: State, units: number, taking?: Taking): State;
  /** The state without the lease of this date, if it is there. Only for leases, which end after `periodMs`. */
  release?(limit: Limit, state: State, takenAt: number): State;
  /**
   * The state after a pause: at its end there is at most nothing, also under a larger capacity. What is promised for
   * later stays. A kind that gives leases starts nothing meanwhile, and that is all.
   */
  pause(limit: L, state: State, pause: Pause): State;
  /** Splits a state between two shares. */
  split(left: L, right: L, advanced: State): readonly [State, State];
  /** The states of several shards, all advanced to the same time, as one. It may remember more than a row does. */
  join(limit: L, advanced: readonly State[]): State;
}

/** No window or log counts more units as taken, half of MAX_UNITS (units.ts): more stand for everything. */
export const MOST_TAKEN = 2 ** 49;

/** A window of which this number of units is used: all of it if they are more than can be counted. */
export function withUsed({ used: _, ...window }: Window, used: number): Window {
  return used <= MOST_TAKEN ? { ...window, used } : window;
}

/** The most units that one reservation can ever get: a log promises no more than it holds. */
export function mostReservedOf({ kind, capacity, maxReserved }: Limit): number {
  return kind.runsFrom ? capacity + maxReserved : capacity;
}

/** Units that arrive per ms, on average. */
export function unitsPerMs({ refill, periodMs }: Limit): number {
  return refill / periodMs;
}

/** A bucket without a row: it was never used, or it was full again and swept. */
export function fullState(limit: Limit): State {
  return { value: limit.capacity, ts: 0 };
}

/** A bucket from which everything has just been taken. */
export function emptyState(limit: Limit, now: number): State {
  const { kind, capacity } = limit;
  return kind.take(limit, kind.advance(limit, fullState(limit), now), capacity);
}
