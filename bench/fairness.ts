/**
 * Is a large request starved by small ones? In virtual time, with the decisions of the engine: one request as large as the
 * bucket, among a stream of small ones that nearly use the limit up. It either retries when it is denied, a random while after
 * `retryAt`, as the small ones do, or it reserves.
 */
import { decide } from "../src/engine/decide.js";
import { parseDemand } from "../src/engine/request.js";
import { fullState } from "../src/engine/kinds/kind.js";
import { parseLimit } from "../src/engine/limit.js";

export const FAIRNESS = {
  /** Tokens a second, the burst, and so the largest request that can be served at once. */
  rate: 10,
  capacity: 20,
  /** Small requests of one token, in Poisson arrivals: 95 % of the rate. */
  smallPerSecond: 9.5,
  /** A denied request comes again up to this much after `retryAt`. */
  jitterMs: 1000,
  /** The large request comes when the stream has settled, and is given up on after ten minutes. */
  arrivesAtMs: 60_000,
  patienceMs: 600_000,
  runs: 20,
};

export interface Waits {
  /** Milliseconds from the first asking to the start of the work, the shortest first; who gave up counts as the patience. */
  readonly large: readonly number[];
  readonly median: number;
  readonly worst: number;
}

/** The waits over all runs: each has a seed of its own, and the same one for either way. */
export function fairness(way: "retrying" | "reserving"): Waits {
  const large = Array.from({ length: FAIRNESS.runs }, (_, run) => waitOf(way, run + 1)).sort((a, b) => a - b);
  return { large, median: large[Math.floor(large.length / 2)] ?? NaN, worst: large.at(-1) ?? NaN };
}

interface Ask {
  readonly at: number;
  readonly since: number;
  readonly count: number;
}

/** The wait of the large request in one run. */
function waitOf(way: "retrying" | "reserving", seed: number): number {
  const { rate, capacity, smallPerSecond, jitterMs, arrivesAtMs, patienceMs } = FAIRNESS;
  const limit = parseLimit("shared", { kind: "token bucket", rate, period: 1000, capacity });
  const random = seeded(seed);
  let state = fullState(limit);
  const asks: Ask[] = [{ at: arrivesAtMs, since: arrivesAtMs, count: capacity }];
  const arrive = (after: number) => {
    const at = after - (Math.log(1 - random()) * 1000) / smallPerSecond;
    asks.push({ at, since: at, count: 1 });
  };
  arrive(0);
  for (;;) {
    asks.sort((a, b) => b.at - a.at);
    const ask = asks.pop();
    if (!ask || ask.at > arrivesAtMs + patienceMs) return patienceMs;
    const isLarge = ask.count === capacity;
    if (!isLarge && ask.at === ask.since) arrive(ask.at);
    const now = Math.ceil(ask.at);
    const demand = parseDemand(limit, { count: ask.count, reserve: isLarge && way === "reserving" });
    const { status, taken } = decide(limit, state, now, demand);
    state = taken ?? state;
    if (!status.ok) asks.push({ ...ask, at: status.retryAt + random() * jitterMs });
    else if (isLarge) return (status.retryAt ?? now) - ask.since;
  }
}

/** A seeded generator (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
