/**
 * The number of operations that the fuzzer plays in all worlds: FUZZ_OPERATIONS (default: 40,000 times EFFORT, so 3,200).
 * test/model/faults plays 30,000 to find its faults. SEED chooses other operations, and repeats a run whose seed a failure printed:
 * SEED=<seed> npx vitest run test/model/oneRow. A failure is cut down for FUZZ_SHRINK_MS (default 5,000) at most.
 */
import fc from "fast-check";
import { expect, vi } from "vitest";
import { useClock } from "../support/clock.js";
import type { PlaceName } from "../support/places.js";
import { runs, seed } from "../support/random.js";
import { T0 } from "../laws/arbitraries.js";
import { play } from "./fuzz.js";
import type { Scenario } from "./scenario.js";
import type { Stage } from "../support/stage.js";

export const OPERATIONS = Number(process.env["FUZZ_OPERATIONS"] ?? runs(40_000));
const SHRINK_MS = Number(process.env["FUZZ_SHRINK_MS"] ?? 5000);
const RUNS = 20;

/** The share of each place in the operations of a world. */
export const placeShares: Record<PlaceName, number> = { tables: 0.7, component: 0.3 };

export function useFuzzedClock(): void {
  vi.setConfig({ testTimeout: 60_000 + 10 * OPERATIONS });
  useClock(T0, "Date");
}

/** Plays scenarios, each on a fresh stage, until a share of all operations has been played. */
export async function fuzz(scenario: fc.Arbitrary<Scenario>, open: () => Stage, share: number): Promise<void> {
  let played = 0;
  for (let batch = 0; played < OPERATIONS * share; batch++) {
    let failedAt: number | undefined;
    const property = fc.asyncProperty(scenario, async (each) => {
      // After a failure, the search for a smaller one has SHRINK_MS.
      if (failedAt !== undefined && performance.now() - failedAt > SHRINK_MS) return;
      if (played >= OPERATIONS * share && failedAt === undefined) return;
      try {
        played += await play(open(), each);
      } catch (error) {
        failedAt ??= performance.now();
        throw error;
      }
    });
    await fc.assert(property, { numRuns: RUNS, seed: seed + batch });
  }
  expect(played).toBeGreaterThanOrEqual(OPERATIONS * share);
}
