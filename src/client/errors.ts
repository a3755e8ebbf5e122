/**
 * The denial as an error: thrown by the client code where `throws` says so, in both places alike, so that the
 * component's mutation ends normally.
 */
import { ConvexError } from "convex/values";
import { END_OF_TIME } from "../engine/time.js";
import type { BucketId } from "../storage/rows.js";
import type { DeniedStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type { RateLimitsOptions, ThrowChoice } from "./definitionTypes.js";

/**
 * The data of the `ConvexError` that `throws: true` throws. `retryAt` is in milliseconds since the epoch, `retryAfter`
 * in milliseconds from the denial on. `key` is present only with `errorKeys: true`, because the error reaches the
 * client. `reason` is present if an override blocks the key, or if the bucket can never hold the count; else the tokens
 * are used up.
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
