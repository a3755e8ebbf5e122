/** The decision of a call that has read all shards of a bucket: exact, and the same for check, consume and projection. */
import type { RateLimitStatus } from "../../validators.js";
import { decide, outlook, servedBy } from "../decide.js";
import { emptyState, type Limit, type State } from "../kinds/kind.js";
import type { Demand } from "../request.js";
import { firstMoment } from "../time.js";
import { WHOLE } from "./interval.js";
import { fastUnits, isFast, levelsFor } from "./policy.js";
import { advance, fold, heldBy, heldByAll, type Shard, shareOf, splitTo } from "./shard.js";

/** The shards that change, and what takes their place; none when nothing changes. */
interface Change<S extends Shard> {
  readonly before: readonly S[];
  readonly after: readonly Shard[];
}

/** The answer, and the change that makes it true. */
interface Outcome<S extends Shard> extends Change<S> {
  readonly status: RateLimitStatus;
}

export function decideOnAll<S extends Shard>(
  limit: Limit,
  shards: readonly S[],
  now: number,
  demand: Demand,
): Outcome<S> {
  const [only] = shards;
  // What several rows say together is what the whole bucket would say as one row.
  const whole = only && shards.length === 1 ? only : fold(limit, WHOLE, shards, now);
  const { status, taken } = decide(limit, whole.state, now, demand);
  if (!status.ok && whole !== only) {
    const retryAt = whenServed(limit, shards, now, demand);
    return { status: { ...status, retryAt }, before: [], after: [] };
  }
  if (!taken) return { status, before: [], after: [] };
  const left = { ...whole, state: taken };
  const units = servedBy(limit, demand, heldByAll(shards, now));
  // Debts are the whole bucket's: a reservation is made on all of it as one row, which is what stays.
  const isOwed = units === undefined;
  return { status, ...(isOwed ? { before: shards, after: [left] } : take(limit, left, shards, now, units)) };
}

/**
 * Takes units that the shards hold: a slow bucket is folded as it runs out, a fast one gives from as few shards as it can.
 * @param left - the whole without the units.
 */
function take<S extends Shard>(limit: Limit, left: Shard, shards: readonly S[], now: number, units: number): Change<S> {
  const { most } = limit.levels;
  const level = Math.min(most, Math.max(0, levelsFor(left.state.value, units)));
  if (2 ** level < shards.length && (!isFast(limit, units) || 2 ** most < shards.length)) {
    return { before: shards, after: splitTo(limit, left, level, now) };
  }
  return distribute(shards, now, units, {
    most: ({ state }) => state.value,
    change: (own, state, missing) => own.kind.take(own, state, Math.min(missing, state.value)),
  });
}

/**
 * Units that come back, to as few shards as have room for them: none holds more than its share. Those of a cancelled job come from what was
 * taken at its moment, wherever that is: what is older may be another job's. @param at - as of `Adjustment`.
 */
export function giveBack<S extends Shard>(shards: readonly S[], now: number, units: number, at?: number): Change<S> {
  const takenBy = (limit: Limit, state: State) => takenAt(limit, state, at) ?? 0;
  let elsewhere = shards.reduce((sum, shard) => sum + takenBy(shard.limit, advance(shard, now).state), 0);
  return distribute(shards, now, units, {
    most: ({ limit, state }) => limit.capacity - state.value,
    change: (own, state, left) => {
      const here = takenBy(own, state);
      elsewhere -= here;
      return own.kind.giveBack(own, state, Math.max(Math.min(here, left), left - elsewhere), at);
    },
  });
}

/** The units that a state remembers of a moment; undefined where there is no moment, or no memory. */
export function takenAt(limit: Limit, state: State, moment: number | undefined): number | undefined {
  const entries = moment === undefined ? undefined : limit.kind.entries(limit, state);
  return entries?.reduce((sum, { at, units }) => sum + (at === moment ? units : 0), 0);
}

/** Takes units from some shards, or gives them: first where most can be had, as much as goes there. */
function distribute<S extends Shard>(
  shards: readonly S[],
  now: number,
  units: number,
  { most, change }: { most: (shard: Shard) => number; change: (own: Limit, state: State, left: number) => State },
): Change<S> {
  const current = shards.map((stored) => ({ stored, shard: advance(stored, now) }));
  current.sort((a, b) => most(b.shard) - most(a.shard));
  const before: S[] = [];
  const after: Shard[] = [];
  let left = units;
  for (const { stored, shard } of current) {
    // A damaged row may owe: nothing is taken from it.
    if (left === 0) break;
    const state = change(shard.limit, shard.state, left);
    const moved = Math.abs(state.value - shard.state.value);
    if (moved === 0) continue;
    before.push(stored);
    after.push({ ...shard, state });
    left -= moved;
  }
  return { before, after };
}

/** All shards as one that units are taken from, whatever is there: what is missing is owed by the bucket as a whole. */
export function owing(limit: Limit, shards: readonly Shard[], now: number, units: number): Shard {
  const whole = fold(limit, WHOLE, shards, now);
  return { ...whole, state: limit.kind.take(limit, whole.state, units) };
}

/** What a status says when every shard has been read: what the whole bucket would say as one row. */
export function outlookOf(limit: Limit, shards: readonly Shard[], now: number): { remaining: number; resetAt: number } {
  return outlook(limit, fold(limit, WHOLE, shards, now).state, now);
}

/** The first moment from one on at which the same demand succeeds. */
export function servedFrom(limit: Limit, shards: readonly Shard[], from: number, demand: Demand): number {
  const { status } = decideOnAll(limit, shards, from, demand);
  return status.ok ? whenServed(limit, shards, from, demand) : status.retryAt;
}

/**
 * The first moment from one on at which several shards grant a demand, whichever of them the next call finds: where it may deny on
 * two, each has to hold the demand, or all that it can.
 */
function whenServed(limit: Limit, shards: readonly Shard[], from: number, demand: Demand): number {
  const { units } = demand;
  const readsAll = !mayDenyOnTwo(limit, demand);
  const isFound = (moment: number) =>
    shards.every((shard) => heldBy(shard, moment) >= Math.min(units, shard.limit.capacity));
  return firstMoment(from, (moment) => grantsAt(limit, shards, moment, demand) && (readsAll || isFound(moment)));
}

/** Whether all shards grant a demand: as one at that moment, since to join them now moves the time of a clock behind. */
function grantsAt(limit: Limit, shards: readonly Shard[], moment: number, demand: Demand): boolean {
  return decide(limit, fold(limit, WHOLE, shards, moment).state, moment, demand).status.ok;
}

/** Whether a denial may rest on what two of several rows say. */
export function mayDenyOnTwo(limit: Limit, { units, reserve, atLeast }: Demand): boolean {
  return !reserve && !atLeast && units <= deniedOnTwo(limit);
}

/** The most units that a call denies on what two of several rows say. */
export function deniedOnTwo(limit: Limit): number {
  return limit.levels.most === 0 ? 0 : fastUnits(limit);
}

/**
 * A moment by which any row that a call may come upon holds its demand, and by which any span of rows does that it may fold: those
 * that were read as they are, the others even if they are empty now.
 */
export function whenAnyServes(limit: Limit, seen: readonly Shard[], now: number, units: number): number {
  let smallest = "0".repeat(limit.levels.most);
  while (smallest !== WHOLE && shareOf(limit, smallest).capacity < 2 * units) smallest = smallest.slice(1);
  const share = shareOf(limit, smallest);
  const moments = [{ limit: share, state: emptyState(share, now) }, ...seen].map(({ limit: own, state }) =>
    own.kind.whenHolding(own, state, Math.min(units, own.capacity)),
  );
  return Math.max(...moments);
}
