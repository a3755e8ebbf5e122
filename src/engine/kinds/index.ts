/** The kinds of limits, by name: the one list. */
import { fixedWindow } from "./fixedWindow.js";
import type { Kind } from "./kind.js";
import { slidingWindow } from "./slidingWindow.js";
import { tokenBucket } from "./tokenBucket.js";

/** Functions, since V8 is slow to make an object with as many methods as a kind has: a run makes the kinds that it uses. */
export const KINDS: Readonly<Record<string, () => Kind>> = {
  "token bucket": tokenBucket,
  "fixed window": fixedWindow,
  "sliding window": slidingWindow,
};
