/** Asks the limits, all in one transaction: the component directly, your tables through a mutation of yours. */
import { type FunctionReference, internalMutationGeneric, type RegisteredMutation } from "convex/server";
import { v } from "convex/values";
import { conclude, decisionsOf } from "../client/decision.js";
import { findBucket, type JudgedRequest } from "../client/definitions.js";
import { type DefinedRateLimits, type LimitSet, setOf, wakeQueue } from "../client/place.js";
import { bucketArgs, type RateLimitStatus, statusValidator } from "../wire/answers.js";
import { configValidator } from "../wire/configs.js";
import { functionOf } from "../wire/functionOf.js";
import type { TypeOf } from "../wire/typeOf.js";

/** Tokens of a bucket; its limit has the plan, or the config in place of the definition's. */
const tokens = () => ({
  bucket: v.object({ ...bucketArgs(), config: v.optional(configValidator()), plan: v.optional(v.string()) }),
  count: v.number(),
});
const request = () => ({
  ...tokens(),
  mode: v.union(v.literal("enforce"), v.literal("shadow")),
  /** Whether the tokens may come back: the status then says when they were taken. */
  refundable: v.boolean(),
});
/** Tokens that come back to one limit, and when they were taken; negative ones are charged. */
const refund = () => ({ ...tokens(), takenAt: v.optional(v.number()) });

export type LimitRequest = TypeOf<typeof request>;
export type LimitRefund = TypeOf<typeof refund>;
/** Takes, or else gives back. */
export type HttpMutationArgs = { take?: LimitRequest[]; giveBack?: LimitRefund[] };
/** A reference to the function that `httpMutation` made. */
export type HttpMutation = FunctionReference<"mutation", "internal" | "public", HttpMutationArgs, RateLimitStatus[]>;

export async function transact(set: LimitSet, ctx: never, args: HttpMutationArgs): Promise<RateLimitStatus[]> {
  const { take = [], giveBack = [] } = args;
  const { definitions, place, options } = set;
  const find = (bucket: LimitRequest["bucket"]) => findBucket(definitions, "limitHttp", bucket);
  if (take.length > 0) {
    const requests = take.map(({ bucket, mode, count, refundable }): JudgedRequest => {
      // `renews`: the status says which override is in force.
      const asked = { count, refundable, shadow: mode === "shadow", renews: true };
      // Denials are answered, also if the definitions throw.
      return { bucket: find(bucket), asked, mode, throws: false };
    });
    return conclude(decisionsOf(requests, (await place.consumeAll(ctx, requests)).statuses), options);
  }
  const adjustments = giveBack.map(({ bucket, count, takenAt }) => {
    return { bucket: find(bucket), asked: { count: -count, takenAt } };
  });
  const statuses = await place.adjustAll(ctx, adjustments);
  for (const { bucket, asked } of adjustments) if (asked.count < 0) await wakeQueue(set, ctx, bucket);
  return statuses;
}

/**
 * The mutation through which `limitHttp` asks limits in your tables: an HTTP action has no database. Export it, and name it
 * as `via`.
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
  return internalMutationGeneric(
    functionOf(
      () => ({ take: v.optional(v.array(v.object(request()))), giveBack: v.optional(v.array(v.object(refund()))) }),
      () => v.array(statusValidator()),
      (ctx, args) => transact(set, ctx as never, args),
    ),
  );
}
