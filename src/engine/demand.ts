/** What a caller asks for → a demand in units. */
import { badField, misuse, show } from "./misuse.js";
import type { Demand, Limit } from "./types.js";
import { ceilUnits, MAX_TOKENS, MAX_UNITS } from "./units.js";

/**
 * @throws when `count` is not a finite number of at least 0, or so large that no wait would ever be long enough; and when
 * `reserve` is no boolean.
 */
export function parseDemand(
  limit: Limit,
  { count = 1, reserve = false }: { count?: number | undefined; reserve?: boolean | undefined },
): Demand {
  if (typeof reserve !== "boolean") throw badField(limit.name, "reserve", "true or false", reserve);
  if (!(typeof count === "number" && Number.isFinite(count) && count >= 0)) {
    throw badField(limit.name, "count", "a finite number of at least 0", count);
  }
  return checkPossible(limit, { count: ceilUnits(count, limit.unitsPerToken), reserve }, count);
}

/**
 * The units of an adjustment, in the limit's favour: what is charged is rounded up, what is given back is rounded down, and cut
 * off where no bucket could have room for more.
 * @throws when `count` is not a number from -MAX_TOKENS to MAX_TOKENS, or more than a limit like this can ever owe.
 */
export function parseAdjustment(limit: Limit, count: number): number {
  if (!(typeof count === "number" && Math.abs(count) <= MAX_TOKENS)) {
    throw badField(limit.name, "count", "a number from -1e12 to 1e12", count);
  }
  const units = ceilUnits(count, limit.unitsPerToken);
  if (units <= MAX_UNITS) return Math.max(units, -2 * MAX_UNITS);
  const most = Math.floor(MAX_UNITS / limit.unitsPerToken);
  throw misuse(limit.name, `count ${count} can never be paid: a limit like this can owe at most ${most}.`);
}

/** @throws when the demand is so large that no wait would ever be long enough. */
export function checkPossible(limit: Limit, demand: Demand, asked = demand.count / limit.unitsPerToken): Demand {
  const { count, reserve } = demand;
  const possible = reserve ? limit.capacity + limit.maxReserved : limit.capacity;
  // Beyond the range of numbers the units of a count are NaN: not within the bound either.
  if (count <= possible) return demand;
  const most = possible / limit.unitsPerToken;
  throw misuse(limit.name, `count ${asked} can never be served: ${bound(limit, reserve)} at most ${most}.`);
}

function bound(limit: Limit, reserve: boolean): string {
  if (reserve) return "capacity and maxReserved together hold";
  return limit.maxReserved > 0 ? "without reserve: true it must fit into capacity," : "it must fit into capacity,";
}

/** @throws when `name` is not a non-empty string. */
export function checkName(name: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new Error(`A rate limit's name must be a non-empty string, got ${show(name)}.`);
  }
}

/** @throws when `key` is present and not a non-empty string. */
export function checkKey(name: string, key: unknown): void {
  if (key !== undefined && (typeof key !== "string" || key === "")) {
    throw badField(name, "key", "a non-empty string", key);
  }
}
