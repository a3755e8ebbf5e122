/**
 * What the exact buckets say to one call: the states that they can be in after it, given the reply. None when the reply is
 * wrong. Where the law leaves a choice there are several states, and later replies tell which.
 *
 * On one row a reply must be the exact one, to the last digit. On several rows the exact buckets must be able to grant what was
 * granted, never later than promised; what was denied leaves them as they are.
 *
 * Readings, where the law leaves a choice:
 * - A refund to a full bucket, or one that finds nothing to take back, may be a write or none.
 * - A sweep may delete what has been full for a minute, and need not.
 * - A job that was scheduled by a clock behind the last write has its entry at that write; whoever cancels it knows only the
 *   clock's moment. Its tokens may come back, or be lost until they leave.
 * - A sliding window's log tells 64 moments apart; with more of them its bucket is judged as one on several rows.
 */
import type { RateLimitAllStatus } from "convex-rate-limits";
import type { Call, Job, Reply, Request, Status } from "./calls.js";
import { adjust, ask, cancel, isFull, momentsOf, type State, textOf } from "./exact/bucket.js";
import type { Answer, ExactLimit } from "./exact/config.js";
import { least, rational, toNumber } from "./rational.js";

/** All buckets, and the jobs whose reservations were given up. */
export interface Exact {
  readonly buckets: ReadonlyMap<string, State>;
  readonly canceled: ReadonlySet<string>;
  /** The moments of the jobs that were scheduled by a clock behind the last write. */
  readonly moved: ReadonlyMap<string, number>;
}
export const UNTOUCHED: Exact = { buckets: new Map(), canceled: new Set(), moved: new Map() };

export interface Setting {
  readonly limit: ExactLimit;
  readonly now: number;
  /** Whether every bucket is one row. */
  readonly isWhole: boolean;
  /** The jobs that have run. */
  readonly finished: ReadonlySet<string>;
}

const KEYLESS = "(none)";
const SETTLED_MS = 60_000;
const EXACT_MOMENTS = 64;

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
    case "adjust":
      return afterAdjust(exact, call, reply, setting);
    case "cancel":
      return afterCancel(exact, call.job, reply, setting);
    case "reset":
      return reply.is === "done" ? [withBucket(exact, call.key, undefined)] : [];
    case "misuse":
      return reply.is === "error" && reply.message.includes("count") ? [exact] : [];
    case "sweep":
      return reply.is === "done" ? sweeps(exact, setting) : [];
  }
}

function afterRequest(exact: Exact, call: Call & Request, reply: Reply, setting: Setting): Exact[] {
  const { limit, now } = setting;
  const state = bucketOf(exact, call.key);
  const outcome = ask(limit, state, now, call, reply.is === "status" ? reply.status.retryAt : undefined);
  if (reply.is === "thrown denial") {
    const isRight = call.act === "take" && call.throws && isRightDenial(reply.retryAt, outcome.answer, state, setting);
    return isRight ? [exact] : [];
  }
  if (reply.is !== "status" && reply.is !== "snapshot") return [];
  if (reply.is === "snapshot" && !isSnapshot(reply, state, setting)) return [];
  if (call.act === "take" && call.throws && !reply.status.ok) return [];
  if (!isRightStatus(reply.status, outcome.answer, state, setting)) return [];
  return call.act === "take" && reply.status.ok ? [withBucket(exact, call.key, outcome.after)] : [exact];
}

function afterSchedule(exact: Exact, call: Call & { act: "adjust" | "schedule" }, reply: Reply, setting: Setting) {
  const { limit, now } = setting;
  const state = bucketOf(exact, call.key);
  const runAt = reply.is === "scheduled" ? reply.runAt : undefined;
  const { answer, after } = ask(limit, state, now, { count: call.count, reserve: true }, runAt);
  if (reply.is === "refused") return isRightDenial(reply.retryAt, answer, state, setting) ? [exact] : [];
  if (runAt === undefined || !answer.ok) return [];
  const promised = answer.retryAt ?? now;
  const isRight = isExactly(state, setting) ? runAt === promised : runAt >= promised;
  if (!isRight || reply.is !== "scheduled") return [];
  const written = withBucket(exact, call.key, after);
  const isBehind = state !== undefined && runAt < state.ts;
  return [isBehind ? { ...written, moved: new Map(exact.moved).set(reply.job.id, state.ts) } : written];
}

function afterAdjust(exact: Exact, call: Call & { act: "adjust" | "schedule" }, reply: Reply, setting: Setting) {
  if (reply.is !== "status") return [];
  const { limit, now } = setting;
  const state = bucketOf(exact, call.key);
  const { answer, after } = adjust(limit, state, now, call.count);
  if (!reply.status.ok || !isRightStatus(reply.status, answer, state, setting)) return [];
  const written = withBucket(exact, call.key, after);
  return call.count < 0 && isFull(limit, state, Math.max(now, state?.ts ?? now)) ? [written, exact] : [written];
}

function afterCancel(exact: Exact, { handle, key, count }: Job, reply: Reply, { limit, now, finished }: Setting) {
  const isPending = !finished.has(handle.id) && !exact.canceled.has(handle.id);
  if (reply.is !== "canceled" || reply.canceled !== isPending) return [];
  if (!isPending) return [exact];
  const canceled = new Set(exact.canceled).add(handle.id);
  const state = bucketOf(exact, key);
  const moment = exact.moved.get(handle.id);
  const after = cancel(limit, state, now, count, moment ?? handle.runAt);
  const written = { ...withBucket(exact, key, after), canceled };
  const isNothing =
    isFull(limit, state, Math.max(now, state?.ts ?? now)) ||
    (state !== undefined &&
      "entries" in state &&
      (moment !== undefined || !state.entries.some(({ at }) => at === handle.runAt)));
  return isNothing ? [written, { ...exact, canceled }] : [written];
}

/** Requests to one bucket add up. */
function afterAll(exact: Exact, requests: readonly Request[], all: RateLimitAllStatus, setting: Setting): Exact[] {
  const { limit, now } = setting;
  let granted = exact;
  const expected = requests.map(({ key }) => {
    const state = bucketOf(exact, key);
    const wanted = together(requests.filter((request) => request.key === key));
    const { answer, after } = ask(limit, state, now, wanted, promiseTo(all, requests, key));
    granted = withBucket(granted, key, after);
    return { state, answer };
  });
  const isGranted = expected.every(({ answer }) => answer.ok);
  if (all.ok) return isGranted && areRight(all, expected, setting) ? [granted] : [];
  if (!expected.every(({ state }) => isExactly(state, setting))) return [exact];
  const untouched = expected.map(({ state, answer }) => {
    const { remaining, resetAt } = ask(limit, state, now, { count: 0, reserve: false }).answer;
    return { state, answer: answer.ok ? { ok: true, remaining, resetAt } : answer };
  });
  return !isGranted && areRight(all, untouched, setting) ? [exact] : [];
}

/** Thousandths: their sum must not be off by a rounding. */
function together(requests: readonly Request[]): { count: number; reserve: boolean } {
  const thousandths = requests.reduce((total, { count }) => total + Math.round(count * 1000), 0);
  return { count: thousandths / 1000, reserve: requests.some(({ reserve }) => reserve) };
}

function areRight(
  { statuses, retryAt }: RateLimitAllStatus,
  expected: readonly { state: State; answer: Answer }[],
  setting: Setting,
): boolean {
  const latest = Math.max(
    -Infinity,
    ...statuses.flatMap((status) => (status.retryAt === undefined ? [] : [status.retryAt])),
  );
  const own = statuses.every((status, i) => {
    const right = expected[i];
    return right !== undefined && isRightStatus(status, right.answer, right.state, setting);
  });
  return own && (retryAt ?? -Infinity) === latest && statuses.length === expected.length;
}

function promiseTo(all: RateLimitAllStatus, requests: readonly Request[], key: string | undefined) {
  const own = all.statuses.filter((_status, i) => requests[i]?.key === key && requests[i]?.reserve);
  return own.find(({ ok }) => ok)?.retryAt;
}

/** Everything full for a minute may be gone, each bucket by itself. */
function sweeps(exact: Exact, { limit, now, isWhole }: Setting): Exact[] {
  let all = [exact];
  for (const [key, state] of exact.buckets) {
    const isSettled =
      state !== undefined &&
      (isWhole ? state.ts <= now - SETTLED_MS && isFull(limit, state, now - SETTLED_MS) : isFull(limit, state, now));
    if (isSettled) all = [...all, ...all.map((each) => withBucket(each, key, undefined))];
  }
  return all;
}

function isRightStatus(status: Status, answer: Answer, state: State, setting: Setting): boolean {
  const { now } = setting;
  if (isExactly(state, setting)) {
    return (
      status.ok === answer.ok &&
      status.retryAt === answer.retryAt &&
      status.remaining === answer.remaining &&
      status.resetAt === answer.resetAt
    );
  }
  if (!status.ok) return isRightDenial(status.retryAt ?? now, answer, state, setting);
  if (!answer.ok || (status.retryAt ?? now) < (answer.retryAt ?? now)) return false;
  return status.remaining === undefined || status.remaining <= answer.remaining;
}

function isRightDenial(retryAt: number, answer: Answer, state: State, setting: Setting): boolean {
  if (isExactly(state, setting)) return !answer.ok && retryAt === answer.retryAt;
  return retryAt > setting.now && (answer.ok || answer.retryAt === undefined || retryAt >= answer.retryAt);
}

function isSnapshot(reply: Reply & { is: "snapshot" }, state: State, setting: Setting): boolean {
  const { limit } = setting;
  if (limit.kind === "sliding window" || !isExactly(state, setting) || (state && "entries" in state)) return true;
  const capacity = rational(limit.capacity);
  const value = state ? least(capacity, state.value) : capacity;
  return Math.min(limit.capacity, reply.value) === toNumber(value) && reply.ts === (state?.ts ?? 0);
}

function isExactly(state: State, { isWhole }: Setting): boolean {
  return isWhole && momentsOf(state) <= EXACT_MOMENTS;
}

function bucketOf({ buckets }: Exact, key: string | undefined): State {
  return buckets.get(key ?? KEYLESS);
}

function withBucket(exact: Exact, key: string | undefined, state: State): Exact {
  return { ...exact, buckets: new Map(exact.buckets).set(key ?? KEYLESS, state) };
}

export function textOfExact({ buckets, canceled }: Exact): string {
  const states = [...buckets].map(([key, state]) => `${key}:${textOf(state)}`).sort();
  return JSON.stringify([states, [...canceled].sort()]);
}
