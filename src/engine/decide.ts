/**
 * The one decision: may these units go now, and if not, when? It is asked of one row: the whole bucket, or a part with
 * its share of the limit. Consuming subtracts, never below zero; reserving may owe up to `maxReserved`.
 */
import type { RateLimitStatus } from "../wire/answers.js";
import { remembering } from "./headroom.js";
import { type Limit, mostReservedOf, type State } from "./kinds/kind.js";
import type { Demand } from "./request.js";
import { END_OF_TIME, firstTime } from "./time.js";

/** The answer, and the state that makes it true; undefined when nothing changes. */
interface Decision {
  readonly status: RateLimitStatus;
  readonly taken: State | undefined;
}

/** The time of a decision, and until when the bucket is paused: 0, or a time that may have passed. */
export interface Timing {
  readonly now: number;
  readonly pausedUntil: number;
}

/** @param stored - the state as it is stored, not advanced: so a denial does not depend on when one asks. */
export function decide(limit: Limit, stored: State, timing: Timing, demand: Demand): Decision {
  const { now, pausedUntil } = timing;
  const served = serve(limit, stored, timing, demand);
  if (served) {
    const { at, state, taken } = served;
    const waits = at > now && { retryAt: at };
    // A take during a pause is dated by the clock, and the state by the end of the pause.
    const takenAt = now < pausedUntil ? now : state.ts;
    return {
      status: { ok: true, ...waits, ...outlook(limit, state, timing), ...(demand.isRefundable && { takenAt }) },
      taken: taken ? (demand.isRefundable ? remembering(state, takenAt) : state) : undefined,
    };
  }
  const retryAt = whenServed(limit, stored, timing, demand);
  const isTooLarge = !canServe(limit, demand) && { reason: "too large" as const };
  const state = limit.kind.advance(limit, stored, now);
  return { status: { ok: false, retryAt, ...isTooLarge, ...outlook(limit, state, timing) }, taken: undefined };
}

/** Whether some wait is long enough for a demand. */
export function canServe(limit: Limit, { units, reserve }: Demand): boolean {
  return units <= (reserve ? mostReservedOf(limit) : limit.capacity);
}

/** When a demand that is served starts, and the state then; undefined for a denial. */
function serve(limit: Limit, stored: State, timing: Timing, demand: Demand) {
  const { kind } = limit;
  const { units, reserve, withinMs } = demand;
  const { now, pausedUntil } = timing;
  const from = Math.max(now, pausedUntil);
  const state = kind.advance(limit, stored, from);
  // A demand for nothing starts nothing.
  const startsFrom = units > 0 ? from : now;
  if (units <= state.value && (startsFrom === now || (reserve && startsFrom - now <= withinMs))) {
    return { at: startsFrom, state: units > 0 ? kind.take(limit, state, units) : state, taken: units > 0 };
  }
  if (!reserve || !canServe(limit, demand)) return undefined;
  // Taking nothing writes nothing, so it waits until the debt of others is paid.
  const {
    at,
    state: taken,
    owed,
  } = units > 0 ? kind.reserve(limit, state, units) : { at: kind.whenHolding(limit, stored, 0), state, owed: 0 };
  const startsAt = Math.max(from, at);
  if (owed > limit.maxReserved || startsAt - now > withinMs) return undefined;
  return { at: startsAt, state: taken, taken: units > 0 };
}

/** The first time from `now` on at which the same demand succeeds, if nobody else takes anything. */
function whenServed(limit: Limit, stored: State, { now, pausedUntil }: Timing, demand: Demand): number {
  // More than the days until the clocks of a zone go forward, or the months until February: a window that is shorter
  // than others.
  const MOST_TRIES = 400;
  const { kind, capacity } = limit;
  const { units, reserve, withinMs } = demand;
  const from = Math.max(now, pausedUntil);
  // A clock behind may take what a clock ahead has left, once a pause is over.
  const isHeld = units <= kind.advance(limit, stored, from).value;
  const whenHeld = units <= capacity ? kind.whenHolding(limit, stored, units) : END_OF_TIME;
  const atOnce = isHeld ? from : whenHeld;
  if (!reserve || !canServe(limit, demand)) return atOnce;
  const reservable = kind.whenReservable(limit, stored, units);
  const isServedAt = (time: number) => serve(limit, stored, { now: time, pausedUntil }, demand) !== undefined;
  let time = now;
  // The start of a reservation depends on when one asks: by the time of one unit if a rate is rounded, by a window if a
  // full bucket wastes one. The time found may then not be the first.
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const state = kind.advance(limit, stored, Math.max(time, pausedUntil));
    const { at } = units > 0 ? kind.reserve(limit, state, units) : { at: kind.whenHolding(limit, stored, 0) };
    const next = Math.min(atOnce, Math.max(reservable, Math.max(from, at) - withinMs));
    if (isServedAt(next)) return firstTime(time, (at) => at >= next || isServedAt(at), next);
    time = next;
  }
  // Even a full bucket would start it later than `within`.
  return END_OF_TIME;
}

/** The fields of a status that follow from a state. Nothing is left of a paused bucket. */
export function outlook(limit: Limit, state: State, timing: Timing): { remaining: number; resetAt: number } {
  const { kind, capacity, unitsPerToken } = limit;
  const { now, pausedUntil } = timing;
  return {
    remaining: now < pausedUntil ? 0 : Math.max(0, Math.floor(state.value / unitsPerToken)),
    resetAt: kind.whenReset?.(limit, state, now) ?? Math.max(now, kind.whenHolding(limit, state, capacity)),
  };
}
