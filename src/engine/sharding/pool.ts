/** Decisions and changes on several shards of a bucket. Each pays with what it holds, and owes for itself. */
import type { RateLimitStatus } from "../../wire/answers.js";
import { canServe, decide, outlook, type Timing } from "../decide.js";
import { remembering } from "../headroom.js";
import { emptyState, type Limit } from "../kinds/kind.js";
import type { Demand } from "../request.js";
import { WHOLE } from "./interval.js";
import { isFast, levelsFor } from "./policy.js";
import * as shard from "./shard.js";
import type { Change, Shard } from "./shard.js";
import { mayDenyOnTwo, reserveOnOne, whenAnyServes, whenAsOne, whenEachHolds, whenServed } from "./waits.js";

/**
 * The answer, and the shards that are left when it is true: those that stay as they are, and what takes the place of
 * the others.
 */
interface Outcome {
  readonly status: RateLimitStatus;
  readonly left: readonly Shard[];
}

/**
 * The decision on all shards of a bucket: one as it is, several by what they hold together. A reservation of which they
 * are short is made on the one that serves it first, or on all as one if it is larger than the share of each.
 */
export function decideOnAll(limit: Limit, shards: readonly Shard[], timing: Timing, demand: Demand): Outcome {
  const [only] = shards;
  if (only && shards.length === 1) return decideOn(only, shards, timing, demand);
  const { now, pausedUntil } = timing;
  const { units, reserve, isRefundable } = demand;
  const isPaused = now < pausedUntil && units > 0;
  if (!isPaused && shard.canGive(shards, now, units)) {
    const left = units === 0 ? shards : takeFrom(limit, shards, now, { units, isRefundable });
    return { status: { ok: true, ...overview(limit, left, timing), ...(isRefundable && { takenAt: now }) }, left };
  }
  const deny = (retryAt: number): Outcome => {
    const isTooLarge = !canServe(limit, demand) && { reason: "too large" as const };
    return { status: { ok: false, retryAt, ...isTooLarge, ...overview(limit, shards, timing) }, left: shards };
  };
  if (!reserve) return deny(whenServed(limit, shards, timing, demand));
  const { best, reservedFrom } = reserveOnOne(shards, timing, demand);
  if (best) return decideOn(best, shards, timing, demand);
  if (reservedFrom.length > 0) {
    // A call of a fast limit reads two of them, whichever these are.
    if (isFast(limit, units)) return deny(Math.max(...reservedFrom));
    return deny(Math.min(...reservedFrom, whenServed(limit, shards, timing, demand)));
  }
  const whole = shard.merged(limit, shards, now);
  const { status, left } = decideOn(whole, [whole], timing, demand);
  if (status.ok) return { status, left };
  // A log loses nothing, and takes long to join.
  const retryAt = limit.kind.runsFrom ? whenAsOne(limit, shards, timing, demand) : status.retryAt;
  return { status: { ...status, retryAt }, left: shards };
}

/** The decision of one shard, whose status is that of all. */
function decideOn(own: Shard, shards: readonly Shard[], timing: Timing, demand: Demand): Outcome {
  const { status, taken } = decide(own.limit, own.state, timing, demand);
  if (!taken) return { status, left: shards };
  return { status, left: shards.map((other) => (other === own ? { ...own, state: taken } : other)) };
}

/**
 * The shards after a refund, to as few of them as have room, or after a charge. They pay what they hold, and the one
 * that has its units again first owes the rest.
 */
export function adjustOnAll(shards: readonly Shard[], now: number, change: Change): readonly Shard[] {
  const { units, isRefundable } = change;
  const paid = units > 0 ? Math.min(units, shard.givenByAll(shards, now)) : units;
  const left = paid === 0 ? shards : distribute(shards, now, { ...change, units: paid });
  const owed = units - paid;
  if (owed === 0) return left;
  const debtMs = (own: Shard) => (owed - shard.heldBy(own, now)) / own.limit.refill;
  const best = left.reduce((one, other) => (debtMs(other) < debtMs(one) ? other : one));
  return left.map((own) => (own === best ? shard.charged(shard.advance(own, now), owed, isRefundable) : own));
}

/**
 * The shards after a charge, or after a refund if they are all, or have room for it; undefined if others have to be
 * read. @param lapses - whether what they have no room for is lost: to read all shards would conflict with every call.
 */
export function adjustOnSome(shards: readonly Shard[], now: number, change: Change, lapses: boolean) {
  const { units } = change;
  if (units > 0) return adjustOnAll(shards, now, change);
  const offered = shard.sumOf(shards, (own) => shard.offerOf(shard.advance(own, now), change));
  return lapses || shard.areAll(shards) || offered >= -units ? distribute(shards, now, change) : undefined;
}

/**
 * Whether nothing comes back of a take to any shard that does not owe: had all been taken with it, the shard would hold
 * as much as it does.
 */
export function isForgone(limit: Limit, now: number, change: Change): boolean {
  const { takenAt, startsAt } = change.taking ?? {};
  if (takenAt === undefined || takenAt !== startsAt) return false;
  const emptied = shard.shardAt(limit, WHOLE, remembering(emptyState(limit, takenAt), takenAt));
  return shard.offerOf(shard.advance(emptied, now), change) === 0;
}

/**
 * The shards when units that they hold were taken: a slow bucket is rearranged as it runs out, a fast one gives from as
 * few as possible.
 */
function takeFrom(limit: Limit, shards: readonly Shard[], now: number, change: Change): readonly Shard[] {
  const left = distribute(shards, now, change);
  const level = Math.min(limit.levels.most, levelsFor(shard.givenByAll(left, now), change.units));
  const isTooMany = 2 ** level < shards.length && !isFast(limit, change.units);
  if (!isTooMany || left.some((own) => shard.isOwing(own, now))) return left;
  return shard.splitTo(limit, shard.fold(limit, left, now), level, now);
}

/**
 * The shards with units taken from some of them, or given: first where there is most, as much as possible. None holds
 * more than its share.
 */
export function distribute<Own extends Shard>(shards: readonly Own[], now: number, change: Change): readonly Own[] {
  const { units, isRefundable, taking } = change;
  let missing = Math.abs(units);
  const offers = shards.map((stored) => {
    const advanced = shard.advance(stored, now);
    return { stored, advanced, most: shard.offerOf(advanced, change) };
  });
  offers.sort((a, b) => b.most - a.most);
  return offers.map(({ stored, advanced, most }) => {
    const moved = Math.min(missing, most);
    if (moved === 0) return stored;
    missing -= moved;
    return units > 0 ? shard.charged(advanced, moved, isRefundable) : shard.refunded(advanced, moved, taking);
  });
}

/** What the shards together can give, and when all are reset. */
export function overview(limit: Limit, shards: readonly Shard[], timing: Timing) {
  const { now } = timing;
  const each = shards.map((own) => outlook(own.limit, shard.advance(own, now).state, timing));
  const held = now < timing.pausedUntil ? 0 : shard.givenByAll(shards, now);
  return {
    remaining: Math.floor(held / limit.unitsPerToken),
    resetAt: Math.max(...each.map(({ resetAt }) => resetAt)),
  };
}

/** The first time from `from` on at which the same demand succeeds on shards that may be only some of the bucket's. */
export function servedFrom(limit: Limit, shards: readonly Shard[], timing: Timing, demand: Demand): number {
  if (!shard.areAll(shards)) return whenAnyServes(limit, shards, timing, demand.units);
  // A call reserves on one of two rows, whichever these are.
  const { reservedFrom } = reserveOnOne(shards.length > 1 && demand.reserve ? shards : [], timing, demand);
  if (reservedFrom.length > 0) return Math.max(...reservedFrom);
  const { status } = decideOnAll(limit, shards, timing, demand);
  if (!status.ok) return status.retryAt;
  const isByTwo = shards.length > 1 && mayDenyOnTwo(limit, demand);
  return isByTwo ? whenEachHolds(shards, timing.now, demand.units) : timing.now;
}
