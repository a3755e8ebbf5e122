/**
 * The one decision: may these units go now, and if not, when? It is asked of one state: that of a bucket that is one row, or of all
 * the rows of another as one. Consuming subtracts, never below zero; reserving may owe up to `maxReserved`.
 */
import type { RateLimitStatus } from "../validators.js";
import type { Demand } from "./request.js";
import type { Limit, State } from "./kinds/kind.js";
import { firstMoment } from "./time.js";

/** The answer, and the state that makes it true; undefined when nothing changes. */
export interface Decision {
  readonly status: RateLimitStatus;
  readonly taken: State | undefined;
}

/** @param stored - the state as it is stored, not advanced: so a denial does not depend on when one asks. */
export function decide(limit: Limit, stored: State, now: number, demand: Demand): Decision {
  const state = limit.kind.advance(limit, stored, now);
  const served = decideNow(limit, state, now, demand);
  if (served) return served;
  const retryAt = whenServed(limit, stored, now, demand);
  return { status: { ok: false, retryAt, ...outlook(limit, state, now) }, taken: undefined };
}

/** The decision on an advanced state; undefined for a denial. */
function decideNow(limit: Limit, state: State, now: number, demand: Demand): Decision | undefined {
  const { units, reserve } = demand;
  if (units <= state.value) {
    const taken = units === 0 ? undefined : limit.kind.take(limit, state, units);
    return { status: { ok: true, ...outlook(limit, taken ?? state, now) }, taken };
  }
  return reserve ? reservation(limit, state, now, demand) : undefined;
}

/** The reservation, if it is within its bounds. */
function reservation(limit: Limit, state: State, now: number, { units, withinMs }: Demand): Decision | undefined {
  // Taking nothing writes nothing, so it waits until the debt of others is paid.
  const nothing = { at: limit.kind.whenHolding(limit, state, 0), state: undefined, owed: 0 };
  const { at, state: taken, owed } = units === 0 ? nothing : limit.kind.reserve(limit, state, units);
  if (owed > limit.maxReserved || at - now > withinMs) return undefined;
  const wait = at > now ? { retryAt: at } : {};
  return { status: { ok: true, ...wait, ...outlook(limit, taken ?? state, now) }, taken };
}

/** The first moment after `now` at which the same demand succeeds, if nobody else takes anything. */
function whenServed(limit: Limit, stored: State, now: number, demand: Demand): number {
  const { kind } = limit;
  const { units, reserve, withinMs } = demand;
  if (!reserve) return kind.whenHolding(limit, stored, units);
  const { at } = kind.reserve(limit, stored, units);
  const earliest = Math.max(now + 1, at - withinMs, kind.whenReservable(limit, stored, units));
  // A rate that is no short decimal is rounded at each write, so the decision itself has the last word on the millisecond.
  return firstMoment(
    earliest,
    (moment) => decideNow(limit, kind.advance(limit, stored, moment), moment, demand) !== undefined,
  );
}

/** What a status says of a state that stays. */
export function outlook(limit: Limit, state: State, now: number): { remaining: number; resetAt: number } {
  return { remaining: wholeTokens(limit, state.value), resetAt: limit.kind.whenReset(limit, state, now) };
}

/** The whole tokens in so many units. */
export function wholeTokens({ unitsPerToken }: Limit, units: number): number {
  return Math.max(0, Math.floor(units / unitsPerToken));
}
