/** Law 15: what an app does on a hot key beside its plain calls succeeds, and leaves the plain calls as they are. */
import { describe, expect, it } from "vitest";
import { firstOf } from "../../../test/support/random.js";
import type { Size } from "../../../bench/contention/case.js";
import { type CaseName, CASES } from "../../../bench/contention/scenarios.js";
import type { Metrics } from "../metrics.js";
import { ours } from "../ours.js";
import { simulate } from "../simulation.js";

const SEEDS = firstOf(1, ["1", "2", "3", "4", "5"]);
/** Rows have split after less than half a second of 300 calls a second. */
const SIZE = { seconds: 0.6, warmUp: 0.4 };
/** The most attempts per plain call, over all seeds. */
const PLAIN = 1.1;
/** A mutation is in flight for about 25 ms, so a write of the row that every call reads makes this number of 300 calls a second run again. */
const IN_FLIGHT = 8;

interface Expected {
  readonly name: CaseName;
  /** Default: `PLAIN`. */
  readonly attempts?: number;
  /** The writes per run of the row that every call reads; default 0. */
  readonly controls?: number;
  /** The most plain calls that fail, with five seeds as with one; default 0. */
  readonly failed?: number;
  /** Default: `SIZE`. Longer where saved-up tokens must be gone, or windows be of a second. */
  readonly size?: Partial<Size>;
  /** The calls are the operation, so there is none beside them. */
  readonly alone?: true;
}

const expected: readonly Expected[] = [
  { name: "pause-300", controls: 1 },
  { name: "pause-ten-300", controls: 10 },
  { name: "charge-300" },
  // A settlement for each call is a second write to each row: twice the writes, so twice the conflicts.
  { name: "settle-300", attempts: 1.15 },
  // Rows are as many as the limit's capacity, a quarter of the other cases', allows. So each takes more calls.
  { name: "unlimited-300", attempts: 1.25, controls: 1 },
  { name: "block-300", controls: 2 },
  { name: "reset-300", controls: 1 },
  // 30 % more writes to each row.
  { name: "refunds-300", attempts: 1.13 },
  { name: "gifts-300", attempts: 1.13 },
  // The calls ask for half more than the limit lets through: most find a row short and read a second one, and one of 930 failed.
  { name: "reserve-60", attempts: 1.4, failed: 1, size: { warmUp: 1 } },
  // The check and the call read a random row each, or two, and conflict with the writes of all.
  { name: "check-300", attempts: 1.25, alone: true },
  { name: "plans-300", alone: true },
  { name: "deploy-300", alone: true },
  { name: "user-and-global-300", alone: true },
  // Each reservation waits, so none is denied: every call writes, beside rows that still split.
  { name: "reservations-60", attempts: 1.35, alone: true },
  { name: "obey-bucket-100", attempts: 1.25, alone: true },
  // All who wait for a window call at its first millisecond: some hundred calls at once.
  { name: "obey-fixed-100", attempts: 2.5, failed: 1, size: { seconds: 2 }, alone: true },
  { name: "obey-sliding-100", attempts: 1.8, failed: 4, size: { seconds: 2 }, alone: true },
];

/** The runs of a case, one for each seed. */
async function play({ name, size }: Expected): Promise<Metrics[]> {
  const { scenario } = CASES[name]({ ...SIZE, ...size });
  const runs: Metrics[] = [];
  for (const seed of SEEDS) runs.push(await simulate(ours("auto"), scenario, { seed, platform: "S256" }));
  return runs;
}

describe("beside 300 plain calls a second on one auto key", () => {
  it.each(expected)("$name succeeds within five attempts", async (one) => {
    const { attempts = PLAIN, controls = 0, failed = 0, alone = false } = one;
    const runs = await play(one);
    const total = (of: (metrics: Metrics) => number) => runs.reduce((sum, metrics) => sum + of(metrics), 0);
    const calls = total((m) => m.calls);
    for (const { firstError, overGrant, operations } of runs) {
      expect(firstError ?? operations.firstError).toBeUndefined();
      expect(overGrant).toBe(0);
      expect(operations.calls > 0).toBe(!alone);
    }
    expect(runs.map(({ operations }) => operations.failed)).toEqual(SEEDS.map(() => 0));
    expect(Math.round(total((m) => m.failed * m.calls))).toBeLessThanOrEqual(failed);
    const again = (IN_FLIGHT * controls * SEEDS.length) / calls;
    expect(total((m) => m.attemptsPerCall * m.calls) / calls).toBeLessThanOrEqual(attempts + again);
  });
});
