/** Asks the limits, all in one transaction: the component directly, your tables through a mutation of yours. */
import { type FunctionReference, internalMutationGeneric, type RegisteredMutation } from "convex/server";
import { v } from "convex/values";
import { concludeAll, report } from "../client/decision.js";
import { findBucket, type JudgedRequest } from "../client/definitions.js";
import type { Mode } from "../client/args.js";
import type { LimitSet } from "../client/place.js";
import { type DefinedRateLimits, setOf, wake } from "../client/set.js";
import { show } from "../engine/misuse.js";
import { type RateLimitStatus, statusValidator } from "../wire/answers.js";
import { configValidator, type RateLimitConfig } from "../wire/configs.js";
import type { HttpCtx } from "./request.js";

/** A bucket; its limit has the plan, or the config in place of the definition's. */
interface LimitBucket {
  name: string;
  key?: string;
  config?: RateLimitConfig;
  plan?: string;
}

/** The request to one limit. */
export interface LimitRequest {
  bucket: LimitBucket;
  count: number;
  mode?: Mode;
  /** Whether the tokens may come back: the status then says when they were taken. */
  refundable?: boolean;
}

/** Tokens that come back to one limit; negative ones are charged. */
export interface LimitRefund {
  bucket: LimitBucket;
  count: number;
  /** The tokens of a request: the status then says when one is served next. */
  renews: number;
  /** When tokens that come back were taken. */
  takenAt?: number;
}

type HttpMutationArgs = { take?: LimitRequest[]; giveBack?: LimitRefund[] };
/** A reference to the function that `httpMutation` made. */
export type HttpMutation = FunctionReference<"mutation", "internal" | "public", HttpMutationArgs, RateLimitStatus[]>;

/** Asks a set of limits from an HTTP action. */
export interface Asking {
  readonly take: (ctx: HttpCtx, requests: LimitRequest[]) => Promise<readonly RateLimitStatus[]>;
  readonly giveBack: (ctx: HttpCtx, refunds: LimitRefund[]) => Promise<readonly RateLimitStatus[]>;
}

export function askingOf(set: LimitSet, via: HttpMutation | undefined): Asking {
  const run = (ctx: HttpCtx, args: HttpMutationArgs) =>
    via ? ctx.runMutation(via, args) : transact(set, ctx as never, args);
  return {
    take: async (ctx, take) => checked(await run(ctx, { take }), take.length),
    giveBack: (ctx, giveBack) => run(ctx, { giveBack }),
  };
}

/** `via` may lead to any function. An answer of any other form must not let a request pass. */
function checked(statuses: readonly RateLimitStatus[], count: number): readonly RateLimitStatus[] {
  const given: unknown = statuses;
  if (Array.isArray(given) && given.length === count && given.every(isStatus)) return statuses;
  throw new Error(
    `The limits must answer with a list of ${count} statuses, got ${show(given)}: does via name what httpMutation made?`,
  );
}

function isStatus(status: unknown): boolean {
  const { ok, retryAt } = { ...(status as { ok?: unknown; retryAt?: unknown } | undefined) };
  return ok === true || (ok === false && typeof retryAt === "number" && !Number.isNaN(retryAt));
}

async function transact(
  set: LimitSet,
  ctx: never,
  { take = [], giveBack = [] }: HttpMutationArgs,
): Promise<RateLimitStatus[]> {
  if (take.length > 0) return await takeAll(set, ctx, take);
  const adjustments = giveBack.map(({ bucket, count, renews, takenAt }) => ({
    bucket: findBucket(set.definitions, "limitHttp", bucket),
    count: -count,
    renews,
    takenAt,
  }));
  const statuses = await set.place.adjustAll(ctx, adjustments);
  for (const { bucket, count } of adjustments) if (count < 0) await wake(set, ctx, bucket.name, bucket.key);
  return statuses;
}

async function takeAll(set: LimitSet, ctx: never, take: readonly LimitRequest[]): Promise<RateLimitStatus[]> {
  const requests = take.map(({ bucket, count, mode, refundable }): JudgedRequest => {
    const found = findBucket(set.definitions, "limitHttp", bucket);
    const judged = mode ?? set.definitions.get(found.name)?.mode ?? "enforce";
    // Denials are answered, also if the definitions throw.
    const asked = { count, refundable, shadow: judged === "shadow", renews: true };
    return { bucket: found, asked, mode: judged, throws: false };
  });
  const all = await set.place.consumeAll(ctx, requests);
  await report(ctx, requests, all, set.options);
  return concludeAll(requests, all, set.options).statuses;
}

/**
 * For limits in your tables, where an HTTP action has no database: the mutation through which `limitHttp` asks them. Export it from a module
 * of yours, and name it as `via`.
 *
 * @example
 * ```ts
 * import { defineRateLimits, MINUTE } from "convex-rate-limits";
 * import { httpMutation } from "convex-rate-limits/http";
 *
 * export const limits = defineRateLimits({ hello: { kind: "token bucket", rate: 60, period: MINUTE } });
 * export const askLimits = httpMutation(limits); // via: internal.limits.askLimits
 * ```
 */
export function httpMutation(
  limits: DefinedRateLimits,
): RegisteredMutation<"internal", HttpMutationArgs, Promise<RateLimitStatus[]>> {
  const set = setOf(limits, "httpMutation");
  if (set.place.component)
    throw new Error("httpMutation is for limits in your tables; limitHttp calls the component directly.");
  const { string, number, optional } = v;
  const mode = () => v.union(v.literal("enforce"), v.literal("shadow"));
  const asked = () => {
    const names = { name: string(), key: optional(string()), plan: optional(string()) };
    return { bucket: v.object({ ...names, config: optional(configValidator()) }), count: number() };
  };
  return internalMutationGeneric({
    get args() {
      const request = v.object({ ...asked(), mode: optional(mode()), refundable: optional(v.boolean()) });
      const refund = v.object({ ...asked(), renews: number(), takenAt: optional(number()) });
      return { take: optional(v.array(request)), giveBack: optional(v.array(refund)) };
    },
    get returns() {
      return v.array(statusValidator());
    },
    handler: (ctx, args: HttpMutationArgs) => transact(set, ctx as never, args),
  });
}
