/** Measures how much faster one racer is than another. They take turns in one process, so a busy machine slows all alike. */

export interface Racer {
  readonly name: string;
  /** Does the work `count` times. Returns a result of it, so that the compiler cannot remove the work. */
  run(count: number): number | Promise<number>;
}

export interface Standing {
  readonly name: string;
  /** The median over the rounds. */
  readonly perSecond: number;
  /** The median over the rounds of this racer's speed divided by the first racer's in the same round. */
  readonly ofFirst: number;
}

export async function race(
  racers: readonly Racer[],
  { perRound, rounds }: { perRound: number; rounds: number },
): Promise<Standing[]> {
  const speeds: number[][] = racers.map(() => []);
  // The first round warms up the compiler and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const [i, racer] of racers.entries()) {
      const start = performance.now();
      const result = await racer.run(perRound);
      const seconds = (performance.now() - start) / 1000;
      if (!(result >= 0)) throw new Error(`${racer.name} did no work.`);
      if (round > 0) speeds[i]?.push(perRound / seconds);
    }
  }
  return racers.map(({ name }, i) => ({
    name,
    perSecond: median(speeds[i] ?? []),
    ofFirst: median((speeds[i] ?? []).map((speed, round) => speed / (speeds[0]?.[round] ?? NaN))),
  }));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
