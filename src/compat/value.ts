/** A bucket's stored state, in the official component's form. */
import { present } from "../wire/present.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";

interface Reported {
  rate: number;
  period: number;
  capacity: number;
  maxReserved?: number;
  shards: number;
}

/**
 * The answer of `getValue`: `value` tokens at `ts`, in milliseconds since the epoch. `ts` is 0 for a bucket that was never used,
 * and the start of the window for a fixed window. `value` of a sharded limit is the sum of its shards, and `shard` is always 0.
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
  const reported = present({ rate, period, capacity, maxReserved, shards });
  if (config.kind !== "fixed window") return { value, ts, shard: 0, config: { kind: "token bucket", ...reported } };
  const { start = 0 } = config;
  const begun = ts === 0 ? 0 : start + Math.floor((ts - start) / period) * period;
  return { value, ts: begun, shard: 0, config: { kind: "fixed window", ...reported, start } };
}
