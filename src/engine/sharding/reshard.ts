/**
 * Rows of any number of shards → the parts that a call needs. Invariant: no stored part lies below another, and the stored
 * parts, together with what none of them covers (that is full), make up the whole limit exactly. So the number of shards may
 * change at any time: parts are split and folded as calls come upon them, and no unit is made or lost on the way, but for
 * what a part cannot hold.
 */
import { fullBucket, project } from "../kinds/bucket.js";
import { levelOf, partOf, ROOT } from "./heap.js";
import { misuse, REMEDY } from "../misuse.js";
import type { Bucket, Limit, Part } from "../types.js";

/** The part of a node that nothing stored covers or lies below: full. */
export function fullPart(limit: Limit, node: number): Part {
  const part = partOf(limit, node);
  return { node, limit: part, bucket: fullBucket(part) };
}

/** Splits a part down to one of its descendants: that one first, then the siblings left on the way. */
export function splitTo(limit: Limit, from: Part, node: number, now: number): Part[] {
  const siblings: Part[] = [];
  let part = { ...from, bucket: project(from.limit, from.bucket, now) };
  while (part.node !== node) {
    const next = node >> (levelOf(node) - levelOf(part.node) - 1);
    const [left, right] = halves(limit, part);
    siblings.push(next === left.node ? right : left);
    part = next === left.node ? left : right;
  }
  return [part, ...siblings];
}

/**
 * The two halves of a part: half of its whole tokens each, the fraction to the right; neither more than it can hold. Rounded
 * towards zero, so that a debt splits into debts and no half of it has tokens to spend.
 */
function halves(limit: Limit, { node, bucket }: Part): [Part, Part] {
  const left = partOf(limit, 2 * node);
  const right = partOf(limit, 2 * node + 1);
  const half = Math.trunc(bucket.value / limit.unitsPerToken / 2) * limit.unitsPerToken;
  const value = Math.min(left.capacity, Math.max(half, bucket.value - right.capacity));
  return [
    { node: 2 * node, limit: left, bucket: { ...bucket, value } },
    { node: 2 * node + 1, limit: right, bucket: { ...bucket, value: bucket.value - value } },
  ];
}

/** Folds stored parts below a node into it; what they do not cover is full. */
export function foldInto(limit: Limit, node: number, below: readonly Part[], now: number): Part {
  const part = partOf(limit, node);
  const empty: Bucket = { value: part.capacity, ts: now };
  const bucket = below.reduce(({ value, ts }, stored) => {
    const current = project(stored.limit, stored.bucket, now);
    return { value: value - stored.limit.capacity + current.value, ts: Math.max(ts, current.ts) };
  }, empty);
  return { node, limit: part, bucket };
}

/** All of a limit: the stored parts as they are, and full ones, no larger than a shard, where there are none. */
export function cover(limit: Limit, stored: ReadonlyMap<number, Part>): Part[] {
  const withStoredBelow = new Set<number>();
  for (const node of stored.keys()) {
    for (let above = node >> 1; above >= ROOT; above >>= 1) withStoredBelow.add(above);
  }
  const coverNode = (node: number): Part[] => {
    const part = stored.get(node);
    if (part && withStoredBelow.has(node)) throw overlap(limit, node);
    if (part) return [part];
    if (!withStoredBelow.has(node) && node >= limit.shards) return [fullPart(limit, node)];
    return [...coverNode(2 * node), ...coverNode(2 * node + 1)];
  };
  return coverNode(ROOT);
}

/** Stored parts that cover the same tokens twice: this package writes none, so the gate stays shut. */
export function overlap(limit: Limit, node: number): Error {
  return misuse(limit.name, `the stored shards overlap at ${node}, so nothing is let through. ${REMEDY}`);
}
