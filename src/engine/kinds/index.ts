/** The kinds of limits, by name: the one list. */
import { FixedWindow } from "./fixedWindow.js";
import type { Kind } from "./kind.js";
import { SlidingWindow } from "./slidingWindow.js";
import { TokenBucket } from "./tokenBucket.js";

export const KINDS: Readonly<Record<string, Kind>> = {
  "token bucket": new TokenBucket(),
  "fixed window": new FixedWindow(),
  "sliding window": new SlidingWindow(),
};
