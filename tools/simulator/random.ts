/** Seeded randomness. Every purpose draws from its own stream, so that one more draw for one purpose changes no other. */

/** The next number of a stream, uniform in [0, 1). */
export type Random = () => number;

/** The stream with this name: the same name gives the same numbers. (xmur3 to seed, sfc32 to draw; both public domain.) */
export function createRandom(name: string): Random {
  let hash = 1779033703 ^ name.length;
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 3432918353);
    hash = (hash << 13) | (hash >>> 19);
  }
  const word = () => {
    hash = Math.imul(hash ^ (hash >>> 16), 2246822507);
    hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
    return (hash ^= hash >>> 16) >>> 0;
  };
  let [a, b, c, d] = [word(), word(), word(), word()];
  const random = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 2 ** 32;
  };
  // The first numbers of sfc32 are similar for similar seeds, so they are skipped.
  for (let i = 0; i < 12; i++) random();
  return random;
}

/** The time to the next event of a Poisson process. */
export function exponential(random: Random, mean: number): number {
  return -Math.log(1 - random()) * mean;
}

/** The 99th percentile of the standard normal distribution. */
const Z99 = 2.3263478740408408;

/** Draws a lognormal variable, given by its median and its 99th percentile. */
export function lognormal(random: Random, { median, p99 }: { median: number; p99: number }): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return median * Math.exp((Math.log(p99 / median) / Z99) * normal);
}

export function uniform(random: Random, from: number, to: number): number {
  return from + (to - from) * random();
}

/** Draws a whole number, both ends included. */
export function wholeNumber(random: Random, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}
