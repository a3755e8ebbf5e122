/** The state of a limit, to be shown: independent of the clock, so that a live query that returns it stays correct. */
import type { ExactRateLimitStatus, RateLimitSnapshot } from "../validators.js";
import { parseDemand, type Reserve } from "./request.js";
import type { Limit } from "./kinds/kind.js";
import { parseLimit } from "./limit.js";
import { damageError, fieldError } from "./misuse.js";
import { fromShard, toShard, WHOLE } from "./sharding/interval.js";
import { decideOnAll } from "./sharding/pool.js";
import { fold, type Shard, shardAt } from "./sharding/shard.js";
import { fromStored, type StoredState, toStored } from "./state.js";
import { END_OF_TIME } from "./time.js";

/** The snapshot of all shards of a limit: at the latest moment at which one of them was written. */
export function snapshotOf(limit: Limit, shards: readonly Shard[]): RateLimitSnapshot {
  const ts = Math.max(...shards.map(({ state }) => state.ts));
  const [only] = shards;
  const whole = only && shards.length === 1 ? only.state : fold(limit, WHOLE, shards, ts).state;
  const stored = shards.flatMap(({ interval, state }) => {
    const shard = toShard(interval);
    return shard === undefined ? [] : [{ shard, ...copyOf(toStored(limit, state)) }];
  });
  return {
    name: limit.name,
    ...copyOf(toStored(limit, whole)),
    config: limit.kind.shownConfig(limit),
    ...(stored.length > 0 && { shards: stored }),
  };
}

function copyOf({ value, ts, recent }: StoredState) {
  return { value, ts, ...(recent && { recent: [...recent] }) };
}

/**
 * The status that `checkRateLimit` would give at `now`, from what `getRateLimit` returned. Pure: no clock, no network.
 *
 * @param options.now - milliseconds since the epoch, on the server's clock.
 * @throws when the snapshot is none, `now` is no moment that a Date can name, or `count` could never be served.
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
  options: { now: number; count?: number | undefined; reserve?: Reserve | undefined },
): ExactRateLimitStatus {
  const given: unknown = snapshot;
  if (typeof given !== "object" || given === null) {
    throw fieldError("projectRateLimit", "the snapshot", "what getRateLimit returns", given);
  }
  const limit = parseLimit(snapshot.name, snapshot.config);
  const isOptions = typeof (options as unknown) === "object" && (options as unknown) !== null;
  const { now = NaN, ...asked } = isOptions ? options : {};
  if (!(Number.isFinite(now) && Math.abs(now) <= END_OF_TIME)) {
    throw fieldError(limit.name, "now", "a number of milliseconds from -8.64e15 to 8.64e15", now);
  }
  return decideOnAll(limit, shardsOf(limit, snapshot), Math.floor(now), parseDemand(limit, asked))
    .status as ExactRateLimitStatus;
}

function shardsOf(limit: Limit, { shards, ...state }: RateLimitSnapshot): Shard[] {
  if (!shards) return [shardAt(limit, WHOLE, fromStored(limit, state, undefined))];
  return shards.map(({ shard, ...stored }) => {
    const interval = fromShard(shard);
    if (!interval) throw damageError(limit.name, undefined, `the snapshot's shard ${shard} is unusable`);
    const { limit: share } = shardAt(limit, interval, { value: 0, ts: 0 });
    return { interval, limit: share, state: fromStored(share, stored, undefined) };
  });
}
