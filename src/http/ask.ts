/** Asks the limits, in one call, and says what is left, and until when, even where their answer does not. */
import { projectRateLimit } from "../browser/project.js";
import { show } from "../engine/misuse.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { LimitRequest } from "./consume.js";
import type { HttpCtx } from "./ctx.js";
import { isOfCaller } from "./keyChoice.js";
import type { LimitHttpOptions } from "./options.js";
import type { Plan } from "./plan.js";
import { type LimitedBy, needsSnapshot, overrideIn } from "./quota.js";
import { tell } from "./report.js";

/** A limit that was asked, and what it answered. */
type Asked = LimitedBy & Pick<LimitRequest, "overrides"> & { readonly count: number };

/** The requests to the limits, and what these answered. */
export interface LimitedRequests {
  readonly limited: readonly Asked[];
  readonly requests: LimitRequest[];
}

/** @throws what `consume` throws, and when its answer is none. */
export async function askLimits(
  options: LimitHttpOptions,
  plans: readonly Plan[],
  ctx: HttpCtx,
  request: Request,
): Promise<LimitedRequests> {
  const asking = plans.flatMap((plan) => (plan.kind === "ask" ? [plan] : []));
  const refundable = options.refund !== undefined;
  const requests = asking.map((plan) => ({ ...plan.request, ...(refundable && { refundable }) }));
  const answer = await options.consume(ctx, requests);
  checkAnswer(answer, requests.length);
  const limited = asking.flatMap((plan, i) => {
    const status = answer.statuses[i];
    return status ? [{ ...plan.request, ...plan.shown, status }] : [];
  });
  return { limited: await withSnapshots(options, { limited, requests }, ctx, request), requests };
}

/** A `consume` of the app's own may answer anything. What is no answer must not let a request pass. */
function checkAnswer(answer: unknown, count: number): void {
  const { statuses } = { ...(answer as { statuses?: unknown } | undefined) };
  if (Array.isArray(statuses) && statuses.length === count && statuses.every(isStatus)) return;
  throw new Error(`consume must give { statuses }, one for each of ${count} requests, got ${show(answer)}.`);
}

function isStatus(status: unknown): boolean {
  const { ok, retryAt } = { ...(status as { ok?: unknown; retryAt?: unknown } | undefined) };
  return ok === true || (ok === false && typeof retryAt === "number" && !Number.isNaN(retryAt));
}

/**
 * A limit on several rows answers without `remaining`, a sliding window without when tokens come back, and one that is overridden
 * without the config that holds. A query of its own reads them: it takes part in no transaction, so it conflicts with nothing.
 */
export async function withSnapshots(
  { consume, remaining = "read", report }: LimitHttpOptions,
  { limited, requests }: LimitedRequests,
  ctx: HttpCtx,
  request: Request,
): Promise<readonly Asked[]> {
  if (remaining === "omit" || !consume.snapshots) return limited;
  // A denial says itself when the same call succeeds.
  const isServed = limited.every(({ status }) => status.ok);
  const areUnknown = limited.map((limit) => {
    // Of a limit in shadow nothing is told.
    if (limit.status.shadow) return false;
    return limit.status.remaining === undefined || limit.overrides === true || (isServed && needsSnapshot(limit));
  });
  const unknown = requests.filter((_, i) => areUnknown[i]);
  if (unknown.length === 0) return limited;
  try {
    const snapshots = [...(await consume.snapshots(ctx, unknown))];
    const now = Date.now();
    return limited.map((limit, i) => {
      const snapshot = areUnknown[i] ? snapshots.shift() : undefined;
      return snapshot ? completed(limit, snapshot, now) : limit;
    });
  } catch (error) {
    // The decision is made; a header field is not worth an outage.
    await tell(report, error, request);
    return limited;
  }
}

/** The limit with its snapshot and what is left, under the config that holds. */
function completed(limit: Asked, snapshot: RateLimitSnapshot, now: number): Asked {
  const { status } = limit;
  const { remaining, resetAt } =
    status.remaining === undefined ? projectRateLimit(snapshot, { now, count: 0 }) : status;
  const { config, unlimited } = overrideIn(snapshot, now);
  return {
    ...limit,
    snapshot,
    ...(config && { config }),
    ...(unlimited && { unlimited }),
    status: { ...status, ...(remaining !== undefined && { remaining }), ...(resetAt !== undefined && { resetAt }) },
  };
}

/**
 * Tells one caller from another: the keys that are not everybody's, since one of a tenant has many callers; else the address as the
 * proxies tell it, else a random number.
 */
export async function callerOf(
  requests: LimitedRequests["requests"],
  { meta }: HttpCtx,
  request: Request,
): Promise<string> {
  const keys = requests.map((each) => each.key).filter(isOfCaller);
  if (keys.length > 0) return keys.join();
  const address = request.headers.get("X-Forwarded-For");
  if (address !== null) return address;
  try {
    return (await meta.getRequestMetadata()).ip ?? String(Math.random());
  } catch {
    // An older backend, or none: the wait is spread all the same.
    return String(Math.random());
  }
}
