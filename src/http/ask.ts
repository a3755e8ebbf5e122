/** Asks the limits, all in one transaction: the component directly, your tables through a mutation of yours. */
import { type FunctionReference, internalMutationGeneric, type RegisteredMutation } from "convex/server";
import { v } from "convex/values";
import { concludeAll, report } from "../client/decision.js";
import { findBucket, type JudgedRequest } from "../client/definitions.js";
import type { LimitSet } from "../client/place.js";
import { type DefinedRateLimits, setOf, wakeQueue } from "../client/set.js";
import { show } from "../engine/misuse.js";
import { type RateLimitStatus, statusValidator } from "../wire/answers.js";
import { configValidator } from "../wire/configs.js";
import type { TypeOf } from "../wire/typeOf.js";
import type { HttpCtx } from "./request.js";

/** A bucket, of which a number of tokens is asked; its limit has the plan, or the config in place of the definition's. */
const ofBucket = () => ({
  bucket: v.object({
    name: v.string(),
    key: v.optional(v.string()),
    config: v.optional(configValidator()),
    plan: v.optional(v.string()),
  }),
  count: v.number(),
});
const request = () => ({
  ...ofBucket(),
  mode: v.union(v.literal("enforce"), v.literal("shadow")),
  /** Whether the tokens may come back: the status then says when they were taken. */
  refundable: v.boolean(),
});
/** Tokens that come back to one limit; negative ones are charged. */
const refund = () => ({
  ...ofBucket(),
  /** The tokens of a request: the status then says when one is served next. */
  renews: v.number(),
  /** When tokens that come back were taken. */
  takenAt: v.optional(v.number()),
});

/** The request to one limit. */
export type LimitRequest = TypeOf<typeof request>;
export type LimitRefund = TypeOf<typeof refund>;
type HttpMutationArgs = { take?: LimitRequest[]; giveBack?: LimitRefund[] };
/** A reference to the function that `httpMutation` made. */
export type HttpMutation = FunctionReference<"mutation", "internal" | "public", HttpMutationArgs, RateLimitStatus[]>;

/** @throws when the answer is not one of limits: no other may let a request pass, and `via` may lead to any function. */
export async function ask(
  ctx: HttpCtx,
  set: LimitSet,
  via: HttpMutation | undefined,
  args: HttpMutationArgs,
): Promise<readonly RateLimitStatus[]> {
  const statuses: unknown = await (via ? ctx.runMutation(via, args) : transact(set, ctx as never, args));
  const { length } = args.take ?? args.giveBack ?? [];
  if (Array.isArray(statuses) && statuses.length === length && statuses.every(isStatus)) return statuses;
  throw new Error(
    `The limits must answer with a list of ${length} statuses, got ${show(statuses)}: does via name what httpMutation made?`,
  );
}

function isStatus(status: unknown): status is RateLimitStatus {
  const { ok, retryAt } = { ...(status as { ok?: unknown; retryAt?: unknown } | undefined) };
  return ok === true || (ok === false && typeof retryAt === "number" && !Number.isNaN(retryAt));
}

async function transact(
  set: LimitSet,
  ctx: never,
  { take = [], giveBack = [] }: HttpMutationArgs,
): Promise<RateLimitStatus[]> {
  if (take.length > 0) {
    const requests = take.map(({ bucket, mode, count, refundable }): JudgedRequest => {
      const asked = { count, refundable, shadow: mode === "shadow", renews: true };
      // Denials are answered, also if the definitions throw.
      return { bucket: findBucket(set.definitions, "limitHttp", bucket), asked, mode, throws: false };
    });
    const all = await set.place.consumeAll(ctx, requests);
    await report(ctx, requests, all, set.options);
    return concludeAll(requests, all, set.options).statuses;
  }
  const adjustments = giveBack.map(({ bucket, count, renews, takenAt }) => ({
    bucket: findBucket(set.definitions, "limitHttp", bucket),
    count: -count,
    renews,
    takenAt,
  }));
  const statuses = await set.place.adjustAll(ctx, adjustments);
  for (const { bucket, count } of adjustments) if (count < 0) await wakeQueue(set, ctx, bucket.name, bucket.key);
  return statuses;
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
  return internalMutationGeneric({
    get args() {
      return { take: v.optional(v.array(v.object(request()))), giveBack: v.optional(v.array(v.object(refund()))) };
    },
    get returns() {
      return v.array(statusValidator());
    },
    handler: (ctx, args: HttpMutationArgs) => transact(set, ctx as never, args),
  });
}
