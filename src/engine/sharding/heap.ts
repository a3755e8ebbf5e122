/**
 * A limit as a binary heap of parts. Node 1 is the whole limit, node n has the halves 2n and 2n + 1; so the S leaves of a limit
 * of S shards are the nodes S to 2S - 1. Invariant: the parts of two children add up exactly to their parent's.
 */
import type { Limit } from "../types.js";

/** The whole limit. */
export const ROOT = 1;

/** The level of a node: 0 for the root. */
export function levelOf(node: number): number {
  return 31 - Math.clz32(node);
}

/** The ancestors of a node, nearest first, up to the root. */
export function ancestorsOf(node: number): number[] {
  return node === ROOT ? [] : [node >> 1, ...ancestorsOf(node >> 1)];
}

/** The first and the last node below `node` on a deeper level. */
export function descendantsAt(node: number, level: number): { first: number; last: number } {
  const width = 2 ** (level - levelOf(node));
  return { first: node * width, last: (node + 1) * width - 1 };
}

/** The part of a limit that a node holds: a limit of its own, with its share of rate, capacity and reserve. */
export function partOf(limit: Limit, node: number): Limit {
  if (node === ROOT) return limit;
  const share = (units: number) => shareOf(units, limit.unitsPerToken, node);
  const part = { capacity: share(limit.capacity), maxReserved: share(limit.maxReserved) };
  switch (limit.kind) {
    case "token bucket":
      return { ...limit, ...part, refill: limit.refill / 2 ** levelOf(node) };
    case "fixed window":
      return { ...limit, ...part, refill: share(limit.refill) };
  }
}

/**
 * A node's share of a quantity: whole tokens, as even as they go, so that no shard holds a fraction that it could never
 * spend; what is left below a whole token is the rightmost node's.
 */
function shareOf(units: number, unitsPerToken: number, node: number): number {
  const shares = 2 ** levelOf(node);
  const index = node - shares;
  const tokens = Math.floor(units / unitsPerToken);
  const whole = Math.floor((tokens * (index + 1)) / shares) - Math.floor((tokens * index) / shares);
  const fraction = index === shares - 1 ? units - tokens * unitsPerToken : 0;
  return whole * unitsPerToken + fraction;
}
