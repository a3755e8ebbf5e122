/** Asks the limits, in one call, and says what is left even where their answer does not. */
import { projectRateLimit } from "../browser/project.js";
import type { HttpCtx } from "./ctx.js";
import { isOfCaller } from "./keyChoice.js";
import type { LimitHttpOptions } from "./options.js";
import type { Plan } from "./plan.js";
import type { HttpStatus, LimitedBy } from "./quota.js";
import { tell } from "./report.js";

/** The requests to the limits, and what these answered. */
export interface LimitedRequests {
  readonly limited: readonly (LimitedBy & { readonly count: number })[];
  readonly requests: Extract<Plan, { kind: "ask" }>["request"][];
}

/** @throws what `consume` throws. */
export async function askLimits(
  options: LimitHttpOptions,
  plans: readonly Plan[],
  ctx: HttpCtx,
  request: Request,
): Promise<LimitedRequests> {
  const asking = plans.flatMap((plan) => (plan.kind === "ask" ? [plan] : []));
  const requests = asking.map((plan) => plan.request);
  const { statuses } = await options.consume(ctx, requests);
  if (statuses.length !== asking.length) {
    throw new Error(`consume gave ${statuses.length} statuses for ${asking.length} requests.`);
  }
  const known = await withRemaining(options, requests, statuses, ctx, request);
  const limited = asking.flatMap((plan, i) => {
    const status = known[i];
    return status ? [{ ...plan.request, ...plan.shown, status }] : [];
  });
  return { limited, requests };
}

/**
 * A limit on several rows answers without `remaining`. A query of its own reads all of them: it takes part in no transaction, so
 * it conflicts with nothing.
 */
async function withRemaining(
  { consume, remaining = "read", report }: LimitHttpOptions,
  requests: LimitedRequests["requests"],
  statuses: readonly HttpStatus[],
  ctx: HttpCtx,
  request: Request,
): Promise<readonly HttpStatus[]> {
  // Of a limit in shadow nothing is told.
  const isUnknown = (status: HttpStatus | undefined) => status?.remaining === undefined && !status?.shadow;
  const unknown = requests.filter((_, i) => isUnknown(statuses[i]));
  if (unknown.length === 0 || remaining === "omit" || !consume.snapshots) return statuses;
  try {
    const snapshots = [...(await consume.snapshots(ctx, unknown))];
    const now = Date.now();
    return statuses.map((status) => {
      const snapshot = isUnknown(status) ? snapshots.shift() : undefined;
      if (!snapshot) return status;
      const { remaining, resetAt } = projectRateLimit(snapshot, { now, count: 0 });
      return { ...status, remaining, resetAt };
    });
  } catch (error) {
    // The decision is made; a header field is not worth an outage.
    await tell(report, error, request);
    return statuses;
  }
}

/** Tells one caller from another: the first key that is one caller's own, else the address as the proxies tell it, else a random number. */
export async function callerOf(
  requests: LimitedRequests["requests"],
  { meta }: HttpCtx,
  request: Request,
): Promise<string> {
  const key = requests.map((each) => each.key).find(isOfCaller);
  const address = key ?? request.headers.get("X-Forwarded-For");
  if (address !== null) return address;
  try {
    return (await meta.getRequestMetadata()).ip ?? String(Math.random());
  } catch {
    // An older backend, or none: the wait is spread all the same.
    return String(Math.random());
  }
}
