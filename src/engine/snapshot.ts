/**
 * The state of a limit, to be shown. It does not depend on the clock, so a live query that returns it stays correct. It has one form
 * for all kinds, so a client needs no kinds.
 */
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { Limit, Run } from "./kinds/kind.js";
import { WHOLE } from "./sharding/interval.js";
import { fastUnits } from "./sharding/policy.js";
import { heldByAll, type Shard } from "./sharding/shard.js";

type SnapshotRun = RateLimitSnapshot["parts"][number]["runs"][number];

/** The snapshot of all shards of a bucket, at the latest time at which one of them was written. */
export function snapshotOf(limit: Limit, shards: readonly Shard[]): RateLimitSnapshot {
  // Windows shorter than this start too often to be shown one by one.
  const SHORT_MS = 1000;
  const { name, kind, tokens, unitsPerToken, refill, periodMs, capacity, maxReserved } = limit;
  const times = shards.map(({ state }) => state.ts);
  const ts = Math.max(...times);
  const config = kind.shownConfig?.(limit) ?? limit.config;
  const runs = kind.runsFrom?.(limit, Math.min(...times)) ?? [];
  const [firstRun] = runs;
  const parts = shards.map((shard) => partOf(shard, runs));
  return {
    name,
    config,
    value: heldByAll(shards, ts) / unitsPerToken,
    ts,
    // A capacity of less than a unit is none.
    tokens: capacity > 0 ? tokens : 0,
    unitsPerToken,
    capacity,
    maxReserved,
    // The last start of each part: all entries together are too many for the arguments of a call.
    ...(kind.entries && {
      lastsMs: periodMs,
      lastStart: Math.max(0, ...parts.map((part) => part.runs.at(-1)?.start ?? 0)),
    }),
    runs: [...bringing(refill, runs), ...shards.flatMap(correction)],
    ...(kind.whenReset && firstRun && { windowsFrom: firstRun.start }),
    ...(Number(config.period) < SHORT_MS && { restMs: SHORT_MS }),
    fullAt: Math.max(...shards.map((shard) => kind.whenHolding(shard.limit, shard.state, shard.limit.capacity))),
    parts,
    few: fastUnits(limit),
  };
}

function bringing(units: number, runs: readonly Run[]): SnapshotRun[] {
  return runs.map((run) => ({ ...run, units }));
}

function partOf(shard: Shard, runs: readonly Run[]): RateLimitSnapshot["parts"][number] {
  const { interval, limit, state } = shard;
  const { kind, refill, periodMs, capacity } = limit;
  const { ts } = state;
  const advanced = kind.advance(limit, state, ts);
  const { value } = advanced;
  const short = correction(shard);
  const entries = kind.entries?.(limit, advanced);
  return {
    ...(interval !== WHOLE && { shard: interval }),
    value,
    ts,
    capacity,
    runs: entries
      ? entries.map(({ at, units }) => ({ start: at, period: periodMs, count: 1, units }))
      : [...bringing(refill, untilFull(runs, ts, (capacity - value) / refill + short.length)), ...short],
  };
}

/** The units by which the step after the last write falls short of the others: a run of its own, since runs add up. */
function correction({ limit, state }: Shard): SnapshotRun[] {
  const run = limit.kind.shortStep?.(limit, state);
  return run ? [{ ...run, units: -run.units }] : [];
}

/** The runs after a time; of a list only as many as the steps need. */
function untilFull(runs: readonly Run[], ts: number, steps: number): Run[] {
  const needed: Run[] = [];
  let listed = 0;
  for (const run of runs) {
    const { start, period, count } = run;
    const past = Math.max(0, Math.floor((ts - start) / period));
    if (listed >= steps) break;
    if (count === undefined) needed.push({ ...run, start: start + past * period });
    else if (past < count) {
      needed.push({ ...run, start: start + past * period, count: count - past });
      listed += count - past;
    }
  }
  return needed;
}
