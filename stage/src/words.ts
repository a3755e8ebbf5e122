/** The page's wording of waits, rates, amounts and errors. */
import { DAY, HOUR, isRateLimitError, MINUTE, SECOND } from "convex-rate-limits";
import { ConvexError } from "convex/values";

const SPACE = "\u00a0";

/**
 * A wait in words: "0.4 s", "12 s", "3 min 20 s", "2 h 5 min". No line breaks between a number and its unit. A block without an end
 * has no number.
 */
export function wait(ms: number): string {
  if (ms <= 0) return `0${SPACE}s`;
  if (ms > 1e13) return "a very long time";
  if (ms < 10 * SECOND) return `${(Math.ceil(ms / 100) / 10).toFixed(1)}${SPACE}s`;
  const seconds = Math.ceil(ms / SECOND);
  if (seconds < 60) return `${seconds}${SPACE}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}${SPACE}min ${seconds % 60}${SPACE}s`;
  return `${Math.floor(minutes / 60)}${SPACE}h ${minutes % 60}${SPACE}min`;
}

const UNITS: [number, string][] = [
  [DAY, "day"],
  [HOUR, "hour"],
  [MINUTE, "minute"],
  [SECOND, "second"],
];

/** The period of a rate in words: "a second", "an hour", "in 10 seconds". */
export function per(period: number | string): string {
  if (typeof period === "string") return `a ${period}`;
  for (const [ms, unit] of UNITS) {
    if (period === ms) return `${unit === "hour" ? "an" : "a"} ${unit}`;
    if (period > ms && period % ms === 0) return `in ${period / ms} ${unit}s`;
  }
  return `in ${period} ms`;
}

export function amount(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** The message about a failed call, for the visitor. */
export function problem(error: unknown, now: number): string {
  if (isRateLimitError(error)) return `Denied: RateLimited, again in ${wait(error.data.retryAt - now)}.`;
  if (error instanceof ConvexError) {
    const data: unknown = error.data;
    if (typeof data === "object" && data !== null && "message" in data) return String(data.message);
  }
  // A development backend sends the error that a function threw; a production backend does not.
  const thrown = error instanceof Error ? /Uncaught Error: (.+)/.exec(error.message)?.[1] : undefined;
  return thrown ?? "That did not work: the backend has failed. Try again.";
}
