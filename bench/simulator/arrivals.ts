/** Open-loop callers: when they call does not depend on the answers. */
import { createRandom, exponential, type Random, wholeNumber } from "./random.js";

export interface Arrival {
  readonly atMs: number;
  readonly count: number;
  readonly key: string | undefined;
}

export interface ArrivalOptions {
  readonly pattern: "poisson" | "bursty";
  /** Tokens asked for per second, on average. */
  readonly demand: number;
  /** What was asked for per second before, and for how long. */
  readonly startingWith?: { readonly demand: number; readonly seconds: number };
  readonly seconds: number;
  /** Counts are drawn evenly from these, ends included. */
  readonly counts: { readonly from: number; readonly to: number };
  /** How many keys the calls go to, evenly or by Zipf's law (the n-th key 1/n as often as the first); default: no key. */
  readonly keys?: { readonly count: number; readonly zipf: boolean };
  readonly seed: string;
}

/** Bursts: for a quarter of each second four times the demand, then nothing until the next. */
const BURST = { everyMs: 1000, onMs: 250 };

/** The arrivals of one run; they depend on the seed, not on who answers them. */
export function arrivals({ pattern, demand, startingWith, seconds, counts, keys, seed }: ArrivalOptions): Arrival[] {
  const times = createRandom(`${seed}/arrivals`);
  const sizes = createRandom(`${seed}/counts`);
  const chooseKey = keys ? keyChooser(keys, createRandom(`${seed}/keys`)) : () => undefined;
  const meanCount = (counts.from + counts.to) / 2;
  const share = pattern === "bursty" ? BURST.onMs / BURST.everyMs : 1;
  const all: Arrival[] = [];
  const addPhase = (fromMs: number, toMs: number, perSecond: number) => {
    const meanGapMs = (1000 * meanCount * share) / perSecond;
    // Time runs only while calls come; it is stretched over the pauses afterwards.
    for (let busyMs = exponential(times, meanGapMs); ; busyMs += exponential(times, meanGapMs)) {
      const bursts = Math.floor(busyMs / BURST.onMs);
      const sinceMs = pattern === "bursty" ? bursts * BURST.everyMs + (busyMs - bursts * BURST.onMs) : busyMs;
      if (fromMs + sinceMs >= toMs) return;
      all.push({ atMs: fromMs + sinceMs, count: wholeNumber(sizes, counts.from, counts.to), key: chooseKey() });
    }
  };
  const stepMs = (startingWith?.seconds ?? 0) * 1000;
  if (startingWith) addPhase(0, stepMs, startingWith.demand);
  addPhase(stepMs, seconds * 1000, demand);
  return all;
}

/** Draws keys with the probabilities that `zipf` asks for. */
function keyChooser({ count, zipf }: { count: number; zipf: boolean }, random: Random): () => string {
  const upTo: number[] = [];
  let total = 0;
  for (let n = 1; n <= count; n++) upTo.push((total += zipf ? 1 / n : 1));
  return () => {
    const drawn = random() * total;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((upTo[middle] ?? 0) > drawn) high = middle;
      else low = middle + 1;
    }
    return `key ${low}`;
  };
}

export interface HerdOptions {
  readonly herds: number;
  /** Calls of each herd; all go to one key, which is that herd's own. */
  readonly calls: number;
  readonly withinMs: number;
  /** From the start of one herd to the next one's. */
  readonly everyMs: number;
  readonly seed: string;
}

/** Herds, one after another: calls that come evenly distributed within a short time. */
export function herds({ herds, calls, withinMs, everyMs, seed }: HerdOptions): Arrival[] {
  const times = createRandom(`${seed}/herds`);
  const all: Arrival[] = [];
  for (let herd = 0; herd < herds; herd++) {
    for (let i = 0; i < calls; i++) {
      all.push({ atMs: herd * everyMs + times() * withinMs, count: 1, key: `herd ${herd}` });
    }
  }
  return all.sort((a, b) => a.atMs - b.atMs);
}
