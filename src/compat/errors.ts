/** The denial as an error, with the data of the official component's. */

/** The data of the `ConvexError` that `throws: true` throws. `retryAfter` is in milliseconds. */
export type RateLimitError = { kind: "RateLimited"; name: string; retryAfter: number };

/**
 * Whether `error` is a denial that was thrown; then `error.data` says which limit and how long to wait. Takes any value, works on
 * the server and in the client.
 *
 * @example
 * ```ts
 * import { isRateLimitError } from "convex-rate-limits/compat";
 *
 * function waitMs(error: unknown): number {
 *   return isRateLimitError(error) ? error.data.retryAfter : 0;
 * }
 * ```
 */
export function isRateLimitError(error: unknown): error is { data: RateLimitError } {
  // Not instanceof: a bundle may hold a second copy of convex.
  if (typeof error !== "object" || error === null || !("data" in error)) return false;
  const data = error.data as Partial<Record<keyof RateLimitError, unknown>> | null;
  return typeof data === "object" && data?.kind === "RateLimited" && typeof data.retryAfter === "number";
}
