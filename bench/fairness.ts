/**
 * Tests whether small requests starve a large one, in virtual time, with the decisions of the engine. One request as large as the
 * bucket competes with a stream of small ones that nearly use up the limit. The large request either reserves, or it retries after
 * a denial as the small ones do: a random time after `retryAt`.
 */
import { decide } from "../src/engine/decide.js";
import { demandOf } from "../src/engine/request.js";
import { fullState } from "../src/engine/kinds/kind.js";
import { parseLimit } from "../src/engine/kinds/limit.js";

export const FAIRNESS = {
  /** Tokens per second. */
  rate: 10,
  /** The burst, and so the largest request that can be served at once. */
  capacity: 20,
  /** Small requests per second, of one token each: Poisson arrivals at 95 % of the rate. */
  smallPerSecond: 9.5,
  /** A denied request is repeated up to this many ms after `retryAt`. */
  jitterMs: 1000,
  /** The large request arrives when the stream has settled. */
  arrivesAtMs: 60_000,
  /** The large request is given up on after ten minutes. */
  patienceMs: 600_000,
  runs: 20,
};

export interface Waits {
  /**
   * The times in ms from the large request's first attempt to the start of its work, the shortest first. A request that is given up
   * on counts as `patienceMs`.
   */
  readonly large: readonly number[];
  readonly median: number;
  readonly worst: number;
}

/** The waits in all runs. Each run has its own seed, which is the same for both ways. */
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
    const demand = demandOf(limit, { count: ask.count, reserve: isLarge && way === "reserving" });
    const { status, taken } = decide(limit, state, { now, pausedUntil: 0 }, demand);
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
