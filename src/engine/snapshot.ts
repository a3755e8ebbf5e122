/**
 * The state of a limit, to be shown. It does not depend on the clock, so a live query that returns it stays correct. It
 * has one form for all kinds, so a client needs no kinds.
 */
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import { type Limit, mostReservedOf, type Run } from "./kinds/kind.js";
import { compact, countsOf, logOf } from "./kinds/log.js";
import { WHOLE } from "./sharding/interval.js";
import { fastUnits } from "./sharding/policy.js";
import { heldByAll, type Shard } from "./sharding/shard.js";

/**
 * The most runs of all rows together, with 70 bytes each: an override shows a bucket twice, and Convex passes 16 MiB.
 * More rows than 128 show fewer times of their logs, joined at the later one, and only the first runs that pay a debt.
 */
const MOST_RUNS = 8192;

type SnapshotRun = RateLimitSnapshot["parts"][number]["runs"][number];

/** The snapshot of all shards of a bucket, at the latest time at which one of them was written. */
export function snapshotOf(limit: Limit, shards: readonly Shard[], pausedUntil = 0): RateLimitSnapshot {
  // Windows shorter than this start too often to be shown one by one.
  const SHORT_MS = 1000;
  const { name, kind, config, tokens, unitsPerToken, refill, periodMs, capacity } = limit;
  const times = shards.map(({ state }) => state.ts);
  const ts = Math.max(...times);
  // No two leases have one date, so the next one begins after the last.
  const begun = kind.release ? shards.flatMap(({ state }) => logOf(state).map(({ at }) => at + 1)) : [];
  const runs = kind.runsFrom?.(limit, Math.min(...times)) ?? [];
  const [firstRun] = runs;
  const parts = shards.map((shard) => partOf(shard, runs, Math.floor(MOST_RUNS / shards.length)));
  const own = runs.length === 1 && typeof config.period === "number" ? firstRun : undefined;
  return {
    name,
    // Windows start at a hash of the key if the config does not say when.
    config: kind.whenReset && own ? ({ start: positive(own), ...config } as Limit["config"]) : config,
    value: heldByAll(shards, ts) / unitsPerToken,
    ts: Math.max(ts, ...begun),
    // A capacity of less than a unit is none.
    tokens: capacity > 0 ? tokens : 0,
    unitsPerToken,
    capacity,
    mostReserved: mostReservedOf(limit),
    least: leastOf(limit),
    lastsMs: kind.runsFrom ? 0 : periodMs,
    // The last start of each part: all entries together are too many for the arguments of a call.
    lastStart: kind.runsFrom ? 0 : Math.max(0, ...parts.map((part) => part.runs.at(-1)?.start ?? 0)),
    ...(shards.length > 1 && kind.runsFrom && { runs: [...bringing(refill, runs), ...shards.flatMap(correction)] }),
    ...(kind.whenReset && firstRun && { windowsFrom: firstRun.start }),
    restMs: Number(config.period) < SHORT_MS ? SHORT_MS : 0,
    fullAt: Math.max(...shards.map((shard) => kind.whenHolding(shard.limit, shard.state, shard.limit.capacity))),
    parts,
    few: fastUnits(limit),
    used: shards.reduce((sum, shard) => sum + usedBeside(shard), 0) / unitsPerToken,
    pausedUntil,
  };
}

/** The first start of windows since the epoch. */
function positive({ start, period }: Run): number {
  return ((start % period) + period) % period;
}

/** The units of a quota that were used beside what is missing, under a larger capacity. A pause has used none. */
function usedBeside({ limit, state }: Shard): number {
  const { value, window } = limit.kind.advance(limit, state, state.ts);
  if (window?.used === undefined || !limit.kind.lapses?.(limit)) return 0;
  return Math.max(0, window.used - (limit.capacity - value));
}

function bringing(units: number, runs: readonly Run[]): SnapshotRun[] {
  return runs.map((run) => ({ ...run, units }));
}

/** What a reservation leaves: of a kind that keeps a log, once all that has started is back. */
function leastOf({ kind, capacity, maxReserved }: Limit): number {
  return kind.runsFrom ? -maxReserved : capacity - maxReserved;
}

function partOf(shard: Shard, runs: readonly Run[], most: number): RateLimitSnapshot["parts"][number] {
  const { interval, limit, state } = shard;
  const { kind, refill, periodMs, capacity } = limit;
  const { ts } = state;
  const advanced = kind.advance(limit, state, ts);
  const { value } = advanced;
  const short = correction(shard);
  // Rows that are many list no more steps than fill them, and one for what is taken from a full row.
  const steps = interval === WHOLE ? Infinity : 1 + (capacity - value) / refill + short.length;
  const counted = kind.runsFrom ? undefined : countsOf(limit, logOf(advanced)).filter(({ units }) => units > 0);
  const entries = counted && compact(counted, ts, most);
  return {
    ...(interval !== WHOLE && { shard: interval }),
    value,
    ts,
    capacity,
    least: leastOf(limit),
    runs: entries
      ? entries.map(({ at, units }) => ({ start: at, period: periodMs, count: 1, units }))
      : [...bringing(refill, untilFull(runs, ts, steps).slice(0, most)), ...short],
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
