/** Rows ↔ parts of one limit, within one call: which rows were read, and the parts that they stand for now. */
import { ancestorsOf, descendantsAt, levelOf } from "../engine/sharding/heap.js";
import { cover, foldInto, fullPart, overlap, splitTo } from "../engine/sharding/reshard.js";
import { MAX_SHARDS } from "../engine/sharding/shardCount.js";
import { partFromStored, toStored } from "../engine/stored.js";
import type { Part } from "../engine/types.js";
import type { Place } from "../engine/request.js";
import {
  type BucketId,
  deleteRow,
  insertRow,
  patchRow,
  type Reader,
  readRange,
  readRows,
  type Row,
  type Writer,
} from "./rows.js";

function idOf({ limit, key }: Place): BucketId {
  return { name: limit.name, key };
}

/** What a call knows of a bucket. A part without a row is full, or comes from a row that is no part any more. */
export interface Parts {
  readonly place: Place;
  readonly now: number;
  readonly rows: Map<number, Row>;
  readonly parts: Map<number, Part>;
}

export function openParts(place: Place, now: number): Parts {
  return { place, now, rows: new Map(), parts: new Map() };
}

/** The part of one node; whatever is stored above or below it is split or folded, in memory until `saveParts`. */
export async function loadPart(ctx: Reader, known: Parts, node: number): Promise<Part> {
  const part = known.parts.get(node) ?? splitDown(known, node) ?? (await readPart(ctx, known, node));
  known.parts.set(node, part);
  return part;
}

async function readPart(ctx: Reader, known: Parts, node: number): Promise<Part> {
  const { place, now } = known;
  const [own] = (await readRange(ctx, idOf(place), { first: node, last: node })).map((row) => remember(known, row));
  if (own) return own;
  const below = (await readAround(ctx, place, node)).map((row) => remember(known, row));
  if (below.length === 0) return fullPart(place.limit, node);
  const split = splitDown(known, node);
  if (split) return split;
  for (const part of below) known.parts.delete(part.node);
  return foldInto(place.limit, node, below, now);
}

/** The rows above and below a node. Point reads, not one range over all: that would conflict with every other shard. */
async function readAround(ctx: Reader, place: Place, node: number): Promise<Row[]> {
  const ranges = ancestorsOf(node).map((above) => ({ first: above, last: above }));
  for (let level = levelOf(node) + 1; level <= levelOf(MAX_SHARDS); level++) ranges.push(descendantsAt(node, level));
  return (await Promise.all(ranges.map((range) => readRange(ctx, idOf(place), range)))).flat();
}

/** All parts of the limit, as they are stored. */
export async function loadAll(ctx: Reader, known: Parts): Promise<Part[]> {
  const rows = await readRows(ctx, idOf(known.place));
  known.rows.clear();
  known.parts.clear();
  for (const row of rows) remember(known, row);
  const parts = cover(known.place.limit, known.parts);
  for (const part of parts) known.parts.set(part.node, part);
  return parts;
}

/** Splits a known part above the node, if there is one. */
function splitDown({ place, now, parts }: Parts, node: number): Part | undefined {
  const above = ancestorsOf(node).find((ancestor) => parts.has(ancestor));
  const whole = above === undefined ? undefined : parts.get(above);
  if (!whole) return undefined;
  parts.delete(whole.node);
  const [part, ...siblings] = splitTo(place.limit, whole, node, now);
  for (const sibling of siblings) parts.set(sibling.node, sibling);
  return part;
}

function remember({ place: { limit }, rows, parts }: Parts, row: Row): Part {
  const part = partFromStored(limit, row.shard, row);
  if (rows.has(part.node)) throw overlap(limit, part.node);
  rows.set(part.node, row);
  parts.set(part.node, part);
  return part;
}

/** Writes the parts that were taken from, and those that rows were split or folded into; nothing when nothing was taken. */
export async function saveParts(ctx: Writer, { place, rows, parts }: Parts, taken: readonly Part[]): Promise<void> {
  if (taken.length === 0) return;
  const changed = new Set(taken.map((part) => part.node));
  for (const part of taken) parts.set(part.node, part);
  for (const [node, row] of rows) {
    if (!parts.has(node)) await deleteRow(ctx, row);
  }
  for (const { node, limit, bucket } of parts.values()) {
    const row = rows.get(node);
    const stored = toStored(limit, bucket);
    if (row && changed.has(node)) await patchRow(ctx, row, stored);
    else if (!row && bucket.value < limit.capacity) await insertRow(ctx, { ...idOf(place), shard: node }, stored);
  }
}
