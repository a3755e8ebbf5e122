/**
 * Random worlds on one row against the exact twin. EFFORT chooses how many and SEED which (test/support/random.ts). The seed and the
 * number of a world are in the message, so one world plays again alone.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runs, seed } from "../support/random.js";
import { modes } from "./modes.js";
import { orSay } from "./orSay.js";
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
    for (let run = 0; run < runs(37); run++) {
      const player = new Player(seed * 100_000 + run, mode, clock);
      await orSay(`World ${run} of seed ${seed}`, player.play(STEPS));
      total.answers += player.world.tally.answers;
      total.exact += player.world.tally.exact;
    }
    // Where a bucket is known exactly, nothing but the exact answer passes.
    expect(total.exact / total.answers).toBeGreaterThan(least);
  });
});
