/** Who is faster, by how much: turns in the same process, so that the machine's moods fall on all alike. */

export interface Racer {
  readonly name: string;
  /** Does the work so many times, and returns something of it, so that it cannot be optimised away. */
  run(count: number): number | Promise<number>;
}

export interface Standing {
  readonly name: string;
  /** Median over the rounds. */
  readonly perSecond: number;
  /** Median over the rounds of the speed as a multiple of the first racer's in the same round. */
  readonly ofFirst: number;
}

export async function race(
  racers: readonly Racer[],
  { perRound, rounds }: { perRound: number; rounds: number },
): Promise<Standing[]> {
  const speeds: number[][] = racers.map(() => []);
  // The first round warms the compiler up and does not count.
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
