/** A shard: the part of a split bucket that one row stands for. Shards are split and folded; no unit is made on the way. */
import { remembering } from "../headroom.js";
import { fullState, type Limit, type State, type Taking, usedIn } from "../kinds/kind.js";
import { sum } from "../kinds/log.js";
import { halves, type Interval, WHOLE, widthOf } from "./interval.js";

export interface Shard {
  readonly interval: Interval;
  /** The interval's share of the limit. */
  readonly limit: Limit;
  readonly state: State;
}

/** Units that are taken from a bucket, or, negative, come back to it. */
export interface Change {
  readonly units: number;
  /** For units that are taken: whether they may come back, by the time at which they were taken. */
  readonly isRefundable?: boolean;
  /** For units that come back: when they were taken. */
  readonly taking?: Taking | undefined;
  /** For units that come back: whether their work started when they were taken. That of a reservation for later, or of a cancelled job, did not. */
  readonly isByDate?: boolean;
}

/** The share of a limit that an interval has. */
export function shareOf(limit: Limit, interval: Interval): Limit {
  if (interval === WHOLE) return limit;
  return limit.kind.shareOf(limit, { index: Number.parseInt(interval, 2), count: 2 ** interval.length });
}

export function shardAt(whole: Limit, interval: Interval, state: State): Shard {
  return { interval, limit: shareOf(whole, interval), state };
}

/** A bucket without rows. */
export function fullShard(limit: Limit): Shard {
  return shardAt(limit, WHOLE, fullState(limit));
}

export function advance(shard: Shard, now: number): Shard {
  const { limit, state } = shard;
  return { ...shard, state: limit.kind.advance(limit, state, now) };
}

/** The units that a shard holds at `now`. */
export function heldBy({ limit, state }: Shard, now: number): number {
  return limit.kind.advance(limit, state, now).value;
}

export function heldByAll(shards: readonly Shard[], now: number): number {
  return sumOf(shards, (shard) => heldBy(shard, now));
}

export function sumOf(shards: readonly Shard[], figure: (shard: Shard) => number): number {
  return shards.reduce((sum, shard) => sum + figure(shard), 0);
}

/** Whether there are no other shards: those of a bucket tile [0, 1). */
export function areAll(shards: readonly Shard[]): boolean {
  return widthOf(shards.map(({ interval }) => interval)) === 1;
}

/** An advanced shard from which units are taken, as far as it holds them, or to which they come back, as far as it has room. */
export function adjusted(shard: Shard, { units, isRefundable, taking }: Change): Shard {
  const { limit, state } = shard;
  const { kind } = limit;
  if (units <= 0) return { ...shard, state: kind.giveBack(limit, state, -units, taking) };
  // A damaged row may owe: nothing is taken from it.
  const taken = kind.take(limit, state, Math.min(units, Math.max(0, state.value)));
  return { ...shard, state: isRefundable ? remembering(taken) : taken };
}

/** The units that a state got back: those that paid for what was used beyond a lowered capacity are in its window, not in its value. */
export function returnedTo(before: State, after: State): number {
  if (!before.window || !after.window) return after.value - before.value;
  return usedIn(before.window) - usedIn(after.window);
}

/**
 * The units that an advanced shard has to give, or that come back to it.
 * @param startsAt - if given, of a kind that logs what was taken only what was logged at that very time counts.
 */
export function offerOf(shard: Shard, change: Change, startsAt: number | undefined): number {
  const { limit, state } = shard;
  if (change.units > 0) return state.value;
  const entries = startsAt === undefined ? undefined : limit.kind.entries?.(limit, state);
  if (!entries) return returnedTo(state, adjusted(shard, change).state);
  return sum(entries.filter(({ at }) => at === startsAt));
}

/**
 * Gives a short shard half of what another has more, so that the next call there is not in vain: in whole tokens, up to its share.
 * Undefined if that is not worth the write, or if a clock ahead has written one of them. Units moved then would come from the
 * future, or a sliding window would log them as taken in the past. Both are advanced.
 */
export function balance(short: Shard, other: Shard): [Shard, Shard] | undefined {
  // Fewer whole tokens than this are not worth a second row's write.
  const WORTH_MOVING = 2;
  const { unitsPerToken, capacity } = short.limit;
  const { value } = short.state;
  const tokens = Math.floor(Math.min((other.state.value - value) / 2, capacity - value) / unitsPerToken);
  if (tokens < WORTH_MOVING || short.state.ts !== other.state.ts) return undefined;
  const units = tokens * unitsPerToken;
  return [adjusted(short, { units: -units }), adjusted(other, { units })];
}

/** Splits a shard that owes nothing evenly, down to a level. @param whole - the limit of the whole bucket. */
export function splitTo(whole: Limit, shard: Shard, level: number, now: number): Shard[] {
  if (shard.interval.length >= level) return [shard];
  const [left, right] = halves(shard.interval);
  const states = shard.limit.kind.split(shareOf(whole, left), shareOf(whole, right), advance(shard, now).state);
  const parts = [shardAt(whole, left, states[0]), shardAt(whole, right, states[1])];
  return parts.flatMap((part) => splitTo(whole, part, level, now));
}

/** The shards that tile an interval, as one: where there is one, that is it. */
export function fold(whole: Limit, shards: readonly Shard[], now: number, interval = WHOLE): Shard {
  const advanced = shards.map((shard) => advance(shard, now));
  const [only] = advanced;
  if (only && advanced.length === 1) return only;
  const limit = shareOf(whole, interval);
  const states = advanced.map(({ state }) => state);
  return { interval, limit, state: limit.kind.join(limit, states) };
}
