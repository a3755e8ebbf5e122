/**
 * The one decision: may these units go now, and if not, when? It is asked of one state: that of a bucket that is one row, or of all
 * the rows of another as one. Consuming subtracts, never below zero; reserving may owe up to `maxReserved`.
 */
import type { RateLimitStatus } from "../wire/answers.js";
import { dateIn, remembering } from "./headroom.js";
import type { Demand } from "./request.js";
import type { Limit, State } from "./kinds/kind.js";
import { END_OF_TIME, firstTime } from "./time.js";
import { lowered, raised, unitsOf } from "./units.js";

/** The answer, and the state that makes it true; undefined when nothing changes. */
interface Decision {
  readonly status: RateLimitStatus;
  readonly taken: State | undefined;
}

/** @param stored - the state as it is stored, not advanced: so a denial does not depend on when one asks. */
export function decide(limit: Limit, stored: State, now: number, demand: Demand): Decision {
  const served = decideNow(limit, stored, now, demand);
  if (served) return demand.isRefundable ? refundable(served, stored, now) : served;
  const state = limit.kind.advance(limit, stored, now);
  const retryAt = whenServed(limit, stored, now, demand);
  return { status: { ok: false, retryAt, ...outlook(limit, state, now) }, taken: undefined };
}

/** A decision whose units may come back. `takenAt` is when they were taken: the clock may have stepped back. */
function refundable({ status, taken }: Decision, stored: State, now: number): Decision {
  const takenAt = dateIn(taken ?? { ...stored, ts: Math.max(stored.ts, now) });
  return { status: { ...status, takenAt } as RateLimitStatus, taken: taken && remembering(taken) };
}

/** Whether a demand is served, without saying when it will be. */
export function isServed(limit: Limit, stored: State, now: number, demand: Demand): boolean {
  return decideNow(limit, stored, now, demand) !== undefined;
}

/** The decision; undefined for a denial. */
function decideNow(limit: Limit, stored: State, now: number, demand: Demand): Decision | undefined {
  const { units, reserve, withinMs, atLeast } = demand;
  const state = limit.kind.advance(limit, stored, now);
  const served = units <= state.value ? units : atLeast && servePart(limit, atLeast.units, state.value);
  if (served !== undefined) {
    const taken = served === 0 ? undefined : limit.kind.take(limit, state, served);
    const part = atLeast && { taken: atLeast.tokens(served) };
    return { status: { ok: true, ...outlook(limit, taken ?? state, now), ...part }, taken };
  }
  if (!reserve) return undefined;
  const { at, state: taken, owed } = startOf(limit, stored, now, units);
  if (owed > limit.maxReserved || at - now > withinMs) return undefined;
  return { status: { ok: true, retryAt: at, ...outlook(limit, taken ?? state, now) }, taken };
}

/** The units that a demand gets if not all of them are there; undefined when too few are. */
function servePart({ unitsPerToken }: Limit, least: number, held: number): number | undefined {
  return least > held ? undefined : least + Math.floor((held - least) / unitsPerToken) * unitsPerToken;
}

/** When a reservation starts. Taking nothing writes nothing, so it waits until the debt of others is paid. */
function startOf(limit: Limit, stored: State, now: number, units: number) {
  const { kind } = limit;
  return units === 0
    ? { at: kind.whenHolding(limit, stored, 0), state: undefined, owed: 0 }
    : kind.reserve(limit, kind.advance(limit, stored, now), units);
}

/** The first time after `now` at which the same demand succeeds, if nobody else takes anything. */
function whenServed(limit: Limit, stored: State, now: number, demand: Demand): number {
  // More than the days until the clocks of a zone go forward, or the months until February: a window that is shorter than others.
  const MOST_TRIES = 400;
  const { kind, capacity } = limit;
  const { reserve, withinMs } = demand;
  const { units } = demand.atLeast ?? demand;
  const atOnce = units <= capacity ? kind.whenHolding(limit, stored, units) : END_OF_TIME;
  if (!reserve) return atOnce;
  const reservable = kind.whenReservable(limit, stored, units);
  let time = now;
  // The start of a reservation depends on when one asks: by the time of one unit if a rate is rounded, by a window if a full bucket
  // wastes one. The time found may then not be the first.
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { at } = startOf(limit, stored, time, units);
    const next = Math.min(atOnce, Math.max(reservable, at - withinMs));
    const isServedAt = (later: number) => isServed(limit, stored, later, demand);
    if (isServedAt(next)) return Math.min(next, firstTime(time, isServedAt, next));
    time = next;
  }
  // Even a full bucket would start it later than `within`.
  return END_OF_TIME;
}

/** The fields of a status that follow from a state. */
export function outlook(limit: Limit, state: State, now: number): { remaining: number; resetAt: number } {
  const { kind, capacity, unitsPerToken } = limit;
  const remaining = Math.max(0, Math.floor(state.value / unitsPerToken));
  return {
    remaining,
    resetAt: kind.whenReset?.(limit, state, now) ?? Math.max(now, kind.whenHolding(limit, state, capacity)),
  };
}

/**
 * The first time at which a request of `count` tokens is served if such requests spend all that remains now. Undefined if it needs
 * more than a full bucket.
 */
export function renewsAt(limit: Limit, state: State, count: number, now: number): number | undefined {
  const { kind, capacity } = limit;
  const { remaining } = outlook(limit, kind.advance(limit, state, now), now);
  const each = count > 0 ? count : 1;
  const most = Math.floor(raised(remaining / each)) * each + each;
  if (lowered(most) > limit.tokens) return undefined;
  return Math.max(now, kind.whenHolding(limit, state, Math.min(capacity, unitsOf(limit, most))));
}
