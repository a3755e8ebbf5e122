/** What a caller asks for → a demand in units. */
import { badField, misuse } from "./misuse.js";
import type { Demand, Limit } from "./types.js";
import { ceilUnits } from "./units.js";

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
  const units = ceilUnits(count, limit.unitsPerToken);
  const possible = reserve ? limit.capacity + limit.maxReserved : limit.capacity;
  // Also for a count so large that its units overflow to NaN.
  if (!(units <= possible)) {
    const most = possible / limit.unitsPerToken;
    throw misuse(limit.name, `count ${count} can never be served: at most ${most} tokens ${bound(reserve)}.`);
  }
  return { count: units, reserve };
}

function bound(reserve: boolean): string {
  return reserve ? "fit into capacity + maxReserved" : "fit into capacity (reserve: true may go beyond)";
}

/** @throws when `name` is not a non-empty string. */
export function checkName(name: unknown): void {
  if (typeof name !== "string" || name === "") throw badField(String(name), "name", "a non-empty string", name);
}

/** @throws when `key` is present and not a non-empty string. */
export function checkKey(name: string, key: unknown): void {
  if (key !== undefined && (typeof key !== "string" || key === "")) {
    throw badField(name, "key", "a non-empty string", key);
  }
}
