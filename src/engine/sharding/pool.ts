/** The decision of a call that has read all shards of a bucket: exact, and the same for check, consume and projection. */
import type { RateLimitStatus } from "../../wire/answers.js";
import { decide, isServed, outlook } from "../decide.js";
import { remembering } from "../headroom.js";
import { emptyState, type Limit } from "../kinds/kind.js";
import type { Demand } from "../request.js";
import { END_OF_TIME, firstTime } from "../time.js";
import { isFast, levelsFor } from "./policy.js";
import {
  adjusted,
  advance,
  areAll,
  type Change,
  fold,
  heldBy,
  heldByAll,
  offerOf,
  returnedTo,
  type Shard,
  shardAt,
  shareOf,
  splitTo,
  sumOf,
} from "./shard.js";

/** The answer, and the shards that are left when it is true: those that stay as they are, and what takes the place of the others. */
interface Outcome {
  readonly status: RateLimitStatus;
  readonly left: readonly Shard[];
}

export function decideOnAll(limit: Limit, shards: readonly Shard[], now: number, demand: Demand): Outcome {
  const [only] = shards;
  // Several rows decide as the whole bucket would as one row.
  const whole = only && shards.length === 1 ? only : fold(limit, shards, now);
  const { status, taken } = decide(limit, whole.state, now, demand);
  if (taken) {
    // Rows may have different times. Tokens taken from several are dated by the clock, which is not later than any of them.
    const isDated = demand.isRefundable && shards.length > 1;
    const left = takeFromAll(limit, shards, { ...whole, state: taken }, now);
    return { status: isDated ? ({ ...status, takenAt: now } as RateLimitStatus) : status, left };
  }
  if (status.ok || whole === only) return { status, left: shards };
  const { retryAt } = status;
  return { status: { ...status, retryAt: whenServed(whole, shards, demand, { now, retryAt }) }, left: shards };
}

/** The shards after a charge, even below zero, or after a refund, to as few of them as have room. */
export function adjustOnAll(limit: Limit, shards: readonly Shard[], now: number, change: Change): readonly Shard[] {
  const { units, isRefundable } = change;
  if (units <= 0) return distribute(shards, now, change);
  const whole = fold(limit, shards, now);
  const taken = limit.kind.take(limit, whole.state, units);
  return takeFromAll(limit, shards, { ...whole, state: isRefundable ? remembering(taken) : taken }, now);
}

/**
 * The same for shards that may be only some of the bucket's: undefined if these do not hold what is charged, or gave what comes back. A
 * refund by date to a fast limit gives back what these can take. The rest lapses: to read all shards would conflict with every call.
 */
export function adjustOnSome(limit: Limit, shards: readonly Shard[], now: number, change: Change) {
  if (areAll(shards)) return adjustOnAll(limit, shards, now, change);
  const { units, taking, isByDate } = change;
  const offered = sumOf(shards, (shard) => offerOf(advance(shard, now), change, taking?.startsAt));
  const isLapsing = units < 0 && isByDate && isFast(limit, -units);
  return offered >= Math.abs(units) || isLapsing ? distribute(shards, now, change) : undefined;
}

/** The shards when nothing starts before a time: the whole bucket as one row, or as they are if that says nothing new. */
export function pauseAll(limit: Limit, shards: readonly Shard[], now: number, until: number): readonly Shard[] {
  const whole = fold(limit, shards, now);
  const state = limit.kind.pause(limit, whole.state, until);
  return state === whole.state ? shards : [{ ...whole, state }];
}

/**
 * The shards when units were taken: a slow bucket is rearranged as it runs out, a fast one gives from as few shards as possible.
 * Only a bucket of one row may owe. If the shards together cannot pay, they are folded into one row that owes the rest.
 * @param left - the whole without the units.
 */
function takeFromAll(limit: Limit, shards: readonly Shard[], left: Shard, now: number): readonly Shard[] {
  const { most } = limit.levels;
  const { value } = left.state;
  const units = heldByAll(shards, now) - value;
  const level = Math.min(most, levelsFor(value, units));
  const isTooMany = 2 ** level < shards.length && (!isFast(limit, units) || 2 ** most < shards.length);
  if (value < 0 || isTooMany) return splitTo(limit, left, level, now);
  return distribute(shards, now, { units, isRefundable: left.state.headroom !== undefined });
}

/**
 * The shards with units taken from some of them, or given: first where there is most, as much as possible. None holds more than its
 * share. A cancelled job's tokens are looked for at its own time first. Tokens taken before that may be another job's.
 */
export function distribute(shards: readonly Shard[], now: number, change: Change): readonly Shard[] {
  let left = shards;
  let missing = change.units;
  for (const startsAt of change.taking ? [change.taking.startsAt, undefined] : [undefined]) {
    if (missing === 0) break;
    const offers = left.map((stored) => {
      const shard = advance(stored, now);
      return { stored, shard, most: offerOf(shard, change, startsAt) };
    });
    offers.sort((a, b) => b.most - a.most);
    left = offers.map(({ stored, shard, most }) => {
      if (missing === 0) return stored;
      const after = adjusted(shard, { ...change, units: Math.max(missing, -most) });
      const moved = returnedTo(shard.state, after.state);
      missing += moved;
      return moved === 0 ? stored : after;
    });
  }
  return left;
}

/** The status of a bucket when every shard has been read: that of the whole as one row. */
export function describeWhole(limit: Limit, shards: readonly Shard[], now: number) {
  return { ok: true as const, ...outlook(limit, fold(limit, shards, now).state, now) };
}

/** The first time from `from` on at which the same demand succeeds. */
export function servedFrom(limit: Limit, shards: readonly Shard[], from: number, demand: Demand): number {
  const { status } = decideOnAll(limit, shards, from, demand);
  return status.ok ? whenFound(limit, shards, from, demand) : status.retryAt;
}

/**
 * The first time at which several shards grant a demand that they deny now, as one until `retryAt`, whichever of them the next call finds.
 * @param whole - the shards as one at `now`.
 */
function whenServed(
  whole: Shard,
  shards: readonly Shard[],
  demand: Demand,
  { now, retryAt }: { now: number; retryAt: number },
): number {
  // A search that doubles its steps needs many for long windows. It is late for `within`: that is served just before a window only.
  const MOST_WINDOWS = 20;
  const { limit } = whole;
  const { units, atLeast = { units } } = demand;
  // As one at that time: to join them sooner would move the time of a clock behind, and let a row that is full save up more.
  // Units that may come back decide nothing here.
  const plain = shards.map((shard) => ({ ...shard, state: { ...shard.state, headroom: undefined } }));
  const joinedAt = (at: number) => fold(limit, plain, at).state;
  const last = Math.max(now, ...shards.map(({ state }) => state.ts));
  const state = last > now ? joinedAt(last) : whole.state;
  const first = last > now ? decide(limit, state, last, demand).status : { ok: false as const, retryAt };
  // As one the units come no later.
  if (first.retryAt === END_OF_TIME) return END_OF_TIME;
  let likely = first.ok ? last : first.retryAt;
  const found = whenFound(limit, shards, now, demand);
  const isByWindow = state.window !== undefined && !first.ok;
  for (let i = 0; isByWindow && i < MOST_WINDOWS; i++) {
    const { status } = decide(limit, joinedAt(likely), likely, demand);
    if (status.ok) return Math.max(found, likely);
    likely = status.retryAt;
  }
  // A log is the same later, and is sorted once. It is needed for reservations only.
  const asOne = (at: number) => (at < last || !state.recent ? joinedAt(at) : state);
  const isServedAt = (at: number) =>
    demand.reserve ? isServed(limit, asOne(at), at, demand) : heldByAll(plain, at) >= atLeast.units;
  return firstTime(found, isServedAt, likely);
}

/** The first time from one on at which each shard holds a demand, or all that it can, if the next call may be denied on some of them. */
function whenFound(limit: Limit, shards: readonly Shard[], from: number, demand: Demand): number {
  return mayDenyOnTwo(limit, demand) ? whenEachHolds(shards, from, demand.units) : from;
}

/** Whether a denial may rest on what two of several rows say. */
export function mayDenyOnTwo(limit: Limit, { units, reserve, atLeast }: Demand): boolean {
  return !reserve && !atLeast && isFast(limit, units);
}

/**
 * The first time by which any row that a call may draw holds its demand, and any span of rows that it may fold. Rows that were read
 * count as they are, all others as if they were empty now.
 */
export function whenAnyServes(limit: Limit, shards: readonly Shard[], now: number, units: number): number {
  let level = limit.levels.most;
  // The last share is the largest of its level: where it is too small for the count, all are, and a call takes from a span of them.
  while (level > 0 && shareOf(limit, "1".repeat(level)).capacity < 2 * units) level--;
  const smallest = "0".repeat(level);
  const empty = emptyState(shareOf(limit, smallest), now);
  const { window } = empty;
  // If windows have moved, a row's may have begun later, and the next one brings less.
  const begun = [empty, ...shards.map((row) => advance(row, now).state)].map((state) => state.window?.since ?? 0);
  const state = window ? { ...empty, window: { ...window, since: Math.max(...begun) } } : empty;
  return whenEachHolds([shardAt(limit, smallest, state), ...shards], now, units);
}

/** The first time from one on at which each of some shards holds units, or all that it can. */
function whenEachHolds(shards: readonly Shard[], from: number, units: number): number {
  const whenHeld = shards.map((shard) => {
    const { limit, state } = shard;
    const most = Math.min(units, limit.capacity);
    return heldBy(shard, from) >= most ? from : limit.kind.whenHolding(limit, state, most);
  });
  return Math.max(...whenHeld);
}
