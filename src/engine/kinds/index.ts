/** The kinds of limits, by name: the one list. */
import { fixedWindow } from "./fixedWindow.js";
import type { Kind } from "./kind.js";
import { slidingWindow } from "./slidingWindow.js";
import { tokenBucket } from "./tokenBucket.js";

export const KINDS: Readonly<Record<string, Kind>> = {
  [tokenBucket.name]: tokenBucket,
  [fixedWindow.name]: fixedWindow,
  [slidingWindow.name]: slidingWindow,
};
