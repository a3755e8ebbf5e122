/** The kinds of limits, by name: the one list. */
import { FixedWindowKind } from "./fixedWindow.js";
import type { Kind } from "./kind.js";
import { SlidingWindowKind } from "./slidingWindow.js";
import { TokenBucketKind } from "./tokenBucket.js";

export const KINDS: Readonly<Record<string, Kind>> = {
  "token bucket": new TokenBucketKind(),
  "fixed window": new FixedWindowKind(),
  "sliding window": new SlidingWindowKind(),
};
