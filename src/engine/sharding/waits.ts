/** When several shards of a bucket serve a demand that they deny now. */
import { decide, type Timing } from "../decide.js";
import { emptyState, type Limit } from "../kinds/kind.js";
import type { Demand } from "../request.js";
import { END_OF_TIME, firstTime } from "../time.js";
import { isFast } from "./policy.js";
import * as shard from "./shard.js";
import type { Shard } from "./shard.js";

/**
 * When several shards serve a demand as one. That is asked again at each answer, since a denial leaves them several,
 * and one that is full by then loses what comes in.
 */
export function whenAsOne(limit: Limit, shards: readonly Shard[], timing: Timing, demand: Demand): number {
  const MOST_TRIES = 20;
  const statusAt = (now: number) => {
    const { state } = shard.merged(limit, shards, now);
    return decide(limit, state, { ...timing, now }, demand).status;
  };
  let time = timing.now;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const status = statusAt(time);
    if (status.ok) return time;
    time = status.retryAt;
    if (time === END_OF_TIME) return time;
  }
  // Each answer closes only a part of the gap, and a small one where there are many rows.
  return firstTime(time, (later) => statusAt(later).ok);
}

/**
 * A reservation on one of several shards. None promises more than its share of the capacity: that much would start
 * beside all that the others hold then.
 * @returns `best`: the shard that starts it first, if one serves it; `reservedFrom`: when each serves it that may
 * promise it.
 */
export function reserveOnOne<Own extends Shard>(shards: readonly Own[], timing: Timing, demand: Demand) {
  let best: Own | undefined;
  let startsAt = Infinity;
  const able = shards.filter(({ limit }) => demand.units <= limit.capacity);
  const reservedFrom = able.map((own) => {
    const { status } = decide(own.limit, own.state, timing, demand);
    if (!status.ok) return status.retryAt;
    const { retryAt = timing.now } = status;
    if (retryAt < startsAt) [best, startsAt] = [own, retryAt];
    return timing.now;
  });
  return { best, reservedFrom };
}

/**
 * The first time at which several shards hold together what they do not now, each enough if a call may ask two of them
 * only.
 */
export function whenServed(limit: Limit, shards: readonly Shard[], timing: Timing, demand: Demand): number {
  const { units } = demand;
  // Units that may come back decide nothing here.
  const plain = shards.map((own) => ({ ...own, state: { ...own.state, headroom: undefined } }));
  const from = Math.max(timing.now, timing.pausedUntil);
  if (units > limit.capacity) return END_OF_TIME;
  const found = mayDenyOnTwo(limit, demand) ? whenEachHolds(plain, from, units) : from;
  // A search that doubles its steps needs many for long windows.
  const likely = limit.kind.whenReset && whenAsOne(limit, plain, timing, demand);
  return firstTime(found, (at) => shard.canGive(plain, at, units), likely);
}

/** Whether a row says when a demand is served that is denied now: one that is larger than a row also asks others. */
export function tellsAll(own: Shard, limit: Limit, demand: Demand): boolean {
  return shard.areAll([own]) || (mayDenyOnTwo(limit, demand) && 2 * demand.units <= own.limit.capacity);
}

/** Whether a denial may rest on what two of several rows say. */
export function mayDenyOnTwo(limit: Limit, { units, reserve }: Demand): boolean {
  return !reserve && isFast(limit, units);
}

/**
 * The first time by which any row that a call may draw holds its demand, and any span of rows that it may fold. Rows
 * that were read count as they are, all others as if they were empty now.
 */
export function whenAnyServes(limit: Limit, shards: readonly Shard[], timing: Timing, units: number): number {
  if (units > limit.capacity) return END_OF_TIME;
  const from = Math.max(timing.now, timing.pausedUntil);
  let level = limit.levels.most;
  // The last share is the largest of its level: where it is too small for the count, all are, and a call takes from a
  // span of them.
  while (level > 0 && shard.shareOf(limit, "1".repeat(level)).capacity < 2 * units) level--;
  const smallest = "0".repeat(level);
  const empty = emptyState(shard.shareOf(limit, smallest), from);
  const { window } = empty;
  // If windows have moved, a row's may have begun later, and the next one brings less.
  const begun = [empty, ...shards.map((row) => shard.advance(row, from).state)].map(
    (state) => state.window?.since ?? 0,
  );
  const state = window ? { ...empty, window: { ...window, since: Math.max(...begun) } } : empty;
  return whenEachHolds([shard.shardAt(limit, smallest, state), ...shards], from, units);
}

/** The first time from one on at which each of some shards holds units, or all that it can. */
export function whenEachHolds(shards: readonly Shard[], from: number, units: number): number {
  const whenHeld = shards.map((own) => {
    const { limit, state } = own;
    const most = Math.min(units, limit.capacity);
    return shard.heldBy(own, from) >= most ? from : limit.kind.whenHolding(limit, state, most);
  });
  return Math.min(END_OF_TIME, Math.max(...whenHeld));
}
