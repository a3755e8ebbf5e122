/** The fuzzer's calls of the public API, and the replies. */
import type { RateLimitAllStatus, RateLimitedJob, RateLimitStatus } from "convex-rate-limits";
import { isRateLimitError, projectRateLimit } from "convex-rate-limits";
import type { Reserve } from "./exact/config.js";
import { jobs, type Limits, type MutationCtx } from "../support/stage.js";

/** One bucket: of the limit that is tested, or of another beside it. */
export interface Place {
  readonly name: "limit" | "other";
  readonly key: string | undefined;
}
export interface Request extends Place {
  readonly count: number;
  /** The number that suffices, in a call that takes the tokens that are there. */
  readonly atLeast?: number | undefined;
  readonly reserve: Reserve;
  /** In shadow the reply is the true answer, as the caller was told of it. */
  readonly mode?: "shadow" | undefined;
}
export type Call =
  | ({ readonly act: "take"; readonly throws: boolean; readonly refundable?: boolean | undefined } & Request)
  | ({ readonly act: "check" | "get" } & Request)
  | { readonly act: "all" | "checkAll"; readonly requests: readonly Request[] }
  /** With `takenAt`, a refund by date. */
  | ({ readonly act: "adjust"; readonly count: number; readonly takenAt?: number } & Place)
  | ({ readonly act: "schedule"; readonly count: number; readonly spread: number } & Place)
  | { readonly act: "cancel"; readonly job: Job }
  | ({ readonly act: "pause"; readonly until: number } & Place)
  | ({ readonly act: "reset" | "misuse" } & Place)
  | { readonly act: "list"; readonly name: Place["name"]; readonly most: number; readonly onlyLimited: boolean }
  | { readonly act: "sweep" };

/** A take as the caller remembers it. */
export interface Take extends Place {
  readonly count: number;
  readonly takenAt: number;
}

/** A job as the caller remembers it. */
export interface Job extends Place {
  readonly handle: RateLimitedJob;
  readonly count: number;
}

type Figure = "retryAt" | "remaining" | "resetAt" | "taken" | "takenAt";
/** The fields of all public statuses. */
export type Status = { readonly ok: boolean } & Readonly<Partial<Record<Figure, number | undefined>>>;

/** The result of a call. A get has the snapshot's projection, and the bucket as it is stored. */
export type Reply =
  | { readonly is: "status"; readonly status: Status }
  | { readonly is: "thrown denial"; readonly retryAt: number }
  | { readonly is: "statuses"; readonly all: RateLimitAllStatus }
  | { readonly is: "snapshot"; readonly status: Status; readonly value: number; readonly ts: number }
  | { readonly is: "scheduled"; readonly runAt: number; readonly job: RateLimitedJob }
  | { readonly is: "refused"; readonly retryAt: number }
  | { readonly is: "page"; readonly page: readonly Entry[]; readonly isLast: boolean }
  | { readonly is: "canceled"; readonly canceled: boolean }
  | { readonly is: "done" }
  | { readonly is: "error"; readonly message: string };

/** A bucket as a list shows it. */
export interface Entry extends Status {
  readonly key?: string;
  readonly value: number;
}

/** Makes a call. An error is also a reply. */
export async function make(limits: Limits, ctx: MutationCtx, call: Call, now: number): Promise<Reply> {
  try {
    return await replyTo(limits, ctx, call, now);
  } catch (error) {
    if (isRateLimitError(error)) return { is: "thrown denial", retryAt: error.data.retryAt };
    return { is: "error", message: error instanceof Error ? error.message : String(error) };
  }
}

async function replyTo(limits: Limits, ctx: MutationCtx, call: Call, now: number): Promise<Reply> {
  switch (call.act) {
    case "take": {
      const { throws, refundable } = call;
      return statusOf(trueAnswer(await limits.rateLimit(ctx, { ...requestOf(call), throws, refundable }), call));
    }
    case "check":
      return statusOf(trueAnswer(await limits.checkRateLimit(ctx, requestOf(call)), call));
    case "get": {
      const { count, reserve } = call;
      const snapshot = await limits.getRateLimit(ctx, placeOf(call));
      // If the limit is overridden, the override's fields count.
      const { value, ts } = { ...snapshot, ...snapshot.override };
      const status = projectRateLimit(snapshot, { now, count, reserve: reserve !== false });
      return { is: "snapshot", status, value, ts };
    }
    case "all":
    case "checkAll": {
      const decide = call.act === "all" ? limits.rateLimitAll : limits.checkRateLimitAll;
      const all = await decide(ctx, call.requests.map(requestOf));
      const statuses = call.requests.map((request, i) => trueAnswer(all.statuses[i], request));
      return { is: "statuses", all: { ...all, statuses } };
    }
    case "adjust": {
      const { count, takenAt } = call;
      const dated = takenAt === undefined ? {} : { takenAt };
      return statusOf(await limits.adjustRateLimit(ctx, { ...placeOf(call), count, ...dated }));
    }
    case "schedule": {
      const { count, spread } = call;
      const result = await limits.scheduleRateLimited(ctx, { ...placeOf(call), count, spread }, jobs.run);
      return result.ok
        ? { is: "scheduled", runAt: result.runAt, job: result.job }
        : { is: "refused", retryAt: result.retryAt };
    }
    case "list": {
      const { name, most, onlyLimited } = call;
      const { page, cursor } = await limits.listRateLimits(ctx, { name, limit: most, onlyLimited });
      return { is: "page", page, isLast: cursor === null };
    }
    case "cancel":
      return { is: "canceled", canceled: (await limits.cancelRateLimited(ctx, call.job.handle)).canceled };
    case "misuse":
      return statusOf(await limits.rateLimit(ctx, { ...placeOf(call), count: NaN }));
    case "pause":
      await limits.pauseRateLimit(ctx, { ...placeOf(call), until: call.until });
      break;
    case "reset":
      await limits.resetRateLimit(ctx, placeOf(call));
      break;
    case "sweep":
      await limits.sweepRateLimits(ctx, { next: jobs.sweep });
  }
  return { is: "done" };
}

/** @throws when a limit in shadow denies a caller, or a caller of another limit does not get its answer. */
function trueAnswer(status: RateLimitStatus | undefined, { count, atLeast, mode }: Request): RateLimitStatus {
  if (!status) throw new Error("a request without a status");
  const { shadow, taken } = status.ok ? status : { shadow: undefined, taken: undefined };
  const isThrough = status.ok && status.retryAt === undefined && taken === (atLeast === undefined ? undefined : count);
  if (mode === "shadow" ? shadow && isThrough : !shadow) return shadow ?? status;
  throw new Error(`wrong in ${mode ?? "no shadow"}: ${JSON.stringify(status)}`);
}

function statusOf(status: RateLimitStatus): Reply {
  return { is: "status", status };
}

function requestOf({ name, key, count, atLeast, reserve, mode }: Request) {
  return { ...placeOf({ name, key }), count, reserve, mode, ...(atLeast !== undefined && { atLeast }) };
}

function placeOf({ name, key }: Place) {
  return key === undefined ? { name } : { name, key };
}
