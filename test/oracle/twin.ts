/**
 * The states in which a key can be after a call, given the answer. There is none if the answer is wrong.
 *
 * Freedoms: what the design leaves open. Each is judged by the laws, and named where it is used:
 * - "less, never more" of a refund (history.ts, `undone`, `returnedAt`); the bucket is then a pair.
 * - Rounding when the terms of a token bucket change (history.ts, `readUnder`).
 * - windows after a pause (history.ts, `pauseStrictly`).
 * - A refund or gift that comes to nothing may be a write or none: two cases.
 * - A cancel names no plan: it may follow any plan's terms, and if plans have buckets of their own, go to any of them.
 * - A reset may be a write or none: two cases.
 * - An unlimited key that is paused may be allowed or denied.
 * - During a pause, by a clock behind the last write, a call may wait until that write.
 * - `remaining` during a block, and of an unlimited key, is not judged. Nor is `resetAt`.
 */
import { type Demand, firstServed, NEVER, startOf } from "./bucket.js";
import { type Bucket, FRESH, happened, levels, readUnder, returnedAt, type Side, timeOf, undone } from "./history.js";
import { narrowed } from "./narrowed.js";
import type { Terms } from "./terms.js";
import type { Status } from "./adapter.js";

interface Pause {
  readonly from: number;
  readonly until: number;
}
/** A key: a bucket for each kind and period, and its pauses in the order in which they were set. */
export interface Case {
  readonly buckets: ReadonlyMap<string, Bucket>;
  readonly pauses: readonly Pause[];
  /** The time of the last reset. An event of that millisecond shares it with another. */
  readonly resetAt: number;
  /** The time of the last reset that was a write, behind which a clock changes nothing; 0 if there was none. */
  readonly begunAt: number;
}
export const UNTOUCHED: Case = { buckets: new Map(), pauses: [], resetAt: 0, begunAt: 0 };

/** The terms that hold for a call from a time on, and the way of the override that says so. */
export interface Stretch {
  readonly from: number;
  readonly terms: Terms;
  readonly way?: "unlimited" | "block" | "config" | undefined;
}
/** What is known of a call: the terms now and later, and what is asked for. */
export interface Setting {
  readonly now: number;
  readonly stretches: readonly Stretch[];
  readonly demand: Demand;
  readonly id: number;
  /** Whether it matters later if a write that changes nothing was made: the terms change, or a date is compared with the last write. */
  readonly writesMatter: boolean;
  readonly pausedUntil?: number;
}

const ALL_ENTRIES = 64;

export function bucketOf(state: Case, terms: Terms, now: number): Bucket {
  const own = state.buckets.get(terms.id) ?? FRESH;
  let bucket = own.events.length > 0 ? own : fresh(state, terms, now);
  for (const { until } of state.pauses.slice(bucket.seen)) {
    bucket = happened(bucket, { type: "pause", at: Math.max(until, bucket.hi?.ts ?? until), terms });
  }
  return { ...readUnder(bucket, terms), seen: state.pauses.length };
}
function fresh({ begunAt, pauses }: Case, terms: Terms, now: number): Bucket {
  // A clock that stepped back may be behind the reset, or have set a pause that ends before it.
  const isBehind = Math.min(now, ...pauses.map(({ until }) => until)) < begunAt;
  return isBehind ? happened(FRESH, { type: "touch", at: begunAt, terms }) : FRESH;
}
function withBucket(state: Case, terms: Terms, bucket: Bucket): Case {
  return { ...state, buckets: new Map(state.buckets).set(terms.id, bucket) };
}
function pausedUntil({ pauses }: Case): number {
  return Math.max(0, ...pauses.map(({ until }) => until));
}

/** The cases after an answer; none if it is wrong. A check takes nothing. */
export function afterAsk(state: Case, asked: Setting, status: Status, isCheck: boolean): Case[] {
  const setting = { ...asked, pausedUntil: pausedUntil(state) };
  const { now, demand, id } = setting;
  const [{ terms, way }] = setting.stretches as [Stretch];
  const isPaused = now < pausedUntil(state);
  if (way === "block") return isRightBlock(state, setting, status) ? [state] : [];
  const bucket = bucketOf(state, terms, now);
  if (way === "unlimited") {
    if (!status.ok) return isPaused ? [state] : [];
    return [isCheck ? state : withBucket(state, terms, taken(bucket, { now, terms, id }, demand.units))];
  }
  const isPlain = demand.withinMs === undefined;
  const starts = { lo: startOf(bucket.lo, now, demand, terms), hi: startOf(bucket.hi, now, demand, terms) };
  if (!status.ok) {
    if (starts.lo !== undefined && !isTooLong(bucket) && !(isPaused && isPlain)) return [];
    if (!isRightDenial(state, setting, status)) return [];
    const most = isPlain && !isPaused ? { hi: demand.units - 1n } : {};
    const seen = narrowed(bucket, now, terms, most) && shown(narrowed(bucket, now, terms, most), setting, status);
    return seen ? [seen === bucket ? state : known(state, setting, bucket, seen)] : [];
  }
  if (starts.hi === undefined || (isPaused && isPlain)) return [];
  const start = status.retryAt ?? now;
  const isLate = starts.lo !== undefined && start > starts.lo && start > behind(state, bucket, now);
  if (start < starts.hi || (isLate && !isTooLong(bucket))) return [];
  const enough = isPlain ? narrowed(bucket, now, terms, { lo: demand.units }) : bucket;
  if (!enough) return [];
  const after = taken(enough, { now, terms, id }, demand.units, status.retryAt);
  const seen = shown(after, setting, status);
  if (!seen) return [];
  // A check shows what a call would leave, and leaves what there is.
  return [isCheck ? state : withBucket(state, terms, seen)];
}

/**
 * The case in which an answer has narrowed a bucket, which nobody has written. Pauses that it has seen meanwhile stay to be seen. Freedom: what it
 * holds now may not say what it held at its last write, from which other terms count.
 */
function known(state: Case, { stretches, writesMatter }: Setting, before: Bucket, after: Bucket): Case {
  const [{ terms }] = stretches as [Stretch];
  if (before.events.length !== (state.buckets.get(terms.id) ?? FRESH).events.length) return state;
  const isLater = (side: Side) => writesMatter && after[side]?.ts !== before[side]?.ts;
  const seen = (side: Side) => (isLater(side) ? before : after)[side];
  return withBucket(state, terms, { ...after, lo: seen("lo"), hi: seen("hi") });
}

function taken(bucket: Bucket, call: { now: number; terms: Terms; id: number }, units: bigint, startsAt?: number) {
  const { now, terms, id } = call;
  const at = timeOf(bucket, now);
  return happened(bucket, { type: "take", at, terms, id, startsAt: startsAt ?? at, units: { lo: units, hi: units } });
}

/** A log of more times than a row stores may wait longer (the laws only: never shorter). */
function isTooLong({ hi }: Bucket): boolean {
  return (hi?.log.length ?? 0) >= ALL_ENTRIES && new Set(hi?.log.map(({ at }) => at)).size >= ALL_ENTRIES;
}

/** The bucket whose whole tokens are `remaining`; undefined if it cannot be. During a pause it is 0 and shows nothing. */
function shown(bucket: Bucket | undefined, { now, stretches, pausedUntil: until = 0 }: Setting, { remaining }: Status) {
  const [{ terms }] = stretches as [Stretch];
  if (!bucket || remaining === undefined || now < until) return bucket;
  const { perToken } = terms;
  const least = BigInt(remaining) * perToken;
  const range = { hi: least + perToken - 1n, ...(remaining > 0 && { lo: least }) };
  if (isTooLong(bucket)) return levels(bucket, now, terms).hi >= least ? bucket : undefined;
  return narrowed(bucket, now, terms, range);
}

/** Until when a call may wait during a pause, if the clock is behind the last write. */
function behind(state: Case, { lo }: Bucket, now: number): number {
  return now < pausedUntil(state) ? Math.max(pausedUntil(state), lo?.ts ?? 0) : 0;
}

/** Whether the time of a denial is the first at which the same call is served, if nobody else comes. */
function isRightDenial(state: Case, setting: Setting, { retryAt = NEVER, reason }: Status): boolean {
  const first = { lo: whenServed(state, setting, "lo"), hi: whenServed(state, setting, "hi") };
  const isHeld = setting.stretches.some(({ terms }) => canHold(setting.demand, terms));
  if (!isHeld && setting.stretches[0]?.way === undefined) return isCalledTooLarge(reason);
  // Freedom: an override that could hold it ends before it does.
  if (first.hi === NEVER) return retryAt === NEVER || isCalledTooLarge(reason);
  if (isCalledTooLarge(reason)) return false;
  const [{ terms }] = setting.stretches as [Stretch];
  const bucket = bucketOf(state, terms, setting.now);
  const isBound = isTooLong(bucket) || retryAt <= behind(state, bucket, setting.now);
  return first.hi <= retryAt && (retryAt <= first.lo || isBound);
}
/** Freedom: a count that is too large may be called so, or blocked. Under an override it may also be denied for ever. */
function isRightBlock(state: Case, setting: Setting, status: Status): boolean {
  if (status.ok) return false;
  const isHeld = setting.stretches.some(({ terms }) => canHold(setting.demand, terms));
  if (isCalledTooLarge(status.reason)) return !isHeld;
  return status.reason === "blocked" && isRightDenial(state, setting, status);
}

/** Whether some wait is long enough. */
function canHold({ units, withinMs }: Demand, { kind, capacity, maxReserved }: Terms): boolean {
  if (withinMs === undefined || kind === "sliding window") return units <= capacity;
  return maxReserved === undefined || units <= capacity + maxReserved;
}
const isCalledTooLarge = (reason: string | undefined) => reason === "too large";

/** The first time after now at which a call is served. */
export function whenServed(state: Case, { now, stretches, demand }: Setting, side: "lo" | "hi"): number {
  for (const [i, { from, terms, way }] of stretches.entries()) {
    const end = stretches[i + 1]?.from ?? Infinity;
    if (way === "block" || end <= now + 1) continue;
    const begin = Math.max(now + 1, from, demand.withinMs === undefined ? pausedUntil(state) : 0);
    if (begin >= end) continue;
    if (way === "unlimited") return begin;
    const time = firstServed(bucketOf(state, terms, now)[side], begin, demand, terms);
    if (time < end) return Math.min(time, NEVER);
  }
  return NEVER;
}

/** A charge is taken without asking. */
export function afterCharge(state: Case, asked: Setting, status: Status): Case[] {
  const setting = { ...asked, pausedUntil: pausedUntil(state) };
  const { now, demand, id } = setting;
  const [{ terms }] = setting.stretches as [Stretch];
  const after = shown(taken(bucketOf(state, terms, now), { now, terms, id }, demand.units), setting, status);
  return status.ok && after ? [withBucket(state, terms, after)] : [];
}

/** A gift fills the bucket up to its capacity. Freedom: what is given during a pause may be there at its end, or not. */
export function afterGift(state: Case, asked: Setting, status: Status): Case[] {
  const setting = { ...asked, pausedUntil: pausedUntil(state) };
  const { now, demand } = setting;
  const [{ terms }] = setting.stretches as [Stretch];
  const bucket = bucketOf(state, terms, now);
  const isPaused = now < pausedUntil(state);
  const units = { lo: isPaused ? 0n : demand.units, hi: demand.units };
  const given = happened(bucket, { type: "gift", at: timeOf(bucket, now), terms, units });
  const after = shown(given, setting, status);
  const kept = unwritten(state, setting, given, status);
  return status.ok && after ? [withBucket(state, terms, after), ...kept] : [];
}

/** Freedom: what comes to nothing may be a write or none. The cases in which it was none. @param after - as if it was written. */
function unwritten(state: Case, setting: Setting, after: Bucket, status?: Status): Case[] {
  const { now, stretches, writesMatter } = setting;
  const [{ terms }] = stretches as [Stretch];
  const before = bucketOf(state, terms, now);
  if (!writesMatter || levels(after, now, terms).lo > levels(before, now, terms).hi) return [];
  const seen = status ? shown(before, setting, status) : before;
  return seen ? [known(state, setting, before, seen)] : [];
}

/** Tokens of a take come back by its date. `own`: the bucket that it was taken from, and which take it was. */
export interface Ticket {
  readonly id: number;
  readonly bucket: string;
  readonly units: bigint;
  /** When it was made, and for when: a bucket that logs its takes dates a promise with its start. */
  readonly madeAt: number;
  readonly startsAt: number;
}

/** The cases after a refund under these terms. @param status - undefined for a cancel, which shows nothing. */
export function afterRefund(
  state: Case,
  asked: Setting,
  refund: { ticket?: Ticket | undefined; date: number },
  status?: Status,
): Case[] {
  const setting = { ...asked, pausedUntil: pausedUntil(state) };
  const { now, demand } = setting;
  const [{ terms }] = setting.stretches as [Stretch];
  const { ticket, date } = refund;
  const bucket = bucketOf(state, terms, now);
  const isOwn = ticket?.bucket === terms.id;
  const ofJob = status ? undefined : ticket?.[terms.kind === "sliding window" ? "startsAt" : "madeAt"];
  const after = isOwn
    ? undone(bucket, ticket.id, demand.units, { now, terms, date, resetAt: state.resetAt })
    : returnedAt(bucket, afterPauses(state, ofJob ?? date), demand.units, { now, terms });
  const seen = status ? shown(after, setting, status) : after;
  if (status?.ok === false) return [];
  return [...(seen ? [withBucket(state, terms, seen)] : []), ...unwritten(state, setting, after, status)];
}

/** Freedom: what comes back of a date in a pause may be there at its end, as a gift may. */
function afterPauses({ pauses }: Case, date: number): number {
  return pauses.reduce((time, { from, until }) => (from <= date && date < until ? Math.max(time, until) : time), date);
}

export function afterPause(state: Case, until: number, now: number): Case {
  // The longest pause holds.
  return until <= Math.max(now, pausedUntil(state))
    ? state
    : { ...state, pauses: [...state.pauses, { from: now, until }] };
}

export function afterReset({ begunAt }: Case, now: number): Case[] {
  return [...new Set([now, 0, begunAt])].map((begun) => ({ ...UNTOUCHED, resetAt: now, begunAt: begun }));
}
