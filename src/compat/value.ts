/** A bucket's stored state, in the official component's form. */
import type { RateLimitSnapshot } from "../wire/snapshots.js";

interface Reported {
  rate: number;
  period: number;
  capacity: number;
  maxReserved?: number;
  shards: number;
}

/**
 * What `getValue` returns: `value` tokens at `ts` (milliseconds since the epoch; 0 for a bucket that was never used; for a fixed
 * window the start of the window). Of a sharded limit it is the sum of the shards, and `shard` is always 0.
 */
export interface GetValueReturns {
  value: number;
  ts: number;
  shard: number;
  config: (Reported & { kind: "token bucket" }) | (Reported & { kind: "fixed window"; start: number });
}

export function valueOf({ value, ts, config }: RateLimitSnapshot, shards = 1): GetValueReturns {
  const { rate, capacity = rate, maxReserved } = config;
  // A RateLimiter takes periods in ms only.
  const period = Number(config.period);
  const reported = { rate, period, capacity, ...(maxReserved === undefined ? {} : { maxReserved }), shards };
  if (config.kind !== "fixed window") {
    return { value, ts, shard: 0, config: { kind: "token bucket", ...reported } };
  }
  const { start = 0 } = config;
  return {
    value,
    ts: ts === 0 ? 0 : start + Math.floor((ts - start) / period) * period,
    shard: 0,
    config: { kind: "fixed window", ...reported, start },
  };
}
