/**
 * The one decision: may these units go now? Consume, check, reserve and project all ask here, so that they cannot disagree.
 * It is asked of the parts of a limit that the caller has before it: the whole of an unsharded limit, some or all of the
 * shards of another. The rules are those of the token bucket (ITU-T I.371, the leaky bucket as a meter) and of fixed windows
 * with carry-over: consuming subtracts, never below zero; reserving may owe up to maxReserved.
 */
import { accrued, project, whenHolding, whenReset } from "./kinds/bucket.js";
import { END_OF_TIME, firstMoment } from "./time.js";
import type { Decision, Demand, Limit, Part } from "./types.js";

const NOTHING: Demand = { count: 0, reserve: false };

/** Asks all of a limit that the caller can see; a denial names the first moment at which these parts would serve. */
export function decide(limit: Limit, parts: readonly Part[], now: number, demand: Demand): Decision {
  const allowed = serve(limit, parts, now, demand);
  if (allowed) return allowed;
  return {
    status: { ok: false, retryAt: whenServed(parts, now, demand), ...outlook(limit, parts, now) },
    taken: [],
    asked: parts,
  };
}

/** The decision, if the parts can serve the demand: the first of them that can alone, else several together. */
export function serve(limit: Limit, parts: readonly Part[], now: number, demand: Demand): Decision | undefined {
  const alone = parts.find((part) => project(part.limit, part.bucket, now).value >= demand.count);
  const served = alone ? [alone] : parts;
  const moment = alone ? now : whenPaid(parts, now, demand);
  if (moment === undefined) return undefined;
  const taken = demand.count === 0 ? [] : takeAt(moment, served, now, demand.count);
  const left = replace(parts, taken);
  const wait = moment > now ? { retryAt: moment } : {};
  return { status: { ok: true, ...wait, ...outlook(limit, left, now) }, taken, asked: parts };
}

/** The parts, with those that have changed in the place of what they were. */
export function replace(parts: readonly Part[], changed: readonly Part[]): Part[] {
  return parts.map((part) => changed.find(({ node }) => node === part.node) ?? part);
}

/** The first moment at which the parts will have paid for the demand; undefined when it may not be taken now. */
function whenPaid(parts: readonly Part[], now: number, demand: Demand): number | undefined {
  const { count } = demand;
  if (!canServe(parts, now, demand)) return undefined;
  // Taking nothing writes nothing, so it waits until the parts as they are would let nothing go without reserving.
  if (count === 0) return whenServed(parts, now, NOTHING);
  const [only] = parts;
  if (!only || parts.length > 1) return firstMoment(now, (moment) => pooled(parts, now, moment) >= count);
  const { value, ts } = project(only.limit, only.bucket, now);
  return Math.max(now, whenHolding(only.limit, { value: value - count, ts }, 0));
}

/** Whether the parts have the units at a moment or, for a reservation, may owe them. */
function canServe(parts: readonly Part[], moment: number, { count, reserve }: Demand): boolean {
  return pooled(parts, moment, reserve ? END_OF_TIME : moment) >= count;
}

/**
 * What the parts together can give now and have paid for by `moment`. One that is in debt takes nothing away from the others.
 */
function pooled(parts: readonly Part[], now: number, moment: number): number {
  const units = parts.map((part) => payable(part, now, moment));
  const most = Math.max(...units);
  return most <= 0 ? most : units.reduce((sum, each) => sum + Math.max(0, each), 0);
}

/**
 * What a part can give now and have paid for by `moment`: what it holds, and what accrues until then, as far as it may owe. All
 * debts count as paid at the end of time, where promises are cut off.
 */
function payable({ limit, bucket }: Part, now: number, moment: number): number {
  const { value, ts } = project(limit, bucket, now);
  const paid = moment >= END_OF_TIME ? limit.maxReserved : accrued(limit, ts, moment);
  return value + Math.min(limit.maxReserved, paid);
}

/** Takes the units where most can be had, so that few parts are written. */
function takeAt(moment: number, parts: readonly Part[], now: number, count: number): Part[] {
  const offers = parts.map((part) => ({ part, units: payable(part, now, moment) }));
  offers.sort((a, b) => b.units - a.units);
  const taken: Part[] = [];
  let missing = count;
  for (const { part, units } of offers) {
    if (missing === 0) break;
    const share = Math.min(Math.max(0, units), missing);
    const { value, ts } = project(part.limit, part.bucket, now);
    taken.push({ ...part, bucket: { value: value - share, ts } });
    missing -= share;
  }
  return taken;
}

/** The first moment after `now` at which the parts would serve the demand, if nobody else takes anything. */
function whenServed(parts: readonly Part[], now: number, demand: Demand): number {
  const [only] = parts;
  if (!only || parts.length > 1) return firstMoment(now + 1, (moment) => canServe(parts, moment, demand));
  // Nothing is written on a denial, so the wait is reckoned from the bucket as it stays.
  const { limit, bucket } = only;
  return whenHolding(limit, bucket, demand.count - (demand.reserve ? limit.maxReserved : 0));
}

/** What a status says of the buckets that stay: exact for the whole limit, scaled up from a part of it. */
export function outlook(limit: Limit, parts: readonly Part[], now: number): { remaining: number; resetAt: number } {
  const seen = total(parts, (part) => part.limit.capacity);
  const held = total(parts, (part) => project(part.limit, part.bucket, now).value);
  const whole = seen === limit.capacity ? held : held * (limit.capacity / seen);
  return {
    remaining: Math.max(0, Math.floor(whole / limit.unitsPerToken)),
    resetAt: parts.reduce((latest, part) => Math.max(latest, whenReset(part.limit, part.bucket, now)), now),
  };
}

function total(parts: readonly Part[], unitsOf: (part: Part) => number): number {
  return parts.reduce((sum, part) => sum + unitsOf(part), 0);
}
