/** Work that waits for its tokens: reserved and scheduled in one transaction, by the caller's own scheduler. */
import * as convex from "convex/server";
import { convexToJson, type Value } from "convex/values";
import { checkField, isObject } from "../engine/fields.js";
import { adjustedField } from "../engine/adjustment.js";
import type { BucketArgs } from "../engine/request.js";
import { checkCtx, fieldError, misuseError, show } from "../engine/misuse.js";
import { FURTHEST_MS } from "../engine/time.js";
import { cancelPending, type JobReader } from "../storage/jobs.js";
import { inTurn } from "../storage/rows.js";
import type { AllowedStatus, DeniedStatus, RateLimitedJob } from "../wire/answers.js";
import { present } from "../wire/present.js";
import { concludeOne } from "./decision.js";
import { type AnyArgs, anything, findBucket, judge } from "./definitions.js";
import { DAY } from "./durations.js";
import { modeField, throwsField } from "./options.js";
import { type Ctx, type LimitSet, wakeQueue } from "./place.js";
import { BY_ROWS } from "./plans.js";

/** The required part of a ctx for scheduling, besides the limit's place: the app's scheduler, so that the job is the app's own. */
export interface SchedulingCtx {
  scheduler: convex.Scheduler;
}

/** The same for cancelling, which also reads the job's state. */
export type CancellingCtx = SchedulingCtx & JobReader;

/**
 * - `ok: true`: the job is scheduled for `runAt` (ms since the epoch); `job` can be stored and cancelled.
 * - `ok: false`: `maxReserved` is used up, or the job would start more than five years from now; ask again at `retryAt`. With a `reason`
 *   the key is blocked, or the count is too large for the bucket.
 * - `shadow`: of a limit in shadow, what it would answer if it were enforced; the job is scheduled as if there were no limit.
 */
export type ScheduleResult =
  | { ok: true; runAt: number; job: RateLimitedJob; retryAt?: never; shadow?: AllowedStatus | DeniedStatus }
  | { ok: false; retryAt: number; reason?: DeniedStatus["reason"]; runAt?: never; job?: never };

/** The state that a job was found in when it was too late to cancel it; "deleted" when Convex has forgotten it. */
export type CancelResult =
  { canceled: true } | { canceled: false; state: "inProgress" | "success" | "failed" | "canceled" | "deleted" };

/** A function and its arguments, as the scheduler takes them. */
export interface JobCall {
  fn: convex.SchedulableFunctionReference;
  fnArgs: convex.OptionalRestArgs<convex.SchedulableFunctionReference>;
}

export async function schedule(
  set: LimitSet,
  ctx: Ctx & SchedulingCtx,
  args: AnyArgs,
  work: JobCall,
): Promise<ScheduleResult> {
  const request = judge(set, "scheduleRateLimited", args, {
    count: anything,
    spread: { atLeast: 0, atMost: DAY, unit: "milliseconds" },
    mode: modeField,
    throws: throwsField,
  });
  const { name, key, config, count = 1, spread = 0 } = args;
  // A reservation whose start the scheduler accepts.
  const reserving = { ...request, asked: { count, reserve: { within: FURTHEST_MS - spread }, refundable: true } };
  checkScheduler(ctx, "scheduleRateLimited");
  checkFunction(name, work.fn, work.fnArgs);
  const charged = await set.place.consume(ctx, reserving);
  const status = concludeOne({ request: reserving, status: charged }, set.options);
  if (!status.ok) return present({ ok: false, retryAt: status.retryAt, reason: status.reason });
  const now = Date.now();
  const { shadow } = status;
  const runAt = (status.retryAt ?? now) + Math.floor(Math.random() * spread);
  // A denial in shadow took nothing, so nothing is given back.
  const promise = shadow ?? status;
  const { retryAt, takenAt = retryAt ?? now } = promise.ok ? promise : {};
  // In an action the clock is later than that of the take: others may have taken in between.
  const dueAt = retryAt ?? Math.min(now, takenAt);
  const taken = promise.ok ? count : 0;
  const id = await scheduled(set, ctx, { bucket: request.bucket, count: taken, at: dueAt, takenAt }, () =>
    ctx.scheduler.runAt(runAt, work.fn, ...work.fnArgs),
  );
  const others = { dueAt: dueAt === runAt ? undefined : dueAt, takenAt: takenAt === dueAt ? undefined : takenAt };
  // The job is stored in documents: only its own fields, and none that is undefined.
  const job = present({ name, key, count: taken, config, runAt, ...others, id });
  return { ok: true, runAt, job, ...(shadow && { shadow }) };
}

/** What came back of a job: tokens, when they were taken, and for when. */
interface Returning {
  readonly bucket: Readonly<BucketArgs>;
  readonly count: number;
  readonly at: number;
  readonly takenAt?: number | undefined;
}

/** Schedules a job that was paid. If that fails, its tokens come back: a caller that catches the error, or an action, would lose them. */
async function scheduled<Id>(set: LimitSet, ctx: Ctx, paid: Returning, run: () => Promise<Id>): Promise<Id> {
  try {
    return await run();
  } catch (error) {
    await giveBack(set, ctx, paid);
    throw error;
  }
}

async function giveBack(set: LimitSet, ctx: Ctx, { bucket, count, at, takenAt }: Returning): Promise<void> {
  await set.place.adjust(ctx, { bucket, asked: { count: -count, at, takenAt } });
  await wakeQueue(set, ctx, bucket);
}

export async function cancelScheduled(
  set: LimitSet,
  ctx: Ctx & CancellingCtx,
  job: RateLimitedJob,
): Promise<CancelResult> {
  const call = "cancelRateLimited";
  checkJob(job);
  checkScheduler(ctx, call);
  const needs = `${call} needs the ctx of a mutation, to read the job's state`;
  checkCtx(ctx, "db", needs, " In an action call a mutation of yours.");
  const { name, key, count, id, dueAt = job.runAt, takenAt } = job;
  // Tokens of a defined limit come back under what its rows were written under since, such as another plan.
  const config = set.definitions.get(name) ? undefined : job.config;
  const bucket = findBucket(set.definitions, call, { name, key, config }, BY_ROWS);
  checkField(name, "count", adjustedField, -count);
  const { state } = await inTurn(ctx, () => cancelPending(ctx, id));
  if (state !== "pending") return { canceled: false, state };
  await giveBack(set, ctx, { bucket, count, at: dueAt, takenAt });
  return { canceled: true };
}

/** @throws what the scheduler would, when the tokens were already taken: of a caller who goes on, or an action, they would stay so. */
export function checkFunction(name: string, fn: unknown, [args = {}]: readonly unknown[]): void {
  if (!isReference(fn)) throw fieldError(name, "the function", "a reference, such as internal.jobs.run", fn);
  // Convex stores these two anywhere but as a function's arguments.
  if (!isObject(args) || args instanceof ArrayBuffer) {
    throw fieldError(name, "the function's arguments", "an object", args);
  }
  try {
    convexToJson(args as Value);
  } catch (error) {
    throw misuseError(name, `the function's arguments cannot be stored: ${(error as Error).message}`);
  }
}

/** Whether Convex can call it: a reference, in full, or the text of one. */
export function isReference(fn: unknown): boolean {
  if (fn === "") return false;
  try {
    convex.getFunctionAddress(fn);
    return true;
  } catch {
    // No reference, or one that stops at a module.
    return false;
  }
}

export function checkScheduler(ctx: unknown, call: string): void {
  checkCtx(ctx, "scheduler", `${call} needs the ctx of a mutation or action`);
}

/** @throws when it is not what `scheduleRateLimited` returned as `job`. */
function checkJob(job: unknown): void {
  const given = (job ?? {}) as Partial<RateLimitedJob>;
  const { name, id, count, runAt, dueAt = runAt, takenAt = dueAt, config = {} } = given;
  const isOfBucket = typeof name === "string" && isObject(config);
  const isScheduled = typeof id === "string" && [runAt, dueAt, takenAt].every(Number.isFinite);
  if (isOfBucket && isScheduled && typeof count === "number" && count >= 0) return;
  throw new Error(`cancelRateLimited needs the job that scheduleRateLimited returned, got ${show(job)}.`);
}
