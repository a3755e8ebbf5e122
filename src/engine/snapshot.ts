/** The state of a limit, to be shown: independent of the clock, so that a live query that returns it stays correct. */
import type { RateLimitSnapshot } from "../validators.js";
import type { Limit } from "./kinds/kind.js";
import { toShard, WHOLE } from "./sharding/interval.js";
import { fastUnits } from "./sharding/policy.js";
import { fold, type Shard, shareOf } from "./sharding/shard.js";

/** The snapshot of all shards of a bucket: as of the latest moment at which one of them was written. */
export function snapshotOf(limit: Limit, shards: readonly Shard[]): RateLimitSnapshot {
  const { name, kind, unitsPerToken, capacity, maxReserved } = limit;
  const ts = Math.max(...shards.map(({ state }) => state.ts));
  const { value } = fold(limit, WHOLE, shards, ts).state;
  const { runsFrom, ...arrivals } = kind.arrivals(limit);
  return {
    name,
    config: kind.shownConfig(limit),
    value: value / unitsPerToken,
    ts,
    unitsPerToken,
    capacity,
    maxReserved,
    ...arrivals,
    ...(runsFrom && { runs: [...runsFrom(Math.min(...shards.map(({ state }) => state.ts)))] }),
    parts: shards.map(partOf),
    ...(shards.length > 1 && { few: { units: fastUnits(limit), spans: spansOf(limit) } }),
  };
}

function partOf({ interval, limit, state }: Shard): RateLimitSnapshot["parts"][number] {
  const { kind, capacity } = limit;
  const { ts } = state;
  const { value } = kind.advance(limit, state, ts);
  const shard = toShard(interval);
  const { refill, lastsMs = 0 } = kind.arrivals(limit);
  const runs = kind.entries(limit, state)?.map(({ at, units }) => ({ start: at + lastsMs, count: 1, units }));
  return { value, ts, ...(runs && { runs }), ...(shard !== undefined && { shard, capacity, refill }) };
}

/** The first span of rows on each level, smallest first: no other of its level has less. */
function spansOf(limit: Limit): { capacity: number; refill: number }[] {
  return Array.from({ length: limit.levels.most + 1 }, (_, i) => {
    const share = shareOf(limit, { start: 0, level: limit.levels.most - i });
    return { capacity: share.capacity, refill: share.kind.arrivals(share).refill };
  });
}
