/**
 * Random calls of the public API, 1 to 5 at once, against exact buckets. FUZZ_OPERATIONS says how many (default 100,000);
 * FUZZ_SEED repeats a run whose seed a failure printed: FUZZ_SEED=<seed> npx vitest run test/model/fuzz
 */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type PlaceName, placeNames } from "../support/places.js";
import { play, T0 } from "./fuzz.js";
import { oneRow, refillingKinds, type Scenario, severalRows } from "./scenario.js";
import { lightStage, type Stage, wholeStage } from "./stage.js";

const OPERATIONS = Number(process.env["FUZZ_OPERATIONS"] ?? 100_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 20;

vi.setConfig({ testTimeout: 60_000 + OPERATIONS });

beforeEach(() => {
  vi.useFakeTimers({ now: T0 });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function fuzz(scenario: fc.Arbitrary<Scenario>, open: () => Stage, operations: number): Promise<void> {
  let played = 0;
  for (let batch = 0; played < operations; batch++) {
    const property = fc.asyncProperty(scenario, async (each) => {
      played += await play(open(), each);
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED + batch, endOnFailure: false });
  }
  expect(played).toBeGreaterThanOrEqual(operations);
}

const worlds: readonly { title: string; scenario: fc.Arbitrary<Scenario>; share: number }[] = [
  { title: "buckets and windows that become each other, on one row", scenario: oneRow(refillingKinds), share: 0.2 },
  { title: "sliding windows on one row", scenario: oneRow(["sliding window"]), share: 0.2 },
  { title: "token buckets on several rows", scenario: severalRows("token bucket"), share: 0.25 },
  { title: "fixed windows on several rows", scenario: severalRows("fixed window"), share: 0.15 },
  { title: "sliding windows on several rows", scenario: severalRows("sliding window"), share: 0.2 },
];
const shares: Record<PlaceName, number> = { tables: 0.7, component: 0.27 };
/** Of the operations, for each world in each place; the whole backend is slow. */
const WHOLE_SHARE = 0.003;

describe.each(worlds)("$title", ({ scenario, share }) => {
  it.each(placeNames)("in the %s: calls at once equal some serial order of exact buckets", async (place) => {
    await fuzz(scenario, () => lightStage(place), OPERATIONS * share * shares[place]);
  });

  it.each(placeNames)("in the %s of a whole backend", async (place) => {
    await fuzz(scenario, () => wholeStage(place), OPERATIONS * WHOLE_SHARE);
  });
});
