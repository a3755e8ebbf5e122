/** What a bucket holds at a moment, with fractions: to draw it. What is decided, the library decides. */
import type { RateLimitConfig, RateLimitSnapshot } from "convex-rate-limits";

interface State {
  value: number;
  ts: number;
}

export function levelAt(config: RateLimitConfig, { value, ts }: State, now: number): number {
  return Math.min(config.capacity ?? config.rate, value + arrived(config, ts, Math.max(ts, now)));
}

function arrived(config: RateLimitConfig, from: number, to: number): number {
  const { rate } = config;
  const period = Number(config.period);
  if (config.kind !== "fixed window") return ((to - from) * rate) / period;
  const { start = 0 } = config;
  return (Math.floor((to - start) / period) - Math.floor((from - start) / period)) * rate;
}

/** A part of a sharded limit: a row, or what no row covers yet. */
export interface Slice {
  /** Where it lies in the whole, from 0 to 1. */
  from: number;
  to: number;
  tokens: number;
  capacity: number;
  hasRow: boolean;
}

/** The parts of a limit side by side. Rows are numbered like a binary heap: n has the halves 2n and 2n + 1. */
export function slicesAt({ config, shards = [], value, ts }: RateLimitSnapshot, now: number): Slice[] {
  const rows = new Map(
    (shards.length > 0 ? shards : ts > 0 ? [{ shard: 1, value, ts }] : []).map((row) => [row.shard, row]),
  );
  const deepest = Math.max(0, ...[...rows.keys()].map((shard) => Math.floor(Math.log2(shard))));
  const slices: Slice[] = [];
  const walk = (node: number, depth: number) => {
    const share = 2 ** -depth;
    const from = (node - 2 ** depth) * share;
    const capacity = (config.capacity ?? config.rate) * share;
    const part = { ...config, rate: config.rate * share, capacity } as RateLimitConfig;
    const row = rows.get(node);
    if (row || depth >= deepest || !hasRowBelow(rows, node)) {
      const tokens = row ? levelAt(part, row, now) : capacity;
      slices.push({ from, to: from + share, tokens, capacity, hasRow: row !== undefined });
      return;
    }
    walk(2 * node, depth + 1);
    walk(2 * node + 1, depth + 1);
  };
  walk(1, 0);
  return slices;
}

function hasRowBelow(rows: ReadonlyMap<number, unknown>, node: number): boolean {
  return [...rows.keys()].some((row) => {
    let ancestor = row;
    while (ancestor > node) ancestor = Math.floor(ancestor / 2);
    return ancestor === node;
  });
}
