/** Asks the limits, all in one transaction: the component directly, your tables through a mutation of yours. */
import { type FunctionReference, internalMutationGeneric, type RegisteredMutation } from "convex/server";
import { type ObjectType, v } from "convex/values";
import { conclude } from "../client/decision.js";
import { type DefinedRateLimits, type LimitSet, setOf, wakeQueue } from "../client/place.js";
import { show } from "../engine/misuse.js";
import { adjustArgs, allArgs, type RateLimitStatus, statusValidator } from "../wire/answers.js";
import { functionOf } from "../wire/functionOf.js";
import type { HttpCtx } from "./request.js";

/** Takes, or else gives back: `requests` or `adjustments`, in the form that crosses into the component. */
const asking = () => ({
  requests: v.optional(allArgs().requests),
  adjustments: v.optional(adjustArgs().adjustments),
});
export interface HttpMutationArgs extends ObjectType<ReturnType<typeof asking>> {}
export type LimitRequest = NonNullable<HttpMutationArgs["requests"]>[number];
export type LimitRefund = NonNullable<HttpMutationArgs["adjustments"]>[number];
/** A reference to the function that `httpMutation` made. */
export type HttpMutation = FunctionReference<"mutation", "internal" | "public", HttpMutationArgs, RateLimitStatus[]>;

/** Whose limits, and the way to them. */
export interface AskedSet {
  readonly ctx: HttpCtx;
  readonly set: LimitSet;
  via?: HttpMutation;
}

/** @throws when the answer is not one of limits: no other may let a request pass, and `via` may lead anywhere. */
export async function ask({ ctx, set, via }: AskedSet, args: HttpMutationArgs): Promise<RateLimitStatus[]> {
  const statuses: unknown = await (via ? ctx.runMutation(via, args) : transact(set, ctx as never, args));
  const { length } = args.requests ?? args.adjustments ?? [];
  if (Array.isArray(statuses) && statuses.length === length && statuses.every(isStatus)) return statuses;
  const problem = `The limits must answer with a list of ${length} statuses, got ${show(statuses)}`;
  throw new Error(`${problem}: does via name what httpMutation made?`);
}

function isStatus(status: unknown): status is RateLimitStatus {
  const { ok, retryAt }: Record<string, unknown> = { ...(status as object | undefined) };
  return ok === true || (ok === false && Number(retryAt) === retryAt);
}

export async function transact(set: LimitSet, ctx: never, args: HttpMutationArgs): Promise<RateLimitStatus[]> {
  const { requests, adjustments = [] } = args;
  if (requests) {
    // Denials are answered, also if the definitions throw.
    return conclude(requests, await set.place.consumeAll(ctx, requests), set.options);
  }
  const statuses = await set.place.adjust(ctx, adjustments);
  for (const asked of adjustments) if (asked.count < 0) await wakeQueue(set, ctx, asked);
  return statuses;
}

/**
 * The mutation through which `limitHttp` asks limits in your tables: an HTTP action has no database. Export it, and
 * name it as `via`.
 *
 * @throws when the limits live in the component.
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
  const returned = () => v.array(statusValidator());
  return internalMutationGeneric(functionOf(asking, returned, (ctx, args) => transact(set, ctx as never, args)));
}
