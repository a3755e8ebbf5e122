/** Work that waits for its tokens: reserved and scheduled in one transaction, by the caller's own scheduler. */
import type { OptionalRestArgs, SchedulableFunctionReference, Scheduler } from "convex/server";
import { badField } from "../engine/misuse.js";
import { type JobReader, readJobState } from "../storage/rows.js";
import type { RateLimitedJob, RateLimitStatus } from "../validators.js";

/** What scheduling needs of a ctx, besides the limit's home: the app's scheduler, so that the job is the app's own. */
export interface SchedulingCtx {
  scheduler: Scheduler;
}

/** What cancelling needs of a ctx: it also looks at the job's state. */
export type CancellingCtx = SchedulingCtx & JobReader;

/**
 * - `ok: true`: the job is scheduled for `runAt` (ms since the epoch); `job` can be stored and cancelled.
 * - `ok: false`: `maxReserved` is used up; ask again at `retryAt`.
 */
export type ScheduleResult = { ok: true; runAt: number; job: RateLimitedJob } | { ok: false; retryAt: number };

/** The state that a job was found in when it was too late to cancel it; "deleted" when Convex has forgotten it. */
export type CancelResult =
  { canceled: true } | { canceled: false; state: "inProgress" | "success" | "failed" | "canceled" | "deleted" };

/** @throws when `spread` is not a finite number of at least 0. */
export function checkSpread(name: string, spread: unknown): void {
  if (!(typeof spread === "number" && Number.isFinite(spread) && spread >= 0)) {
    throw badField(name, "spread", "a finite number of milliseconds of at least 0", spread);
  }
}

/** Schedules what a reservation has granted: now, or when its tokens will be there, and up to `spread` later. */
export async function scheduleReserved<Fn extends SchedulableFunctionReference>(
  ctx: SchedulingCtx,
  status: RateLimitStatus,
  { spread, ...reserved }: Omit<RateLimitedJob, "id" | "runAt"> & { spread: number },
  fn: Fn,
  args: OptionalRestArgs<Fn>,
): Promise<ScheduleResult> {
  if (!status.ok) return { ok: false, retryAt: status.retryAt };
  const runAt = (status.retryAt ?? Date.now()) + Math.floor(Math.random() * spread);
  const id = await ctx.scheduler.runAt(runAt, fn, ...args);
  return { ok: true, runAt, job: { ...reserved, runAt, id } };
}

/** Cancels a job that has not begun; it is up to the caller to give its tokens back. */
export async function cancelPending(ctx: CancellingCtx, { id }: RateLimitedJob): Promise<CancelResult> {
  const state = await readJobState(ctx, id);
  if (state !== "pending") return { canceled: false, state };
  await ctx.scheduler.cancel(id);
  return { canceled: true };
}
