/** The registry of kinds, and config → parsed limit: behind `parseLimit` every field is present and valid. */
import type { RateLimitConfig } from "../../wire/configs.js";
import { ConcurrencyKind } from "./concurrency.js";
import { checkConfig } from "./fields.js";
import { FixedWindowKind } from "./fixedWindow.js";
import type { Kind, Limit } from "./kind.js";
import { isPlain } from "./plain.js";
import { SlidingWindowKind } from "./slidingWindow.js";
import { TokenBucketKind } from "./tokenBucket.js";
import { checkName } from "../names.js";

/**
 * Classes, since each run loads them: in a fresh context V8 makes a class of 24 methods in 2 µs, and a literal at 1 to
 * 2 µs a field.
 */
export const KINDS: Readonly<Record<RateLimitConfig["kind"], Kind>> = {
  "token bucket": new TokenBucketKind(),
  "fixed window": new FixedWindowKind(),
  "sliding window": new SlidingWindowKind(),
  concurrency: new ConcurrencyKind(),
};

/**
 * Parses the config of the bucket without a key; `forKey` gives that of any other.
 * @throws when a field is missing, unknown or out of range, naming the limit, the field, the value and the range.
 */
export function parseLimit(name: string, config: RateLimitConfig): Limit {
  checkLimit(name, config);
  return parseChecked(name, config);
}

/** What can be checked of a config field by field. */
export function checkLimit(name: string, config: RateLimitConfig): void {
  checkName(name);
  if (!isPlain(config)) checkConfig(name, config);
}

/** The same of a name and a config that have been checked. @throws when its fields do not fit together. */
export function parseChecked(name: string, config: RateLimitConfig): Limit {
  return KINDS[config.kind].parse(name, config);
}

/**
 * A limit with buckets of some text, of a kind and period that no definition has since a deploy: windows and leases
 * that are over say nothing at any rate. None for a token bucket.
 */
export function limitLeftIn(name: string, bucket = ""): Limit | undefined {
  const [, kind, period = ""] = /^(fixed window|sliding window|concurrency) (.+)$/.exec(bucket) ?? [];
  if (!kind) return undefined;
  const ms = Number(period) || period;
  return parseChecked(name, { kind, rate: 1, period: ms, slots: 1, lease: ms } as unknown as RateLimitConfig);
}
