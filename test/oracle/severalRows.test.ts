/** Random buckets on 2, 4 and 16 rows against the laws. EFFORT chooses how many and SEED which (test/support/random.ts). */
import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { runs, seed } from "../support/random.js";
import { orSay } from "./orSay.js";
import { rowsModes, RowsWorld } from "./rows.js";
import { T0 } from "./terms.js";

const world = { now: T0, random: Math.random };
const ROWS = [2, 4, 16];
const STEPS = 80;

beforeEach(() => {
  vi.spyOn(Date, "now").mockImplementation(() => world.now);
  vi.spyOn(Math, "random").mockImplementation(() => world.random());
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a bucket on several rows keeps the laws", () => {
  it.each(Object.entries(rowsModes))("%s", async (_, mode) => {
    for (let run = 0; run < runs(25); run++) {
      for (const rows of ROWS) {
        world.now = T0;
        const player = new RowsWorld(seed * 100_000 + run, mode, rows, world);
        await orSay(`World ${run} of seed ${seed} on ${rows} rows`, player.play(STEPS));
      }
    }
  });
});
