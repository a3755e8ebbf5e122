/** Arguments, from the caller or from the wire → a request that the operations can trust. Neither source is. */
import { checkKey, parseAdjustment, parseDemand } from "./demand.js";
import { forKey, parseLimit } from "./limit.js";
import { badField } from "./misuse.js";
import type { Demand, Limit } from "./types.js";
import type { RateLimitConfig } from "../validators.js";

/** One bucket: a parsed limit, at one key. */
export interface Place {
  readonly limit: Limit;
  readonly key: string | undefined;
}

/** One bucket and what is asked of it. */
export interface Request extends Place {
  readonly demand: Demand;
}

/** One bucket and what it is to be charged, in units; negative to give back. */
export interface Adjustment extends Place {
  readonly units: number;
}

interface PlaceArgs {
  name: string;
  key?: string | undefined;
  config: RateLimitConfig;
}

interface RequestArgs extends PlaceArgs {
  count?: number | undefined;
  reserve?: boolean | undefined;
}

export function parsePlace({ name, key, config }: PlaceArgs): Place {
  return placeAt(parseLimit(name, config), key);
}

export function parseRequest(args: RequestArgs): Request {
  return withDemand(parsePlace(args), args);
}

export function placeAt(limit: Limit, key: string | undefined): Place {
  checkKey(limit.name, key);
  return { limit: forKey(limit, key), key };
}

export function withDemand(place: Place, { count, reserve }: Pick<RequestArgs, "count" | "reserve">): Request {
  return { ...place, demand: parseDemand(place.limit, { count, reserve }) };
}

export function withUnits(place: Place, count: number): Adjustment {
  return { ...place, units: parseAdjustment(place.limit, count) };
}

/** What a cancelled demand gives back: exactly the units that it was charged. */
export function withRefund(place: Place, count: number): Adjustment {
  const { units } = withUnits(place, count);
  if (units < 0) throw badField(place.limit.name, "count", "a number of at least 0", count);
  return { ...place, units: -units };
}
