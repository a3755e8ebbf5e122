/** Several requests in one call: those to the same bucket add up to one claim on it, so that their order cannot matter. */
import { checkPossible } from "./demand.js";
import { misuse } from "./misuse.js";
import type { Demand, Limit } from "./types.js";
import type { Place, Request } from "./request.js";

/** What all requests to one bucket ask for together. */
export interface Claim extends Place {
  /** The part that must be there now. */
  readonly atOnce: Demand;
  /** All of it, together with what may be taken from the future. */
  readonly whole: Demand;
  /** Whether it has parts of both sorts, which get different answers. */
  readonly isMixed: boolean;
  /** Its requests: their places in the call, and of which sort they are. */
  readonly members: readonly { readonly place: number; readonly reserve: boolean }[];
}

export interface Bundle {
  readonly requests: readonly Request[];
  /** One for each bucket. */
  readonly claims: readonly Claim[];
}

/** @throws when a bucket could never serve all that is asked of it, or is asked under two different configs. */
export function bundle(requests: readonly Request[]): Bundle {
  const byBucket = new Map<string, [Placed, ...Placed[]]>();
  for (const [place, request] of requests.entries()) {
    const id = JSON.stringify([request.limit.name, request.key]);
    const same = byBucket.get(id);
    if (same) same.push({ ...request, place });
    else byBucket.set(id, [{ ...request, place }]);
  }
  return { requests, claims: [...byBucket.values()].map(claimFor) };
}

type Placed = Request & { place: number };

function claimFor([first, ...others]: readonly [Placed, ...Placed[]]): Claim {
  const { limit, key } = first;
  if (others.some((other) => meaning(other.limit) !== meaning(limit))) {
    throw misuse(limit.name, "one bucket must have the same config in all the requests of a call.");
  }
  const demands = [first, ...others].map(({ demand }) => demand);
  const atOnce = demands.filter(({ reserve }) => !reserve);
  const reserve = atOnce.length < demands.length;
  return {
    limit,
    key,
    atOnce: checkPossible(limit, { count: sum(atOnce), reserve: false }),
    whole: checkPossible(limit, { count: sum(demands), reserve }),
    isMixed: reserve && atOnce.length > 0,
    members: [first, ...others].map(({ place, demand }) => ({ place, reserve: demand.reserve })),
  };
}

function sum(demands: readonly Demand[]): number {
  return demands.reduce((total, { count }) => total + count, 0);
}

/** What a limit does, whatever the order of its config's fields and the defaults that were spelt out. */
function meaning(limit: Limit): string {
  return JSON.stringify({ ...limit, config: undefined });
}
