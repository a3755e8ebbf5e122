/**
 * The door for kinds of limits. Everything that depends on the kind is a method of one `Kind` object; no other code asks which
 * kind a limit is. A new kind is a file here, a line in the registry (limit.ts), its fields (fields.ts), its validator
 * (wire/configs.ts), and an arbitrary in test/laws.
 */
import type { ExactRateLimitStatus } from "../../wire/answers.js";
import type { RateLimitConfig } from "../../wire/configs.js";
import type { Levels } from "../sharding/levels.js";

/**
 * A bucket holds `value` units at the time `ts` (ms since the epoch). The value is negative while units are owed. Time before `ts`
 * never counts again.
 */
export interface State {
  readonly value: number;
  readonly ts: number;
  /** The units taken and when, oldest first, for a kind that remembers them. */
  readonly recent?: readonly Entry[];
  /** The least headroom since several times (headroom.ts), for a kind that keeps no log and takes that may be undone. */
  readonly headroom?: readonly Entry[];
  /** For a kind with windows, when the window began that the bucket was in, and what it was short of full. */
  readonly window?: Window;
}

/** The units that were used in a window, and when it began. They say what a row holds under another config. */
interface Window {
  readonly since: number;
  readonly used: number;
  /** Units that were used before under a larger capacity. They count if it is raised again, until later windows have brought as many. */
  readonly excess?: number;
  /** When the window began in which the last of the excess was used. */
  readonly before?: number;
  /** While more was used than the capacity, which was lowered: the last write before that. Units taken later are in the debt. */
  readonly loweredAt?: number;
}

/** Units that were taken at a time, or are promised for it. */
export interface Entry {
  readonly at: number;
  readonly units: number;
}

/** When units were taken that come back, and when their work starts: later, if it was reserved. */
export interface Taking {
  readonly takenAt: number;
  readonly startsAt: number;
}

/** A parsed config with a name: every field is present, checked, and in units. */
export interface Limit {
  readonly name: string;
  readonly kind: Kind;
  /** The config that the limit was parsed from, with defaults filled in. */
  readonly config: RateLimitConfig;
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

/** Steps at which units arrive: at `start`, and every `period` ms after it, `count` times in all (default: for ever). */
export interface Run {
  readonly start: number;
  readonly period: number;
  readonly count?: number;
}

/** The fields of a status that depend on the bucket. */
export type Outlook = Pick<ExactRateLimitStatus, "remaining" | "resetAt" | "retryAt" | "renewsAt">;

/** A state is *advanced* when its `ts` is now or later; the functions that change one want it so. */
export interface Kind<L extends Limit = Limit> {
  /** @param config - checked. @throws when fields that are each valid do not fit together. */
  parse(name: string, config: RateLimitConfig): L;
  /** The limit as it applies to one key; by default it is the same for all. */
  forKey?(limit: L, key: string | undefined): L;
  /** The config of a snapshot: with what forKey has chosen. */
  shownConfig?(limit: L): RateLimitConfig;
  /** For clients, the steps from a time on, if units arrive in steps. */
  runsFrom?(limit: L, ts: number): readonly Run[];
  /** The step after the last write of a state, if it brings fewer units than the others, and how many fewer. */
  shortStep?(limit: L, state: State): (Run & { readonly units: number }) | undefined;
  /** The log of a state, for a kind that has one: each unit comes back a period later. */
  entries?(limit: L, state: State): readonly Entry[];
  /** A shard's part of the limit. The parts of all shards add up to the limit. */
  shareOf(limit: L, share: Share): L;
  /** If what a bucket holds is lost unless it is taken in time: whether all rows get their units back together, or each unit by itself. */
  lapses?(limit: L): "together" | "singly" | undefined;
  /** If units come back singly, how long those that came back last had been there when the state was written, in ms. */
  waitedMs?(limit: L, state: State): number;
  /** How long the row of a full bucket still matters, in ms: it says when the last window began, which windows with other starts need. */
  countsMs?(limit: L): number;
  /** The most units that one request can ever get: the capacity, or more. */
  most(limit: L, reserve: boolean): number;

  // What HTTP tells clients.
  /** The time in which the whole capacity comes back, in ms: capacity / window is the sustained rate. */
  windowMs(limit: L, now: number): number;
  /** The first time at which a request of `count` is served once `spent` of what remains is spent at `now`. */
  renewedAt(limit: L, left: Outlook, { spent, count }: { spent: number; count: number }, now: number): number;

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
  /** The units owed after now. */
  owed(advanced: State): number;
  /**
   * Gives units back, never above capacity. With `taking`, no more than the bucket would hold if these units had never been taken;
   * without it they are a gift.
   */
  giveBack(limit: L, advanced: State, units: number, taking?: Taking): State;
  /**
   * The lesser of a state and one that is empty until a time: nothing is there before it, and nothing that was taken earlier comes back. Its
   * `ts` is that time, or later. The state itself, if a longer pause or the same has been made.
   */
  pause(limit: L, state: State, until: number): State;
  /** Splits a state that owes nothing between two shares. */
  split(left: L, right: L, advanced: State): readonly [State, State];
  /** The states of several shards, all advanced to the same time, as one. It may remember more than a row does. */
  join(limit: L, advanced: readonly State[]): State;
}

/** Units that arrive per ms, on average. */
export function unitsPerMs({ refill, periodMs }: Limit): number {
  return refill / periodMs;
}

/** A bucket without a row: it was never used, or it was full again and swept. */
export function fullState(limit: Limit): State {
  return { value: limit.capacity, ts: 0 };
}

/**
 * The start of a window or log that follows a write of another kind: more may have been used than it says. Until it is over, a larger
 * capacity adds nothing. Otherwise a plan with few tokens would turn what the other kind had left into a full bucket.
 */
export function markOf(ts: number): number {
  return ts - 0.5;
}
export function isMark(at: number): boolean {
  return at % 1 !== 0;
}

/** A window without an excess of 0 or below; a field is absent, not undefined. */
export function windowOf({ since, used, excess = 0, before, loweredAt }: Given<Window>): Window {
  const earlier = excess > 0 && { excess, ...(before !== undefined && { before }) };
  return { since, used, ...earlier, ...(loweredAt !== undefined && { loweredAt }) };
}
type Given<Fields> = { [Field in keyof Fields]: Fields[Field] | undefined } & Pick<Window, "since" | "used">;

/** All units that count as used, in a window and before it. */
export function usedIn({ used, excess = 0 }: Window): number {
  return used + excess;
}

/** A bucket from which everything has just been taken. */
export function emptyState(limit: Limit, now: number): State {
  const { kind, capacity } = limit;
  return kind.take(limit, kind.advance(limit, fullState(limit), now), capacity);
}
