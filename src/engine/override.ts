/** Overrides: what holds at one key in place of the limit's config, until it ends. Tokens that were taken stay taken. */
import type { RateLimitOverride } from "../wire/configs.js";
import { checkFields, type Field, type Fields, isObject } from "./fields.js";
import type { Limit } from "./kinds/kind.js";
import { parseLimit } from "./kinds/limit.js";
import { misuseError, show } from "./misuse.js";
import { type Bucket, storedConfig, storedLimit } from "./bucket.js";
import { END_OF_TIME } from "./time.js";

/** A stored override, checked: another limit, or what a snapshot says. `until` is the end of time if the override has no end. */
export type Override = { readonly until: number } & (
  | { readonly limit: Limit; readonly unlimited?: undefined }
  | { readonly unlimited: true; readonly limit?: undefined }
  | { readonly reason: "blocked"; readonly unlimited?: undefined; readonly limit?: undefined }
);

function makeFields(): Fields {
  // A note is for people who look at a list: long enough for a reason and a link to a ticket.
  const MAX_NOTE = 500;
  const onlyTrue: Field = { permitted: "true", holds: (value) => value === true };
  return {
    config: { permitted: "a config", holds: isObject },
    block: onlyTrue,
    unlimited: onlyTrue,
    until: { above: 0, atMost: END_OF_TIME, unit: "milliseconds since the epoch", isWhole: true },
    note: {
      permitted: `a well-formed string of at most ${MAX_NOTE} characters (UTF-16 units)`,
      holds: (value) => typeof value === "string" && value.length <= MAX_NOTE && value.isWellFormed(),
    },
  };
}

/**
 * An override as it is stored: its config with the defaults filled in, and without `shards`, since the rows stay the limit's own.
 * @throws when it is not exactly one of config, block and unlimited, or a field is unknown or out of range.
 */
export function parseOverride(name: string, override: RateLimitOverride): RateLimitOverride {
  const WAYS = ["config", "block", "unlimited"] as const;
  checkFields(name, "overrideRateLimit", override, makeFields());
  const { config } = override;
  const given = WAYS.filter((way) => override[way] !== undefined);
  if (given.length !== 1) {
    const got = given.length === 0 ? "none of them" : given.join(" and ");
    throw misuseError(name, `an override must have exactly one of config, block and unlimited, got ${got}.`);
  }
  // Convex stores no field that is undefined.
  return { ...override, ...(config && { config: storedConfig(parseLimit(name, config).config) }) };
}

/**
 * A stored override as it applies to a bucket.
 * @throws when this package cannot have written it: nothing is let through until it is cleared.
 */
export function overrideOf({ limit, key }: Bucket, stored: RateLimitOverride): Override {
  const { name } = limit;
  const { shards } = limit.config;
  try {
    const { config, block, until = END_OF_TIME } = parseOverride(name, stored);
    if (config) return { until, limit: storedLimit({ name, key }, { ...config, shards }) };
    return block ? { until, reason: "blocked" } : { until, unlimited: true };
  } catch (error) {
    throw overrideError({ name, key }, (error as Error).message);
  }
}

export function overrideError({ name, key }: Pick<Bucket, "name" | "key">, problem: string): Error {
  const bucket = key === undefined ? "" : ` of key ${show(key)}`;
  return misuseError(
    name,
    `the stored override${bucket} cannot be used, so nothing is let through; clearRateLimitOverride removes it. ${problem}`,
  );
}
