/**
 * The end of a decision: it is returned, thrown, or let through in shadow. In both places alike the client code throws,
 * so the component's mutation ends normally.
 */
import { ConvexError } from "convex/values";
import { END_OF_TIME } from "../engine/time.js";
import type { BucketId } from "../storage/rows.js";
import type { DeniedStatus, RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type { CompleteRequest } from "./definitions.js";
import type { RateLimitsOptions, ThrowChoice } from "./definitionTypes.js";

export function concludeOne(request: CompleteRequest, status: RateLimitStatus, options: RateLimitsOptions) {
  const [own = status] = conclude([request], { retryAt: status.retryAt, statuses: [status] }, options);
  return own;
}

/**
 * The statuses as the caller gets them: one per request.
 * @throws a denial, if the call or the definitions say so. If several limits denied, it is the longest: callers have to
 * wait for it.
 */
export function conclude(
  requests: readonly CompleteRequest[],
  { retryAt, statuses }: Pick<RateLimitAllStatus, "retryAt" | "statuses">,
  options: RateLimitsOptions,
): RateLimitStatus[] {
  const denials = statuses.flatMap((status, i) => {
    const request = requests[i];
    return request && !request.shadow && !status.ok ? [{ request, status }] : [];
  });
  const [longest] = [...denials].sort((a, b) => b.status.retryAt - a.status.retryAt);
  // The longest denial is thrown as it would be by itself, if it would be thrown.
  const throws = [longest, ...denials].map((each) => each?.request.throws).find(Boolean);
  if (throws && longest) {
    // By then an override of another limit may have ended.
    const { status } = longest;
    throw denialError(longest.request, { ...status, retryAt: retryAt ?? status.retryAt }, throws, options);
  }
  return statuses.map((status, i) => letThrough(requests[i], status));
}

/** The answer of a limit in shadow: as if there were no limit, and beside it the true answer. */
function letThrough(request: CompleteRequest | undefined, status: RateLimitStatus): RateLimitStatus {
  if (!request?.shadow) return status;
  const { remaining, resetAt, policy } = status;
  // Tokens that were not taken do not come back: 0 is before every take.
  const { takenAt: date = 0, lease } = status.ok ? status : {};
  const takenAt = request.refundable ? date : undefined;
  const { policy: _, ...shadow } = status;
  return present({ ok: true, remaining, resetAt, takenAt, lease, shadow, policy });
}

/**
 * The status of a call that takes slots. If it took none (in shadow, under an override of another kind), it has a lease
 * that holds none: 0 is before every take.
 */
export function leased(request: CompleteRequest | undefined, status: RateLimitStatus): RateLimitStatus {
  if (!request || !status.ok || status.lease || !("lease" in request.config)) return status;
  const { name, key, config } = request;
  return { ...status, lease: present({ name, key, takenAt: 0, until: config.lease }) };
}

/**
 * The data of the `ConvexError` that `throws: true` throws. `retryAt` is in milliseconds since the epoch, `retryAfter`
 * in milliseconds from the denial on. `key` is present only with `errorKeys: true`, because the error reaches the
 * client. `reason` is present if an override blocks the key, or if the bucket can never hold the count; else the tokens
 * are used up, or the bucket is paused.
 */
export type RateLimitErrorData = {
  kind: "RateLimited";
  name: string;
  key?: string;
  retryAt: number;
  retryAfter: number;
  reason?: DeniedStatus["reason"];
};

/** @param throws - with `jitter`, the wait is longer at random by up to this fraction of itself. */
export function denialError(
  { name, key }: BucketId,
  { retryAt: dueAt, reason }: DeniedStatus,
  throws: ThrowChoice,
  { errorKeys = false }: RateLimitsOptions,
): ConvexError<RateLimitErrorData> {
  const jitter = typeof throws === "object" ? throws.jitter : 0;
  const now = Date.now();
  const waitMs = Math.max(0, dueAt - now);
  const retryAt = jitter > 0 ? Math.min(END_OF_TIME, dueAt + Math.floor(waitMs * jitter * Math.random())) : dueAt;
  const retryAfter = Math.max(0, retryAt - now);
  const shown = errorKeys ? key : undefined;
  return new ConvexError(present({ kind: "RateLimited", name, key: shown, retryAt, retryAfter, reason }));
}

/**
 * Whether `error` is the one that `throws: true` throws; then `error.data` says which limit and when to try again.
 * Takes any value, works on the server and in the client, and never throws.
 *
 * @example
 * ```ts
 * import { isRateLimitError } from "convex-rate-limits";
 *
 * async function send(mutate: () => Promise<void>): Promise<string> {
 *   try {
 *     await mutate();
 *     return "sent";
 *   } catch (error) {
 *     if (!isRateLimitError(error)) throw error;
 *     return `Slow down until ${new Date(error.data.retryAt).toLocaleTimeString()}`;
 *   }
 * }
 * ```
 */
export function isRateLimitError(error: unknown): error is ConvexError<RateLimitErrorData> {
  try {
    // Not instanceof: a bundle may hold a second copy of convex, and a test its own realm.
    const { data } = error as { data: Partial<Record<keyof RateLimitErrorData, unknown>> };
    const { kind, name, key = "", retryAt, retryAfter } = data;
    const isDenial = typeof error === "object" && typeof data === "object" && kind === "RateLimited";
    const isOfBucket = typeof name === "string" && typeof key === "string";
    return isDenial && isOfBucket && typeof retryAt === "number" && typeof retryAfter === "number";
  } catch {
    // No object, or a proxy or a getter that throws: none of ours.
    return false;
  }
}
