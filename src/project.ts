/** A snapshot at any moment: for clients, which have no ctx. */
import { decide } from "./engine/decide.js";
import { parseDemand } from "./engine/demand.js";
import { parseLimit } from "./engine/limit.js";
import { badField } from "./engine/misuse.js";
import { fromStored } from "./engine/stored.js";
import { END_OF_TIME } from "./engine/time.js";
import type { RateLimitSnapshot, RateLimitStatus } from "./validators.js";

/**
 * The status that `checkRateLimit` would give at `now`, from what `getRateLimit` returned. Pure: no clock, no network.
 *
 * @param options.now - milliseconds since the epoch, on the server's clock.
 * @throws when `now` is no moment that a Date can name, or `count` could never be served.
 * @example
 * ```ts
 * import { projectRateLimit, type RateLimitSnapshot } from "convex-rate-limits";
 *
 * function mayPost(snapshot: RateLimitSnapshot): boolean {
 *   return projectRateLimit(snapshot, { now: Date.now() }).ok;
 * }
 * ```
 */
export function projectRateLimit(
  snapshot: RateLimitSnapshot,
  { now, ...demand }: { now: number; count?: number; reserve?: boolean },
): RateLimitStatus {
  const limit = parseLimit(snapshot.name, snapshot.config);
  if (!(Number.isFinite(now) && Math.abs(now) <= END_OF_TIME)) {
    throw badField(limit.name, "now", "a number of milliseconds from -8.64e15 to 8.64e15", now);
  }
  return decide(limit, fromStored(limit, snapshot), Math.floor(now), parseDemand(limit, demand)).status;
}
