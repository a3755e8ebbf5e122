/**
 * All random values in the tests come from one seed, so a failing run fails again. SEED=<number> chooses another; a scheduled workflow
 * does so every night. This file is loaded before each test file (vitest.config.ts).
 */
import fc from "fast-check";

/**
 * The share of its runs that a slow property plays: 0.08 in `npm test`. EFFORT=1 plays the number in the test. A scheduled workflow plays
 * more every night.
 */
export const effort = Number(process.env["EFFORT"] ?? 0.08);
if (!(effort > 0)) throw new Error(`EFFORT must be a number above 0, not ${process.env["EFFORT"]}`);
export const runs = (most: number): number => Math.ceil(most * effort);
/** The first of some slow cases, of which EFFORT=1 plays all. Most of what the worker of a queue does is the same in both places. */
export const firstOf = <Case>(count: number, cases: readonly Case[]): readonly Case[] =>
  cases.slice(0, effort < 1 ? count : cases.length);

/**
 * Two lists crossed. Each of the first meets one of the second, another one in each turn; with EFFORT=1 it meets all of them.
 */
export function crossed<One, Other>(ones: readonly One[], others: readonly Other[], turn = 0): (One & Other)[] {
  const isMet = (i: number) => effort >= 1 || (i + turn) % others.length === 0;
  return ones.flatMap((one, i) => others.filter((_, j) => isMet(i + j)).map((other) => ({ ...one, ...other })));
}

export const seed = Number(process.env["SEED"] ?? 1);
if (!Number.isSafeInteger(seed)) throw new Error(`SEED must be a whole number, not ${process.env["SEED"]}`);

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
Math.random = randomFrom(seed);

/** Numbers in [0, 1), from Mulberry32: it is small, and gives the same numbers everywhere. */
export function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Arbitraries<Values> = { [Index in keyof Values]: fc.Arbitrary<Values[Index]> };

/** Checks what holds for any values of these arbitraries, on random ones: `numRuns` times. */
export function forAny<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  numRuns: number,
  check: (...values: Values) => void,
): void {
  fc.assert(fc.property(...arbitraries, check), { numRuns });
}
export async function forAnyAsync<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  numRuns: number,
  check: (...values: Values) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(...arbitraries, check), { numRuns });
}
