/** The official component's form of a limit → ours. */
import type { RateLimitConfig as OwnConfig } from "../wire/configs.js";
import { present } from "../wire/present.js";

export interface Quantities {
  rate: number;
  period: number;
  capacity?: number;
  maxReserved?: number;
}
type TokenBucket = Quantities & { kind: "token bucket"; start?: null };
type FixedWindow = Quantities & { kind: "fixed window"; start?: number };
type Transactional = { shards?: number; applyUpdates?: "transactionally" };
type Asynchronous = { shards?: never; applyUpdates?: "asynchronously" };

/**
 * How a limit behaves, as in `@convex-dev/rate-limiter`; durations in milliseconds. `applyUpdates: "asynchronously"` is accepted:
 * its updates are transactional and exact, like all others here.
 */
export type RateLimitConfig = (TokenBucket | FixedWindow) & (Transactional | Asynchronous);

/** The config without fields that mean nothing here. The parser refuses unknown fields. */
export function ownConfig(config: RateLimitConfig): OwnConfig {
  // JavaScript may pass anything: the parser names the limit and the field.
  const { applyUpdates, start, ...rest } = { ...config } as Record<string, unknown>;
  const isMode = applyUpdates === "transactionally" || applyUpdates === "asynchronously";
  const isNone = start === null && rest["kind"] === "token bucket";
  const unknown = { applyUpdates: isMode ? undefined : applyUpdates, start: isNone ? undefined : start };
  return present({ ...rest, ...unknown }) as unknown as OwnConfig;
}
