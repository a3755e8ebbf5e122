/**
 * The states in which the exact buckets can be after a call, given the reply. There is none if the reply is wrong. If the law
 * leaves a choice there are several states, and later replies decide between them.
 *
 * On one row a reply must be the exact one, to the last digit. On several rows the exact buckets must be able to grant what was
 * granted, never later than promised, and hold all that the rows hold. A denial leaves them as they are.
 *
 * Readings, if the law leaves a choice:
 * - A refund to a full bucket, or one that finds nothing to take back, may be a write or none.
 * - A sweep may delete what has been full for a minute, and need not.
 * - A job that was scheduled by a clock behind the last write has its entry at that write. A cancel knows only the clock's time, so
 *   it takes back older entries. On several rows, whose last writes differ, it may take back the entry itself.
 * - A sliding window's log distinguishes 64 times. A bucket with more of them is judged like one on several rows.
 */
import type { RateLimitAllStatus } from "convex-rate-limits";
import type { Call, Entry, Job, Place, Reply, Request, Status, Take } from "./calls.js";
import { adjust, ask, isFull, isJoined, leftAt, levelOf, partOf } from "./exact/bucket.js";
import { pause, type State, takenBehind, textOf, undo } from "./exact/bucket.js";
import { type Answer, type ExactLimit, LAST_MOMENT, sizeOf } from "./exact/config.js";
import { regain, type Spill, textOfSpills } from "./exact/spill.js";
import { exactly, isLess, minus, plus, rational, toNumber, ZERO } from "./rational.js";
import { T0 } from "../laws/arbitraries.js";

/** All buckets, and the jobs whose reservations were given up. */
export interface Exact {
  readonly buckets: ReadonlyMap<string, State>;
  readonly canceled: ReadonlySet<string>;
  /** By bucket, the last write to which a clock behind it has added. On several rows that clock dates the tokens. */
  readonly moved: ReadonlyMap<string, number>;
  /** By bucket on several rows, the tokens that it lost by being full. A clock behind its last write may still take them. */
  readonly spilled: ReadonlyMap<string, readonly Spill[]>;
}
export const UNTOUCHED: Exact = { buckets: new Map(), canceled: new Set(), moved: new Map(), spilled: new Map() };

export interface Setting {
  readonly limitOf: (place: Place) => ExactLimit;
  readonly now: number;
  /** Whether every bucket is one row. */
  readonly isWhole: boolean;
  /** The jobs that have run. */
  readonly finished: ReadonlySet<string>;
  /** Whether every key of "limit" has an override. Lists have its bucket, also if that was never written. */
  readonly isOverridden: boolean;
}

export const KEYS = [undefined, "alice", "bob"] as const;
export const PLACES = (["limit", "other"] as const).flatMap((name) => KEYS.map((key): Place => ({ name, key })));
const SETTLED_MS = 60_000;

export function after(exact: Exact, call: Call, reply: Reply, setting: Setting): Exact[] {
  switch (call.act) {
    case "take":
    case "check":
    case "get":
      return afterRequest(exact, call, reply, setting);
    case "schedule":
      return afterSchedule(exact, call, reply, setting);
    case "all":
      return reply.is === "statuses" ? afterAll(exact, call.requests, reply.all, setting) : [];
    case "checkAll":
      return reply.is === "statuses" && afterAll(exact, call.requests, reply.all, setting).length > 0 ? [exact] : [];
    case "adjust":
      return afterAdjust(exact, call, reply, setting);
    case "cancel":
      return afterCancel(exact, call.job, reply, setting);
    case "pause":
      return reply.is === "done" ? [afterPause(exact, call, setting)] : [];
    case "reset":
      return reply.is === "done" ? [withBucket(exact, call, undefined)] : [];
    case "misuse":
      return reply.is === "error" && reply.message.includes("count") ? [exact] : [];
    case "list":
      return isRightPage(exact, call, reply, setting) ? [exact] : [];
    case "sweep":
      return reply.is === "done" ? sweeps(exact, setting) : [];
  }
}

function afterRequest(exact: Exact, call: Call & Request, reply: Reply, setting: Setting): Exact[] {
  const { now } = setting;
  const limit = setting.limitOf(call);
  const state = bucketOf(exact, call);
  const count = countOf(call, reply, state, setting);
  if (count === undefined) return [];
  const decided = { ...call, count, date: reply.is === "status" ? reply.status.takenAt : undefined };
  const outcome = ask(limit, state, now, decided, reply.is === "status" ? reply.status.retryAt : undefined);
  if (reply.is === "thrown denial") {
    const isThrown = call.act === "take" && call.throws && call.mode !== "shadow";
    const isRight = isThrown && isRightDenial(reply.retryAt, outcome.answer, state, setting);
    return isRight ? [exact] : [];
  }
  if (reply.is !== "status" && reply.is !== "snapshot") return [];
  if (reply.is === "snapshot" && !isSnapshot(reply, limit, state, setting)) return [];
  if (call.act === "take" && call.throws && call.mode !== "shadow" && !reply.status.ok) return [];
  if (reply.is === "snapshot" && isBeyondList(reply.status, limit, now)) return [exact];
  const resetAt = reply.is === "snapshot" ? shownReset(reply.status, limit, outcome.answer.resetAt) : undefined;
  const shown = resetAt === undefined ? reply.status : { ...reply.status, resetAt };
  if (!isRightStatus(shown, outcome.answer, state, setting) || !isInOrder(state, decided, setting)) return [];
  return call.act === "take" && reply.status.ok ? [withTaken(exact, decided, outcome.after, setting)] : [exact];
}

/**
 * The count of a call. For a call that takes the tokens that are there, the count is what it got, or, if it was denied, what would
 * have sufficed. On one row it gets all tokens. On several rows the exact bucket must have as many.
 */
function countOf(call: Request, reply: Reply, state: State, setting: Setting): number | undefined {
  const { count, atLeast } = call;
  const status = reply.is === "status" ? reply.status : { ok: false };
  if (atLeast === undefined) return status.taken === undefined ? count : undefined;
  if (!status.ok) return atLeast;
  const { taken = NaN } = status;
  const isWholeMore = Math.round((taken - atLeast) * 1000) % 1000 === 0;
  const isPart = taken === count || (taken >= atLeast && taken < count && isWholeMore);
  const limit = setting.limitOf(call);
  const isAll = !isExactly(state, setting) || taken === partOf(limit, state, setting.now, count, atLeast);
  return isPart && isAll ? taken : undefined;
}

/** A snapshot lists the calendar's windows of this time from the last write on (docs/platform.md). */
const LISTED_MS = 10 * 366 * 86_400_000;

/** Whether a snapshot does not list the windows that bring the tokens: it shows a debt without an end, or no next window. */
export function isBeyondList({ retryAt, resetAt }: Status, { period }: ExactLimit, now: number): boolean {
  return typeof period === "string" && (retryAt === 8.64e15 || (resetAt === undefined && now > T0 + LISTED_MS));
}

/** A snapshot lists the starts of a calendar's windows only from its last write on, so it may not list the next one. */
export function shownReset({ resetAt }: Status, { period }: ExactLimit, known: number | undefined): number | undefined {
  return typeof period === "string" ? (resetAt ?? known) : resetAt;
}

/** The scheduler refuses a start further away than five years of 366 days. */
const SCHEDULER_MS = 5 * 366 * 86_400_000;

function afterSchedule(exact: Exact, call: Call & { act: "schedule" }, reply: Reply, setting: Setting) {
  const { now } = setting;
  const { count, spread } = call;
  const state = bucketOf(exact, call);
  const asked = { count, reserve: { within: SCHEDULER_MS - spread } };
  if (reply.is !== "scheduled") {
    const { answer } = ask(setting.limitOf(call), state, now, asked);
    return reply.is === "refused" && isRightDenial(reply.retryAt, answer, state, setting) ? [exact] : [];
  }
  const { runAt, job } = reply;
  const { dueAt = runAt, takenAt: date = dueAt } = job;
  const { answer, after } = ask(setting.limitOf(call), state, now, { ...asked, date }, dueAt);
  const promised = isUndecided(answer, setting) ? now : (answer.retryAt ?? now);
  const isRight = isExactly(state, setting) ? dueAt === promised : dueAt >= promised;
  const isSpread = job.runAt === runAt && runAt >= dueAt && (runAt === dueAt || runAt < dueAt + spread);
  if (!(answer.ok || isUndecided(answer, setting)) || !isRight || !isSpread) return [];
  if (!isInOrder(state, { ...call, date }, setting)) return [];
  return [withTaken(exact, call, after, setting)];
}

function afterAdjust(exact: Exact, call: Call & { act: "adjust" }, reply: Reply, setting: Setting) {
  if (reply.is !== "status") return [];
  const { takenAt } = call;
  if (takenAt !== undefined) return afterRefund(exact, { ...call, takenAt }, reply.status, setting);
  const state = bucketOf(exact, call);
  const { answer, after } = adjust(setting.limitOf(call), state, setting.now, call.count);
  if (!reply.status.ok || !isRightStatus(reply.status, answer, state, setting)) return [];
  return call.count > 0 ? [withTaken(exact, call, after, setting)] : afterGift(exact, call, after, setting);
}

/** A gift that finds nothing to take back may be a write or none. @param count - below 0. */
function afterGift(exact: Exact, place: Place & { count: number }, after: State, setting: Setting): Exact[] {
  const { now } = setting;
  const limit = setting.limitOf(place);
  const state = bucketOf(exact, place);
  const [before, then] = [leftAt(limit, state, now), leftAt(limit, after, now)];
  const isNothing = !isLess(before, then) && !isLess(then, before);
  const written = withTaken(exact, place, after, { ...setting, now: Math.max(now, state?.ts ?? now) });
  return isNothing ? [written, exact] : [written];
}

/** One state also on several rows, because they become one row. */
function afterPause(exact: Exact, call: Call & { act: "pause" }, { limitOf, now }: Setting): Exact {
  if (call.until <= now) return exact;
  const state = pause(limitOf(call), bucketOf(exact, call), now, call.until);
  return { ...withBucket(exact, call, state), spilled: new Map(exact.spilled).set(idOf(call), []) };
}

function afterRefund(exact: Exact, take: Take, status: Status, setting: Setting): Exact[] {
  const { takenAt } = take;
  const undone = afterUndo(exact, { ...take, count: -take.count }, { takenAt, promised: takenAt }, setting);
  return undone.filter((after) => {
    const state = bucketOf(after, take);
    const { answer } = adjust(setting.limitOf(take), state, setting.now, 0);
    return status.ok && isRightStatus(status, answer, state, setting);
  });
}

function afterCancel(exact: Exact, job: Job, reply: Reply, setting: Setting): Exact[] {
  const { handle } = job;
  const { finished } = setting;
  const isPending = !finished.has(handle.id) && !exact.canceled.has(handle.id);
  if (reply.is !== "canceled" || reply.canceled !== isPending) return [];
  if (!isPending) return [exact];
  const { dueAt = handle.runAt, takenAt = dueAt } = handle;
  const given = { ...exact, canceled: new Set(exact.canceled).add(handle.id) };
  return afterUndo(given, job, { takenAt, promised: Math.max(dueAt, takenAt) }, setting);
}

/** On several rows, and after a clock that stepped back, a refund brings no more than a gift would; to a lowered window it may. */
function afterUndo(
  exact: Exact,
  { name, key, count }: Place & { count: number },
  { takenAt, promised }: { takenAt: number; promised: number },
  setting: Setting,
): Exact[] {
  const { now, limitOf } = setting;
  const place = { name, key, count: -count };
  const limit = limitOf(place);
  const state = bucketOf(exact, place);
  const moved = exact.moved.get(idOf(place));
  const isBound = !isExactly(state, setting) && moved !== undefined;
  const gift = isBound && limit.kind !== "sliding window" ? adjust(limit, state, now, -count).after : undefined;
  const startsAt = isExactly(state, setting) ? promised : Math.max(promised, moved ?? promised);
  // Only to a lowered window may a gift bring less.
  const isMost = gift !== undefined && limit.kind !== "fixed window";
  const states = isMost ? [] : undo(limit, state, now, count, { takenAt, promised: startsAt });
  const given = [...(gift ? [gift] : []), ...states].flatMap((after) => afterGift(exact, place, after, setting));
  // Less may come back there: if it is nothing, nothing is written, and time counts since the write before.
  return isExactly(state, setting) ? given : [...given, exact];
}

/** Requests to one bucket add up. */
function afterAll(exact: Exact, requests: readonly Request[], all: RateLimitAllStatus, setting: Setting): Exact[] {
  const { now, limitOf } = setting;
  let granted = exact;
  const expected = requests.map((place, i) => {
    const state = bucketOf(exact, place);
    const wanted = together(requests.filter((request) => idOf(request) === idOf(place)));
    const { answer, after } = ask(limitOf(place), state, now, wanted, promiseTo(all, requests, place));
    const isShadow = place.mode === "shadow";
    // In shadow a denial takes nothing, and stops no other.
    if (!isShadow || all.statuses[i]?.ok) {
      granted = withTaken(granted, { ...place, count: wanted.count }, after, setting);
    }
    return { place, state, answer, isShadow };
  });
  const isGranted = expected.every(({ answer, isShadow }) => isShadow || answer.ok || isUndecided(answer, setting));
  if (all.ok) return isGranted && areRight(all, expected, setting) ? [granted] : [];
  const untouched = expected.map(({ place, state, answer, isShadow }) => {
    const { remaining, resetAt } = ask(limitOf(place), state, now, { count: 0, reserve: false }).answer;
    return { state, isShadow, answer: answer.ok ? { ok: true, remaining, resetAt } : answer };
  });
  return areRight(all, untouched, setting) ? [exact] : [];
}

/** Thousandths: their sum must not be off by a rounding. */
function together(requests: readonly Request[]): { count: number; reserve: Request["reserve"] } {
  const thousandths = requests.reduce((total, { count }) => total + Math.round(count * 1000), 0);
  return { count: thousandths / 1000, reserve: requests[0]?.reserve ?? false };
}

type Expected = { readonly state: State; readonly answer: Answer; readonly isShadow: boolean };

function areRight(all: RateLimitAllStatus, expected: readonly Expected[], setting: Setting): boolean {
  const { ok, statuses, retryAt } = all;
  const enforced = statuses.filter((_, i) => !expected[i]?.isShadow);
  const waits = enforced.flatMap((status) => (status.retryAt === undefined ? [] : [status.retryAt]));
  const own = statuses.every((status, i) => {
    const right = expected[i];
    return right !== undefined && isRightStatus(status, right.answer, right.state, setting);
  });
  const isLatest = retryAt === (waits.length > 0 ? Math.max(...waits) : undefined);
  return own && isLatest && statuses.length === expected.length && ok === enforced.every((status) => status.ok);
}

function promiseTo(all: RateLimitAllStatus, requests: readonly Request[], place: Place) {
  const i = requests.findIndex(
    (each, i) => idOf(each) === idOf(place) && each.reserve !== false && all.statuses[i]?.ok,
  );
  return all.statuses[i]?.retryAt;
}

/** The first buckets of a limit that were written, in the order of their keys. */
function isRightPage(exact: Exact, call: Call & { act: "list" }, reply: Reply, setting: Setting): boolean {
  if (reply.is !== "page") return false;
  const { name, most, onlyLimited } = call;
  const { page, isLast } = reply;
  const { now } = setting;
  if (page.length > most || (page.length < most && !isLast)) return false;
  const expected = KEYS.flatMap((key) => {
    const place = { name, key };
    const state = bucketOf(exact, place);
    if (!state && !(setting.isOverridden && name === "limit")) return [];
    const limit = setting.limitOf(place);
    const { answer } = ask(limit, state, now, { count: Math.min(1, sizeOf(limit)), reserve: false });
    return [{ key, state, answer, left: leftAt(limit, state, now) }];
  });
  const isAllExact = expected.every(({ state }) => isExactly(state, setting));
  const shown = expected.filter(({ answer }) => !onlyLimited || !answer.ok).slice(0, most);
  if (isAllExact) {
    const isRight = ({ key, state, answer, left }: (typeof shown)[number], entry: Entry | undefined) =>
      entry?.key === key && entry?.value === toNumber(left) && isRightStatus(entry, answer, state, setting);
    return page.length === shown.length && shown.every((each, i) => isRight(each, page[i]));
  }
  return page.every((entry) => {
    const own = expected.find(({ key }) => key === entry.key);
    return own !== undefined && isRightStatus(entry, own.answer, own.state, setting) && !isAbove(entry, own.left);
  });
}

/** The rounding of a division: of rows that hold as much as the exact bucket. */
const ROUNDING = 2 ** -52;

function isAbove({ value }: Entry, left: ReturnType<typeof leftAt>): boolean {
  return isLess(plus(left, exactly(Math.abs(value) * ROUNDING)), exactly(value));
}

/** Any bucket that has been full for a minute may be gone. */
function sweeps(exact: Exact, { limitOf, now, isWhole }: Setting): Exact[] {
  return PLACES.reduce(
    (all, place) => {
      const state = bucketOf(exact, place);
      const settled = isWhole ? now - SETTLED_MS : now;
      const isSettled = state && (!isWhole || state.ts <= settled) && isFull(limitOf(place), state, settled);
      return isSettled ? [...all, ...all.map((each) => withBucket(each, place, undefined))] : all;
    },
    [exact],
  );
}

function isRightStatus(status: Status, answer: Answer, state: State, setting: Setting): boolean {
  const { now } = setting;
  if (isExactly(state, setting)) {
    return (
      status.ok === answer.ok &&
      isSameTime(status.retryAt, answer.retryAt) &&
      status.remaining === answer.remaining &&
      status.resetAt === answer.resetAt
    );
  }
  if (!status.ok) return isRightDenial(status.retryAt ?? now, answer, state, setting);
  const isGranted = answer.ok && (status.retryAt ?? now) >= (answer.retryAt ?? now);
  if (!isGranted && !isUndecided(answer, setting)) return false;
  return status.remaining === undefined || status.remaining <= answer.remaining;
}

function isRightDenial(retryAt: number, answer: Answer, state: State, setting: Setting): boolean {
  if (isExactly(state, setting)) return !answer.ok && isSameTime(retryAt, answer.retryAt);
  const isLater = answer.retryAt === undefined || retryAt >= Math.min(NEVER, answer.retryAt);
  return retryAt > setting.now && (answer.ok || isLater || isUndecided(answer, setting));
}

/** With a clock so far behind, rows that were not written since are as they were then. Each serves, or denies, by itself. */
function isUndecided({ isOfOneRow = false }: Answer, { isWhole }: Setting): boolean {
  return isOfOneRow && !isWhole;
}

/** A reservation that would always have to wait for longer than it may is denied until the end of time. */
const NEVER = LAST_MOMENT - 5 * 366 * 86_400_000;

function isSameTime(a: number | undefined, b: number | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a >= NEVER && b >= NEVER);
}

function isSnapshot(reply: Reply & { is: "snapshot" }, limit: ExactLimit, state: State, setting: Setting): boolean {
  if (!isExactly(state, setting)) return true;
  const value = leftAt(limit, state, state?.ts ?? 0);
  return reply.value === toNumber(value) && reply.ts === (state?.ts ?? 0);
}

function isExactly(state: State, { isWhole }: Setting): boolean {
  return isWhole && !isJoined(state);
}

/** Takes from one row are dated in their order, unless it logs them. */
function isInOrder(state: State, { date, ...place }: Place & { date?: number | undefined }, setting: Setting): boolean {
  const { isWhole, limitOf } = setting;
  const isLogged = !state || "entries" in state || limitOf(place).kind === "sliding window";
  if (!isWhole || date === undefined || isLogged) return true;
  return (state.history ?? []).every((event) => event.date === undefined || event.date <= date);
}

function bucketOf({ buckets }: Exact, place: Place): State {
  return buckets.get(idOf(place));
}

function withBucket(exact: Exact, place: Place, state: State): Exact {
  return { ...exact, buckets: new Map(exact.buckets).set(idOf(place), state) };
}

/**
 * A bucket after a call that took `count` tokens of it, or gave them back when negative. On several rows a clock behind the last
 * write may take from a row that was written before. That row had lost tokens by being full until the last write, and a refund that
 * found no room. It gains them instead, as if the calls had come in the order of their clocks. The bucket therefore gets back the
 * tokens that were lost meanwhile, each once and at most as many as were taken. A sliding window's tokens leave by that clock.
 */
function withTaken(exact: Exact, call: Place & { count: number }, after: State, setting: Setting): Exact {
  const { limitOf, now, isWhole } = setting;
  const { count } = call;
  const id = idOf(call);
  const limit = limitOf(call);
  const state = bucketOf(exact, call);
  const before = levelOf(state);
  const isBehind = before !== undefined && now < before.ts;
  const moved = isBehind ? new Map(exact.moved).set(id, before.ts) : exact.moved;
  const written = { ...withBucket(exact, call, after), moved };
  if (!after || !before || isWhole || after === state) return written;
  if (limit.kind === "sliding window") {
    return isBehind && count > 0 ? withBucket(written, call, takenBehind(limit, state, after, now, count)) : written;
  }
  const spills = exact.spilled.get(id) ?? [];
  if (!isBehind) {
    if (before.ts === now && count >= 0) return written;
    const spill = { ...before, until: now, given: rational(Math.max(0, -count)), used: ZERO };
    return { ...written, spilled: new Map(exact.spilled).set(id, [...spills, spill].slice(-MOST_SPILLS)) };
  }
  const { regained, left } = regain(limit, spills, now, rational(count));
  const window = "window" in after ? after.window : undefined;
  // Tokens that it keeps do not count as used in a window.
  const unused = window && { window: { ...window, used: minus(window.used, regained) } };
  const kept = { ...after, value: plus(after.value, regained), ...unused };
  return { ...withBucket(written, call, kept), spilled: new Map(exact.spilled).set(id, left) };
}

/** Writes that are remembered: more than the clock of a scenario steps back over. */
const MOST_SPILLS = 12;

export function idOf({ name, key }: Place): string {
  return key === undefined ? name : `${name}/${key}`;
}

export function textOfExact({ buckets, canceled, spilled }: Exact): string {
  const states = [...buckets].map(([key, state]) => `${key}:${textOf(state)}`).sort();
  const spills = [...spilled].map(([key, all]) => `${key}:${textOfSpills(all)}`).sort();
  return JSON.stringify([states, [...canceled].sort(), spills]);
}
