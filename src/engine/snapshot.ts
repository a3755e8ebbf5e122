/** The state of a limit, to be shown: independent of the clock, so that a live query that returns it stays correct. */
import { project } from "./kinds/bucket.js";
import { decideOnAll } from "./sharding/probe.js";
import { parseDemand } from "./demand.js";
import { ROOT } from "./sharding/heap.js";
import { parseLimit } from "./limit.js";
import { badField } from "./misuse.js";
import { cover } from "./sharding/reshard.js";
import { partFromStored, toStored } from "./stored.js";
import { END_OF_TIME } from "./time.js";
import type { Limit, Part } from "./types.js";
import type { RateLimitSnapshot, RateLimitStatus } from "../validators.js";

/** The snapshot of all parts of a limit: at the latest moment at which one of them was written. */
export function snapshotOf(limit: Limit, parts: readonly Part[]): RateLimitSnapshot {
  const ts = Math.max(...parts.map(({ bucket }) => bucket.ts));
  const value = parts.reduce((sum, part) => sum + project(part.limit, part.bucket, ts).value, 0);
  const config = limit.kind === "fixed window" ? { ...limit.config, start: limit.start } : limit.config;
  const written = parts.filter(({ limit: part, bucket }) => bucket.ts > 0 || bucket.value < part.capacity);
  const shards = written.map(({ node, bucket }) => ({ shard: node, ...toStored(limit, bucket) }));
  return {
    name: limit.name,
    ...toStored(limit, { value, ts }),
    config,
    ...(shards.some(({ shard }) => shard !== ROOT) ? { shards } : {}),
  };
}

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
  const { shards = [{ shard: ROOT, value: snapshot.value, ts: snapshot.ts }] } = snapshot;
  const stored = shards.map(({ shard, ...state }) => partFromStored(limit, shard, state));
  const parts = cover(limit, new Map(stored.map((part) => [part.node, part])));
  return decideOnAll(limit, parts, Math.floor(now), parseDemand(limit, demand)).status;
}
