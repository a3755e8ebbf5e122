/** The kinds of limits, by name: the one list. */
import { fixedWindow } from "./fixedWindow.js";
import type { Kind } from "./kind.js";
import { slidingWindow } from "./slidingWindow.js";
import { tokenBucket } from "./tokenBucket.js";

/** Functions, since a kind is an object of many, and V8 makes such an object slowly: a run pays for the kinds that it uses. */
export const KINDS: Readonly<Record<string, () => Kind>> = {
  "token bucket": tokenBucket,
  "fixed window": fixedWindow,
  "sliding window": slidingWindow,
};

const made: Record<string, Kind | undefined> = {};

/** A kind by its name, always the same object. @throws when the name has fields but no kind. */
export function kindOf(name: string): Kind {
  const kind = (made[name] ??= KINDS[name]?.());
  if (kind) return kind;
  throw new Error(`Rate limit kind ${name} has fields but no parser.`);
}
