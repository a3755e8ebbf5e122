/** convex-rate-limits/jobs: work that waits for its tokens, reserved and scheduled in one transaction. */
import type * as convex from "convex/server";
import { takenAtField } from "../engine/adjustment.js";
import { isObject, isPermitted } from "../engine/fields.js";
import { type BucketArgs, countField } from "../engine/request.js";
import { checkCtx, needError } from "../engine/misuse.js";
import { checkBucket } from "../engine/names.js";
import { FURTHEST_MS } from "../engine/time.js";
import { MAX_TOKENS } from "../engine/units.js";
import { cancelPending, type JobReader } from "../storage/jobs.js";
import { inTurn } from "../storage/rows.js";
import type { AllowedStatus, DeniedStatus, RateLimitedJob, RateLimitLease } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type * as args from "./args.js";
import { concludeOne } from "./decision.js";
import { type AnyArgs, checkTokens, findBucket, complete } from "./definitions.js";
import type { ThrowChoice } from "./definitionTypes.js";
import { DAY } from "./entry.js";
import { modeField, throwsField } from "./options.js";
import type { Ctx, DefinedRateLimits, InComponent, InTables, LimitSet, TypesOf } from "./place.js";
import { setOf, wakeQueue } from "./place.js";
import { checkFunction, checkScheduler, type JobCall, type SchedulingCtx } from "./scheduler.js";
import type { CallAnswer } from "./rateLimits.js";

export type { RateLimitedJob, RateLimitLease } from "../wire/answers.js";

/** The same for cancelling, which also reads the job's state. */
export type CancellingCtx = SchedulingCtx & JobReader;

/**
 * - `ok: true`: the job is scheduled for `runAt` (ms since the epoch); `job` can be stored and cancelled.
 * - `ok: false`: `maxReserved` is used up, or the job would start more than five years from now; ask again at
 *   `retryAt`. With a `reason` the key is blocked, or the count is too large for the bucket.
 * - `shadow`: of a limit in shadow, what it would answer if it were enforced; the job is scheduled as if there were no
 *   limit.
 */
export type ScheduleResult =
  | { ok: true; runAt: number; job: RateLimitedJob; retryAt?: never; shadow?: AllowedStatus | DeniedStatus }
  | { ok: false; retryAt: number; reason?: DeniedStatus["reason"]; runAt?: never; job?: never };

/** The state that a job was found in when it was too late to cancel it; "deleted" when Convex has forgotten it. */
export type CancelResult =
  | { canceled: true }
  | { canceled: false; state: "inProgress" | "success" | "failed" | "canceled" | "deleted" };

/** The functions of `rateLimitJobs`. Misuse throws as it does from the functions of `defineRateLimits`. */
export interface RateLimitJobs<Limits, Contexts extends InTables | InComponent, Default extends ThrowChoice = false> {
  /**
   * Reserves tokens and schedules `fn` with `args` for when they exist: now, or at the reserved time, plus a uniform
   * random delay of up to `spread` ms. The caller's own scheduler runs it. Both are part of the caller's transaction: a
   * mutation that throws leaves neither the job nor the reservation.
   */
  scheduleRateLimited: <
    Name extends args.NameIn<Limits>,
    Fn extends JobCall["fn"],
    Said extends ThrowChoice = undefined,
  >(
    ctx: Contexts["mutation"] & SchedulingCtx,
    args: args.ScheduleArgs<Limits, Name, Said>,
    fn: Fn,
    ...fnArgs: convex.OptionalRestArgs<Fn>
  ) => Promise<CallAnswer<ScheduleResult, Limits, Name, Said, Default>>;

  /**
   * Cancels a scheduled job that has not begun and gives its tokens back; jobs that were promised a later time keep it.
   * A job that runs, has run or was cancelled before gives nothing back, nor does one whose limit a deploy has removed.
   * Give it a mutation's ctx.
   */
  cancelRateLimited: (ctx: Contexts["mutation"] & CancellingCtx, job: RateLimitedJob) => Promise<CancelResult>;

  /**
   * Gives back the slot of a lease that `rateLimit` returned, and no other: a lease that was released, ended, or was
   * forgotten by `resetRateLimit` does nothing. Give it a mutation's ctx, or in the component also an action's.
   */
  releaseRateLimit: (ctx: Contexts["mutation"], lease: RateLimitLease) => Promise<null>;
}

/**
 * The functions that schedule work for the time at which its tokens exist, in either place.
 *
 * @param limits - what `defineRateLimits` returned.
 * @example
 * ```ts
 * import { defineRateLimits, MINUTE } from "convex-rate-limits";
 * import { rateLimitJobs } from "convex-rate-limits/jobs";
 *
 * const limits = defineRateLimits({ generate: { kind: "token bucket", rate: 20, period: MINUTE } });
 * export const { scheduleRateLimited, cancelRateLimited } = rateLimitJobs(limits);
 * ```
 */
export function rateLimitJobs<Set extends DefinedRateLimits>(
  limits: Set,
): RateLimitJobs<TypesOf<Set>["limits"], TypesOf<Set>["contexts"], TypesOf<Set>["throws"]> {
  const set = setOf(limits, "rateLimitJobs");
  return {
    scheduleRateLimited: (ctx: Ctx & SchedulingCtx, asked: AnyArgs, fn: JobCall["fn"], ...fnArgs: JobCall["fnArgs"]) =>
      schedule(set, ctx, asked, { fn, fnArgs }),
    cancelRateLimited: (ctx: Ctx & CancellingCtx, job: RateLimitedJob) => cancelScheduled(set, ctx, job),
    releaseRateLimit: async (ctx: Ctx, lease: RateLimitLease) => await set.place.release(ctx, checkLease(lease)),
  } satisfies Record<keyof RateLimitJobs<never, InTables>, unknown> as never;
}

async function schedule(
  set: LimitSet,
  ctx: Ctx & SchedulingCtx,
  asked: AnyArgs,
  work: JobCall,
): Promise<ScheduleResult> {
  const request = complete(set, "scheduleRateLimited", asked, {
    count: countField,
    spread: { atLeast: 0, atMost: DAY, unit: "milliseconds" },
    mode: modeField,
    throws: throwsField,
  });
  const { name, key, config, count = 1, spread = 0 } = asked;
  checkTokens("scheduleRateLimited", request);
  // A reservation whose start the scheduler accepts.
  const reserving = { ...request, reserve: { within: FURTHEST_MS - spread }, refundable: true };
  checkScheduler(ctx, "scheduleRateLimited");
  checkFunction(name, work.fn, work.fnArgs);
  const status = concludeOne(reserving, await set.place.consume(ctx, reserving), set.options);
  if (!status.ok) return present({ ok: false, retryAt: status.retryAt, reason: status.reason });
  const now = Date.now();
  const { shadow } = status;
  const runAt = (status.retryAt ?? now) + Math.floor(Math.random() * spread);
  const promise = shadow ?? status;
  // A denial in shadow took nothing, so nothing comes back: 0 is before every take.
  const { retryAt, takenAt = retryAt ?? now, row } = promise.ok ? promise : { takenAt: 0 };
  // In an action the clock is later than that of the take: others may have taken in between.
  const dueAt = retryAt ?? Math.min(now, takenAt);
  const others = { dueAt: dueAt === runAt ? undefined : dueAt, takenAt: takenAt === dueAt ? undefined : takenAt, row };
  const planned = { name, key, count: promise.ok ? count : 0, config, runAt, ...others };
  try {
    const id = await ctx.scheduler.runAt(runAt, work.fn, ...work.fnArgs);
    // The job is stored in documents: only its own fields, and none that is undefined.
    return { ok: true, runAt, job: present({ ...planned, id }), ...(shadow && { shadow }) };
  } catch (error) {
    // An action, or a caller that catches, would lose the tokens. They were taken from this bucket: the
    // key's other rows may be of others.
    const { plan, term } = request;
    await giveBack(set, ctx, refundOf({ name, key, config: request.config, plan, term }, planned));
    throw error;
  }
}

/** The refund of a cancelled job: an unlimited key may have taken more than can come back. */
function refundOf(bucket: BucketArgs, job: Omit<RateLimitedJob, "id">) {
  const { count, dueAt = job.runAt, takenAt, row } = job;
  return { ...bucket, count: -Math.min(count, MAX_TOKENS), at: dueAt, takenAt, row };
}

async function giveBack(set: LimitSet, ctx: Ctx, refund: ReturnType<typeof refundOf>): Promise<void> {
  await set.place.adjust(ctx, [refund]);
  await wakeQueue(set, ctx, refund);
}

async function cancelScheduled(set: LimitSet, ctx: Ctx & CancellingCtx, job: RateLimitedJob): Promise<CancelResult> {
  const call = "cancelRateLimited";
  checkJob(job);
  checkScheduler(ctx, call);
  const needs = `${call} needs the ctx of a mutation, to read the job's state`;
  checkCtx(ctx, "db", needs, " In an action call a mutation of yours.");
  const { name, key } = job;
  const defined = set.definitions.get(name);
  // Tokens of a defined limit come back under what its rows were written under since, such as another plan. If a deploy
  // has taken the limit or its keys away, no bucket is left to which they could.
  const config = defined ? undefined : job.config;
  const isGone = defined ? defined.keyed === (key === undefined) : config === undefined;
  const refund = isGone ? undefined : refundOf(findBucket(set.definitions, call, { name, key, config }), job);
  const { state } = await inTurn(ctx, () => cancelPending(ctx, job.id));
  if (state !== "pending") return { canceled: false, state };
  if (refund) await giveBack(set, ctx, refund);
  return { canceled: true };
}

/** @throws when it is not what `scheduleRateLimited` returned as `job`. */
function checkJob(job: unknown): void {
  const given = (job ?? {}) as Partial<RateLimitedJob>;
  const { name, id, count, runAt, dueAt = runAt, takenAt = dueAt, config = {}, row = "" } = given;
  const isOfBucket = [name, row].every((text) => typeof text === "string") && isObject(config);
  const areTimes = [runAt, dueAt, takenAt].every((time) => isPermitted(takenAtField, time));
  if (!(isOfBucket && typeof id === "string" && areTimes && isPermitted(countField, count)))
    throw needError("cancelRateLimited", "the job that scheduleRateLimited returned", job);
  checkBucket(given as RateLimitedJob);
}

/** Its own fields, as those of a job. @throws when it is not what `rateLimit` returned as `lease`. */
function checkLease(lease: unknown): RateLimitLease {
  const { name, key, takenAt, until, seen } = (lease ?? {}) as Partial<RateLimitLease>;
  const isOfBucket = typeof name === "string" && (key === undefined || typeof key === "string");
  const isDated =
    [takenAt, until, seen ?? 0].every((number) => Number.isSafeInteger(number)) && Number(takenAt) < Number(until);
  if (isOfBucket && isDated) return present({ name, key, takenAt, until, seen } as RateLimitLease);
  throw needError("releaseRateLimit", "the lease that rateLimit returned", lease);
}
