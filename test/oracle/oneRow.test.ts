/** Random worlds on one row against the exact twin. SEED and EFFORT choose which and how many (test/support/random.ts). */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runs, seed } from "../support/random.js";
import { T0 } from "./draw.js";
import { modes } from "./modes.js";
import { World } from "./oneRow.js";

const clock = { now: T0 };
beforeEach(() => {
  vi.spyOn(Date, "now").mockImplementation(() => clock.now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(Object.entries(modes))("%s", (name, mode) => {
  it("get the answers of the exact twin", async () => {
    const total = { moves: 0, answers: 0, exact: 0 };
    for (let run = 0; run < runs(500); run++) {
      clock.now = T0;
      const world = new World(seed * 1_000_000 + run, mode, clock);
      try {
        await world.play(80);
      } catch (error) {
        (error as Error).message = `${name}, run ${run}: ${(error as Error).message}`;
        throw error;
      }
      for (const count of ["moves", "answers", "exact"] as const) total[count] += world.tally[count];
    }
    console.log(name, total);
  });
});
