/**
 * A shard: the part of a split bucket that one row stands for. Shards are split and folded; no unit is made on the way.
 */
import { remembering } from "../headroom.js";
import { fullState, type Limit, type State, type Taking } from "../kinds/kind.js";
import { MAX_UNITS } from "../units.js";
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
  readonly isRefundable?: boolean | undefined;
  /** For units that come back: when they were taken. */
  readonly taking?: Taking | undefined;
  /** For units that come back: the part whose row has promised them, if that is known. */
  readonly promiser?: Interval | undefined;
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

export function advance<Own extends Shard>(shard: Own, now: number): Own {
  const { limit, state } = shard;
  return { ...shard, state: limit.kind.advance(limit, state, now) };
}

/** The units that a shard holds at `now`; negative while it owes. */
export function heldBy({ limit, state }: Shard, now: number): number {
  return limit.kind.advance(limit, state, now).value;
}

/** What several shards hold together, less what they owe. */
export function heldByAll(shards: readonly Shard[], now: number): number {
  return sumOf(shards, (shard) => heldBy(shard, now));
}

/** What several shards can give together: each owes for itself. */
export function givenByAll(shards: readonly Shard[], now: number): number {
  return sumOf(shards, (shard) => Math.max(0, heldBy(shard, now)));
}

/** Whether several shards can give units together. A demand for nothing is served by any that does not owe. */
export function canGive(shards: readonly Shard[], now: number, units: number): boolean {
  return units > 0 ? givenByAll(shards, now) >= units : shards.some((shard) => !isOwing(shard, now));
}

/** Whether a shard is in debt: its debt is paid by its own time, so it stays as it is. */
export function isOwing(shard: Shard, now: number): boolean {
  return heldBy(shard, now) < 0;
}

export function sumOf(shards: readonly Shard[], figure: (shard: Shard) => number): number {
  return shards.reduce((sum, shard) => sum + figure(shard), 0);
}

/** Whether there are no other shards: those of a bucket tile [0, 1). */
export function areAll(shards: readonly Shard[]): boolean {
  return widthOf(shards.map(({ interval }) => interval)) === 1;
}

/** An advanced shard from which units are taken, below zero if need be. */
export function charged<Own extends Shard>(shard: Own, units: number, isRefundable = false): Own {
  const { limit } = shard;
  const state = limit.kind.take(limit, shard.state, units);
  return { ...shard, state: isRefundable ? remembering(state, state.ts) : state };
}

/** An advanced shard to which units come back, as far as it has room for them. */
export function refunded<Own extends Shard>(shard: Own, units: number, taking?: Taking): Own {
  const { limit, state } = shard;
  return { ...shard, state: limit.kind.giveBack(limit, state, units, taking) };
}

/**
 * The units that an advanced shard can give, or that come back to it: none that it does not hold, or has no room for.
 */
export function offerOf(shard: Shard, { units, taking, promiser = WHOLE }: Change): number {
  const { limit, state, interval } = shard;
  if (units > 0) return Math.max(0, state.value);
  const { state: after } = refunded(shard, -units, taking);
  const back = returnedTo(state, after);
  const hasPromised = interval === WHOLE || interval === promiser;
  if (!taking || taking.startsAt <= state.ts || hasPromised || state.recent) return back;
  // The tokens of cancelled work that has not started are not there yet, and the row that promised them pays for them
  // until it would have started. Another row gets no more than it still owes then.
  return Math.min(back, Math.max(0, -limit.kind.advance(limit, state, taking.startsAt).value));
}

/**
 * The units that came back to a state: those that paid for what was used above a capacity that was lowered are in its
 * window.
 */
function returnedTo(before: State, after: State): number {
  const ofWindow = (before.window?.used ?? 0) - (after.window?.used ?? 0);
  return Math.max(after.value - before.value, ofWindow);
}

/**
 * Gives a short shard half of what another has more, so that the next call there is not in vain: in whole tokens, up to
 * its share. Undefined if that is not worth the write, or if a clock ahead has written one of them. Units moved then
 * would come from the future, or a sliding window would log them as taken in the past. One that owes gets nothing: its
 * work starts when it has paid by itself. Both are advanced.
 */
export function balance<Own extends Shard>(short: Own, other: Own): [Own, Own] | undefined {
  // Fewer whole tokens than this are not worth a second row's write.
  const WORTH_MOVING = 2;
  const { unitsPerToken, capacity } = short.limit;
  const { value } = short.state;
  const tokens = Math.floor(Math.min((other.state.value - value) / 2, capacity - value) / unitsPerToken);
  if (value < 0 || tokens < WORTH_MOVING || short.state.ts !== other.state.ts) return undefined;
  const units = tokens * unitsPerToken;
  return [refunded(short, units), charged(other, units)];
}

/** Splits a shard evenly, also what it owes, down to a level. @param whole - the limit of the whole bucket. */
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

/**
 * The same, if some of them owe. Work that was promised on one starts when its debt is paid, and its tokens are not
 * there before. The whole therefore owes all that comes in until then, and what the others hold lapses. A log has the
 * time of each promise.
 */
export function merged(whole: Limit, shards: readonly Shard[], now: number, interval = WHOLE): Shard {
  const one = fold(whole, shards, now, interval);
  const { limit, state } = one;
  const { kind } = whole;
  if (shards.length === 1 || !kind.runsFrom) return one;
  // A share to which nothing comes never pays: the whole owes its debt.
  const owing = shards.filter((shard) => shard.limit.refill > 0 && isOwing(shard, now));
  const paidAt = Math.max(0, ...owing.map((shard) => kind.whenHolding(shard.limit, shard.state, 0)));
  if (paidAt <= now) return one;
  const emptied = kind.pause(limit, state, { at: state.ts, until: state.ts });
  // What comes in until then, counted from so far below that no capacity cuts it off.
  const later = kind.advance(limit, { ...emptied, value: -MAX_UNITS, headroom: undefined }, paidAt);
  return { ...one, state: { ...emptied, value: Math.min(emptied.value, -MAX_UNITS - later.value) } };
}
