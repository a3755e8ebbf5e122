/** Today's snapshots → ready to project. */
import { parseLimit } from "../engine/limit.js";
import { partOf, ROOT } from "../engine/sharding/heap.js";
import { cover } from "../engine/sharding/reshard.js";
import { partFromStored } from "../engine/stored.js";
import type { RateLimitSnapshot } from "../validators.js";
import type { ReadySnapshot } from "./snapshot.js";

/** As in src/engine/sharding/probe.ts: what a limit refills within this time it may deny on what a few rows say. */
const FAST_MS = 50;

const known = new WeakMap<RateLimitSnapshot, ReadySnapshot>();

/** @throws when the config is none, or the state is damaged. */
export function readySnapshot(snapshot: RateLimitSnapshot): ReadySnapshot {
  const ready = known.get(snapshot) ?? convert(snapshot);
  known.set(snapshot, ready);
  return ready;
}

function convert({ name, config, value, ts, shards = [{ shard: ROOT, value, ts }] }: RateLimitSnapshot): ReadySnapshot {
  const limit = parseLimit(name, config);
  const { unitsPerToken, capacity, maxReserved, refill } = limit;
  const windows = limit.kind === "fixed window" ? { period: limit.period, start: limit.start } : {};
  const stored = shards.map(({ shard, ...state }) => partFromStored(limit, shard, state));
  const parts = cover(limit, new Map(stored.map((part) => [part.node, part]))).map(({ node, limit: part, bucket }) => ({
    ...bucket,
    ...(node !== ROOT && { capacity: part.capacity, maxReserved: part.maxReserved, refill: part.refill }),
  }));
  const smallest = partOf(limit, limit.shards);
  const perMs = limit.kind === "fixed window" ? refill / limit.period : refill;
  const few = { units: Math.floor(perMs * FAST_MS), capacity: smallest.capacity, refill: smallest.refill };
  return {
    name,
    unitsPerToken,
    capacity,
    maxReserved,
    refill,
    ...windows,
    parts,
    ...(limit.shards > 1 && { few }),
  };
}
