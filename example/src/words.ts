/** How the page says things. */
import { isRateLimitError } from "convex-rate-limits";
import { ConvexError } from "convex/values";

const SPACE = "\u00a0";

/** A wait in words: "0.4 s", "12 s", "3 min 20 s"; no number stands apart from its unit. */
export function wait(ms: number): string {
  if (ms <= 0) return `0${SPACE}s`;
  if (ms < 10_000) return `${(Math.ceil(ms / 100) / 10).toFixed(1)}${SPACE}s`;
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds}${SPACE}s`;
  return `${Math.floor(seconds / 60)}${SPACE}min ${seconds % 60}${SPACE}s`;
}

/** What a failed call is to the visitor. */
export function problem(error: unknown, now: number): string {
  if (isRateLimitError(error)) return `Denied: RateLimited, again in ${wait(error.data.retryAt - now)}.`;
  if (error instanceof ConvexError) {
    const data: unknown = error.data;
    if (typeof data === "object" && data !== null && "message" in data) return String(data.message);
  }
  return "That did not work: the backend has failed. Try again.";
}
