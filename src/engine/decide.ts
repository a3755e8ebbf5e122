/**
 * The one decision: may these units go now? Consume, check, reserve and project all ask here, so that they cannot disagree.
 * It is asked of the parts of a limit that the caller has before it: the whole of an unsharded limit, some or all of the
 * shards of another. The rules are those of the token bucket (ITU-T I.371, the leaky bucket as a meter) and of fixed windows
 * with carry-over: consuming subtracts, never below zero; reserving may owe up to maxReserved.
 */
import { accrued, project, whenHolding, whenReset } from "./bucket.js";
import { END_OF_TIME } from "./time.js";
import type { Decision, Demand, Limit, Part } from "./types.js";

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
  const left = parts.map((part) => taken.find(({ node }) => node === part.node) ?? part);
  const wait = moment > now ? { retryAt: moment } : {};
  return { status: { ok: true, ...wait, ...outlook(limit, left, now) }, taken, asked: parts };
}

/** The first moment at which the parts will have paid for the demand; undefined when it may not be taken now. */
function whenPaid(parts: readonly Part[], now: number, { count, reserve }: Demand): number | undefined {
  const paidBy = (moment: number) => pooled(parts, (part) => payable(part, now, moment)) >= count;
  if (!paidBy(reserve ? END_OF_TIME : now)) return undefined;
  const [only] = parts;
  if (!only || parts.length > 1) return firstMoment(now, paidBy);
  const { value, ts } = project(only.limit, only.bucket, now);
  return Math.max(now, whenHolding(only.limit, { value: value - count, ts }, 0));
}

/** What a part can give now and have paid for by `moment`: what it holds, and what accrues until then, as far as it may owe. */
function payable({ limit, bucket }: Part, now: number, moment: number): number {
  const { value, ts } = project(limit, bucket, now);
  return value + Math.min(limit.maxReserved, accrued(limit, ts, moment));
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
function whenServed(parts: readonly Part[], now: number, { count, reserve }: Demand): number {
  const available = ({ limit, bucket }: Part, moment: number) =>
    project(limit, bucket, moment).value + (reserve ? limit.maxReserved : 0);
  const [only] = parts;
  // Nothing is written on a denial, so the wait is reckoned from the bucket as it stays.
  if (only && parts.length === 1) {
    return Math.max(now + 1, whenHolding(only.limit, only.bucket, count - (reserve ? only.limit.maxReserved : 0)));
  }
  return firstMoment(now + 1, (moment) => pooled(parts, (part) => available(part, moment)) >= count);
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

/** The first millisecond from `from` on at which a condition that stays true becomes true; END_OF_TIME if it never does. */
function firstMoment(from: number, holds: (moment: number) => boolean): number {
  if (holds(from)) return from;
  let before = 0;
  let after = 1;
  while (!holds(from + after)) {
    if (from + after >= END_OF_TIME) return END_OF_TIME;
    before = after;
    after *= 2;
  }
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (holds(from + middle)) after = middle;
    else before = middle;
  }
  return from + after;
}

/** What several parts can give together: one that is in debt takes nothing away from the others. */
function pooled(parts: readonly Part[], unitsOf: (part: Part) => number): number {
  const units = parts.map(unitsOf);
  const most = Math.max(...units);
  return most <= 0 ? most : units.reduce((sum, each) => sum + Math.max(0, each), 0);
}

function total(parts: readonly Part[], unitsOf: (part: Part) => number): number {
  return parts.reduce((sum, part) => sum + unitsOf(part), 0);
}
