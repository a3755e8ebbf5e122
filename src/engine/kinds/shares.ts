/** Cutting quantities into the shares of shards. */
import type { Limit, Share, State } from "./kind.js";

/**
 * A share of a quantity: whole tokens, as even as possible, so that no shard holds a fraction that it could never
 * spend. The last share gets the fraction of a token. Two neighbouring shares add up to the one that they were cut
 * from.
 */
export function shareOfUnits(units: number, unitsPerToken: number, { index, count }: Share): number {
  const tokens = Math.floor(units / unitsPerToken);
  const whole = Math.floor((tokens * (index + 1)) / count) - Math.floor((tokens * index) / count);
  const fraction = index === count - 1 ? units - tokens * unitsPerToken : 0;
  return whole * unitsPerToken + fraction;
}

/** A shard's part of a limit, of whose windows it gets whole tokens. */
export function shareOfLimit<L extends Limit>(limit: L, share: Share): L {
  const { capacity, maxReserved, refill, unitsPerToken } = limit;
  const partOf = (units: number) => shareOfUnits(units, unitsPerToken, share);
  return { ...limit, capacity: partOf(capacity), maxReserved: partOf(maxReserved), refill: partOf(refill) };
}

/**
 * The left half of units: half of the whole tokens, as far as both sides can hold theirs. A debt is cut as what pays it
 * is.
 */
export function leftHalf(units: number, left: Limit, right: Limit): number {
  const { unitsPerToken, capacity } = left;
  if (units < 0) return 0 - Math.floor(-units * (left.refill / (left.refill + right.refill || 1)));
  const half = Math.floor(units / unitsPerToken / 2) * unitsPerToken;
  return Math.min(capacity, Math.max(half, units - right.capacity));
}

/** The last write of several shards, and what all of them have seen of their control row. */
export function writeOf(states: readonly State[]): Pick<State, "ts" | "seen"> {
  const seen = Math.min(...states.map((state) => state.seen ?? 0));
  return { ts: Math.max(...states.map(({ ts }) => ts)), ...(seen > 0 && { seen }) };
}
