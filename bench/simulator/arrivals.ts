/** Open-loop callers: when they call does not depend on the answers. */
import { createRandom, exponential, wholeNumber } from "./random.js";

export interface Arrival {
  readonly atMs: number;
  readonly count: number;
}

export interface ArrivalOptions {
  readonly pattern: "poisson" | "bursty";
  /** Tokens asked for per second, on average. */
  readonly demand: number;
  readonly seconds: number;
  /** Counts are drawn evenly from these, ends included. */
  readonly counts: { readonly from: number; readonly to: number };
  readonly seed: string;
}

/** Bursts: for a quarter of each second four times the demand, then nothing until the next. */
const BURST = { everyMs: 1000, onMs: 250 };

/** The arrivals of one run; they depend on the seed, not on who answers them. */
export function arrivals({ pattern, demand, seconds, counts, seed }: ArrivalOptions): Arrival[] {
  const times = createRandom(`${seed}/arrivals`);
  const sizes = createRandom(`${seed}/counts`);
  const meanCount = (counts.from + counts.to) / 2;
  const meanGapMs = (1000 * meanCount) / demand;
  const share = pattern === "bursty" ? BURST.onMs / BURST.everyMs : 1;
  const all: Arrival[] = [];
  // Time runs only while calls come; it is stretched over the pauses afterwards.
  for (let busyMs = exponential(times, meanGapMs * share); ; busyMs += exponential(times, meanGapMs * share)) {
    const bursts = Math.floor(busyMs / BURST.onMs);
    const atMs = pattern === "bursty" ? bursts * BURST.everyMs + (busyMs - bursts * BURST.onMs) : busyMs;
    if (atMs >= seconds * 1000) return all;
    all.push({ atMs, count: wholeNumber(sizes, counts.from, counts.to) });
  }
}
