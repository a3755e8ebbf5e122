/**
 * Random worlds on one row against the exact twin. EFFORT chooses how many and SEED which (test/support/random.ts). The seed and the
 * number of a world are in the message, so one world plays again alone.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runs, seed } from "../support/random.js";
import { modes } from "./modes.js";
import { Player } from "./player.js";
import { T0 } from "./terms.js";

const clock = { now: T0 };
const STEPS = 60;

beforeEach(() => {
  vi.spyOn(Date, "now").mockImplementation(() => clock.now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("answers of one row are those of the exact twin", () => {
  it.each(Object.entries(modes))("%s", async (_, { least, ...mode }) => {
    const total = { answers: 0, exact: 0 };
    for (let run = 0; run < runs(50); run++) {
      const { world, ...player } = await played(seed * 100_000 + run, mode);
      expect(player.problem, `world ${run} of seed ${seed}`).toBeUndefined();
      total.answers += world.tally.answers;
      total.exact += world.tally.exact;
    }
    // Where a bucket is known exactly, nothing but the exact answer passes.
    expect(total.exact / total.answers).toBeGreaterThan(least);
  });
});

async function played(number: number, mode: ConstructorParameters<typeof Player>[1]) {
  const player = new Player(number, mode, clock);
  try {
    await player.play(STEPS);
    return { world: player.world };
  } catch (error) {
    return { world: player.world, problem: (error as Error).message };
  }
}
