/** Config → parsed limit. Optional and unchecked fields end here: behind `parseLimit` every field is present and valid. */
import type { RateLimitConfig } from "../validators.js";
import { checkName } from "./demand.js";
import { badField, misuse, show } from "./misuse.js";
import { hashedStart } from "./phase.js";
import { MAX_SHARDS, shardCount } from "./sharding/shardCount.js";
import type { Limit } from "./types.js";
import { chooseGrain, floorUnits, MAX_TOKENS, MAX_UNITS } from "./units.js";

/** Milliseconds: 31,000 years. */
const MAX_PERIOD = 1e15;

/** What a reserve without a limit is sure to hold: a thousand tokens, and a hundred full buckets. */
const UNLIMITED_TOKENS = 1000;
const UNLIMITED_BUCKETS = 100;

const FIELDS = {
  "token bucket": ["kind", "rate", "period", "capacity", "maxReserved", "shards"],
  "fixed window": ["kind", "rate", "period", "capacity", "maxReserved", "shards", "start"],
} as const;

/**
 * Parses the config of the bucket without a key; `forKey` gives that of any other.
 * @throws when a field is missing, unknown or out of range, naming the limit, the field, the value and the range.
 */
export function parseLimit(name: string, config: RateLimitConfig): Limit {
  checkName(name);
  checkConfig(name, config);
  const { rate, capacity = rate, maxReserved } = config;
  const per = config.kind === "token bucket" ? config.period : 1;
  const largest = Math.max(capacity, maxReserved ?? Math.max(UNLIMITED_TOKENS, UNLIMITED_BUCKETS * capacity));
  const { unitsPerToken, refill } = chooseGrain(rate, per, largest);
  const limit = {
    name,
    unitsPerToken,
    capacity: floorUnits(capacity, unitsPerToken),
    shards: shardCount(config),
    maxReserved: maxReserved === undefined ? MAX_UNITS : floorUnits(maxReserved, unitsPerToken),
  };
  if (config.kind === "token bucket") return { ...limit, kind: config.kind, refill, config: { ...config, capacity } };
  const { kind, period, start = hashedStart(name, undefined, period) } = config;
  return { ...limit, kind, refill: Math.floor(refill), period, start, config: { ...config, capacity } };
}

/** The limit as it applies to one key: only a hashed start depends on it. */
export function forKey(limit: Limit, key: string | undefined): Limit {
  if (limit.kind === "token bucket" || limit.config.start !== undefined) return limit;
  return { ...limit, start: hashedStart(limit.name, key, limit.period) };
}

function checkConfig(name: string, config: RateLimitConfig): void {
  // The types forbid it, JavaScript does not.
  const given: unknown = config;
  if (typeof given !== "object" || given === null) throw badField(name, "config", "an object", config);
  // typeof: an array of one string would pass for its element.
  if (typeof config.kind !== "string" || !Object.hasOwn(FIELDS, config.kind)) {
    throw badField(name, "kind", '"token bucket" or "fixed window"', config.kind);
  }
  const known: readonly string[] = FIELDS[config.kind];
  for (const field of Object.keys(config)) {
    if (known.includes(field)) continue;
    throw misuse(name, `${show(field)} is no field of a ${config.kind}, which has ${known.join(", ")}.`);
  }
  checkRange(name, "rate", config.rate, { above: 0, atMost: MAX_TOKENS });
  checkRange(name, "period", config.period, { above: 0, atMost: MAX_PERIOD });
  if (config.rate / config.period > MAX_TOKENS) {
    // A steeper slope has no use, leaves no units for the tokens, and may even overflow to infinity.
    throw badField(name, "period", `at least ${config.rate / MAX_TOKENS} at this rate`, config.period);
  }
  if (config.capacity !== undefined) checkRange(name, "capacity", config.capacity, { atLeast: 0, atMost: MAX_TOKENS });
  if (config.maxReserved !== undefined) {
    checkRange(name, "maxReserved", config.maxReserved, { atLeast: 0, atMost: MAX_TOKENS });
  }
  if (config.shards !== undefined && config.shards !== "auto") checkShards(name, config.shards);
  if (config.kind === "fixed window") {
    if (!Number.isInteger(config.period)) {
      throw badField(name, "period", "a whole number of milliseconds (for a fixed window)", config.period);
    }
    // Within ±MAX_PERIOD the distance from any real time to `start` is exact.
    if (config.start !== undefined && !(Number.isInteger(config.start) && Math.abs(config.start) <= MAX_PERIOD)) {
      throw badField(
        name,
        "start",
        `a whole number of milliseconds from -${powerOfTen(MAX_PERIOD)} to ${powerOfTen(MAX_PERIOD)}`,
        config.start,
      );
    }
  }
}

function checkShards(name: string, shards: number): void {
  if (!(Number.isInteger(shards) && shards >= 1 && shards <= MAX_SHARDS)) {
    throw badField(name, "shards", `a whole number from 1 to ${MAX_SHARDS}, or "auto"`, shards);
  }
}

/** Checks that a field is a number within a range; NaN and infinities are within none. */
function checkRange(
  name: string,
  field: string,
  value: unknown,
  range: { above: number; atMost: number } | { atLeast: number; atMost: number },
): void {
  const [enough, lower] =
    "above" in range
      ? [typeof value === "number" && value > range.above, `above ${range.above}`]
      : [typeof value === "number" && value >= range.atLeast, `at least ${range.atLeast}`];
  if (!enough || !((value as number) <= range.atMost)) {
    throw badField(name, field, `a number ${lower} and at most ${powerOfTen(range.atMost)}`, value);
  }
}

/** As one would type it: 1e12, neither 1000000000000 nor 1e+12. */
function powerOfTen(power: number): string {
  return `1e${Math.log10(power)}`;
}
