/** The arrivals of open-loop callers: the times of their calls do not depend on the answers. */
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
  /** An earlier phase with another demand: tokens per second, and its length in seconds. */
  readonly startingWith?: { readonly demand: number; readonly seconds: number };
  readonly seconds: number;
  /** Counts are drawn uniformly from this range, ends included. */
  readonly counts: { readonly from: number; readonly to: number };
  /** The number of keys that are called, evenly or by Zipf's law (the n-th key 1/n as often as the first); default: no key. */
  readonly keys?: { readonly count: number; readonly zipf: boolean };
  readonly seed: string;
}

/** A burst: four times the demand for a quarter of each second, then no calls until the next second. */
const BURST = { everyMs: 1000, onMs: 250 };

/** The arrivals of one run. They depend on the seed and not on the design that answers them. */
export function arrivals({ pattern, demand, startingWith, seconds, counts, keys, seed }: ArrivalOptions): Arrival[] {
  const times = createRandom(`${seed}/arrivals`);
  const sizes = createRandom(`${seed}/counts`);
  const chooseKey = keys ? keyChooser(keys, createRandom(`${seed}/keys`)) : () => undefined;
  const meanCount = (counts.from + counts.to) / 2;
  const share = pattern === "bursty" ? BURST.onMs / BURST.everyMs : 1;
  const all: Arrival[] = [];
  const addPhase = (fromMs: number, toMs: number, perSecond: number) => {
    const meanGapMs = (1000 * meanCount * share) / perSecond;
    // `busyMs` counts only the time within bursts; the pauses between them are added afterwards.
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

/** Returns a function that draws keys: by Zipf's law or evenly. */
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
  /** The calls of each herd. They all have one key, which no other herd uses. */
  readonly calls: number;
  readonly withinMs: number;
  /** The time from the start of one herd to the start of the next, in ms. */
  readonly everyMs: number;
  readonly seed: string;
}

/** The arrivals of herds, one after another. The times of a herd's calls are uniform within a short time. */
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
