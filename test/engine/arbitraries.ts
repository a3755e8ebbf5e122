/** Arbitrary limits of all kinds, and states that they may have; and buckets on several rows. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { fullState, type Limit, type State } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { halves, type Interval, MAX_LEVEL, MAX_SHARDS, WHOLE } from "../../src/engine/sharding/interval.js";
import { type Shard, shardAt, splitTo } from "../../src/engine/sharding/shard.js";

export const NOW = 1_700_000_000_000;

export const decimal = fc
  .tuple(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 0, max: 6 }))
  .map(([n, e]) => n / 10 ** e);
export const period = fc.oneof(fc.integer({ min: 1, max: 1e10 }), decimal);
const decimals = fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.constantFrom(0.5, 2.25, 1e6));
const maxReserved = fc.option(fc.nat(5000), { nil: undefined });

const sizes = { capacity: fc.oneof(fc.nat(5000), fc.constantFrom(0.5, 12.75)), maxReserved };
const windows = { rate: decimals, period: fc.constantFrom(1, 7, 1000, 60_000, 3_600_000, 86_400_000) };
const start = fc.constantFrom(0, 250, NOW + 5000);
const configs: fc.Arbitrary<RateLimitConfig> = fc
  .oneof(
    fc.record({
      kind: fc.constant("token bucket" as const),
      rate: fc.oneof(decimals, fc.constant(1 / 3)),
      period: fc.constantFrom(7, 2.5, 1000, 60_000, 86_400_000),
      ...sizes,
    }),
    fc.record({ kind: fc.constant("fixed window" as const), ...windows, start, ...sizes }),
    fc.record({ kind: fc.constant("sliding window" as const), ...windows, maxReserved }),
  )
  .map(({ maxReserved, ...config }): RateLimitConfig => {
    return { ...config, ...(maxReserved !== undefined && { maxReserved }), shards: MAX_SHARDS };
  });

export const limits = configs.map((config) => parseLimit("some", config));

/** Limits with slots, which are never split. */
const slots = fc
  .record({ slots: fc.integer({ min: 1, max: 64 }), lease: windows.period })
  .map((own) => parseLimit("some", { kind: "concurrency", ...own }));
export const allLimits = fc.oneof({ weight: 3, arbitrary: limits }, { weight: 1, arbitrary: slots });

/** Consecutive calls. Each has the ms since the previous call and the part of the available units that it takes. */
export const histories = fc.array(
  fc.record({ waitMs: fc.nat(900), part: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })) }),
  { maxLength: 30 },
);
type History = readonly { readonly waitMs: number; readonly part: number }[];

/** The state after a history, which owes nothing, and the time of the last call. */
export function stateAfter(limit: Limit, history: History): { state: State; now: number } {
  let now = NOW;
  let state = fullState(limit);
  for (const { waitMs, part } of history) {
    now += waitMs;
    const advanced = limit.kind.advance(limit, state, now);
    state = limit.kind.take(limit, advanced, Math.floor(part * advanced.value));
  }
  return { state, now };
}

/** Intervals of levels up to 10 that tile the whole, in order. */
export const tilings = fc.array(fc.boolean(), { maxLength: 60 }).map((choices): Interval[] => {
  let chosen = 0;
  const cut = (interval: Interval): Interval[] => {
    const mayCut = interval.length < MAX_LEVEL && choices[chosen++] === true;
    return mayCut ? halves(interval).flatMap(cut) : [interval];
  };
  return cut(WHOLE);
});

/** A bucket that holds `held` tokens on 2^`level` rows. */
export function rowsOf(config: RateLimitConfig, held: number, level: number): { limit: Limit; shards: Shard[] } {
  const limit = parseLimit("send", config);
  const whole = shardAt(limit, WHOLE, { value: held * limit.unitsPerToken, ts: NOW });
  return { limit, shards: splitTo(limit, whole, level, NOW) };
}
/** Sixteen rows that together get 64 tokens a minute, or 6,400 a second. */
export const slow = { kind: "token bucket", rate: 64, period: 60_000, shards: 16 } as const;
export const fast = { kind: "token bucket", rate: 6400, period: 1000, capacity: 64, shards: 16 } as const;
export const at = (now: number, pausedUntil = 0) => ({ now, pausedUntil });
