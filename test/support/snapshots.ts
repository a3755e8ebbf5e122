/** Snapshots of one row, made by hand: what `getRateLimit` would return for a state. */
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import type { TokensConfig } from "./configs.js";
import type { FixedWindowConfig } from "../../src/wire/configs.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { fromStored } from "../../src/engine/units.js";
import { snapshotOf } from "../../src/engine/snapshot.js";
import { WHOLE } from "../../src/engine/sharding/interval.js";

/** A bucket with `value` tokens at the time `ts`, under a config. */
export interface StoredBucket {
  name: string;
  value: number;
  ts: number;
  config: TokensConfig;
}

export function snapshotBy(state: StoredBucket): RateLimitSnapshot {
  const limit = parseLimit(state.name, state.config);
  const { kind, rate } = state.config;
  const { capacity = rate } = state.config as FixedWindowConfig;
  // Its windows begin where they begin under the config now.
  const window = kind === "fixed window" && { window: { since: 0, used: Math.max(0, capacity - state.value) } };
  const stored = { ...state, ...window };
  return snapshotOf(limit, [{ interval: WHOLE, limit, state: fromStored(limit, stored, undefined) }]);
}

/** The start of the last window that a snapshot lists. */
export function lastStartIn({ parts, runs = parts.flatMap((part) => part.runs) }: RateLimitSnapshot): number {
  const starts = runs.map(({ start, period, count = Infinity }) => start + period * count);
  return Math.max(...(starts.length > 0 ? starts : [Infinity]));
}

/** The same bucket while an operator blocks it. */
export function blocked(snapshot: RateLimitSnapshot, until: number): RateLimitSnapshot {
  return { ...snapshot, override: { ...snapshot, until, reason: "blocked", pausedUntil: until } };
}
