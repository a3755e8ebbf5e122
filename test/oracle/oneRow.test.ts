/** Random worlds on one row against the exact twin. SEED and EFFORT choose which and how many (test/support/random.ts). */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runs, seed } from "../support/random.js";
import { T0 } from "./draw.js";
import { type Mode, World } from "./oneRow.js";

const clock = { now: T0 };
beforeEach(() => {
  vi.spyOn(Date, "now").mockImplementation(() => clock.now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const modes: Readonly<Record<string, Mode>> = {
  "plain calls": { plans: "one" },
  "reservations, jobs and cancels": { plans: "one", reserve: true },
  "refunds by date": { plans: "one", refund: true, apart: true },
  "refunds of jobs": { plans: "one", refund: true, reserve: true, apart: true },
  "refunds of one ms": { plans: "one", refund: true, reserve: true },
  "charges and gifts": { plans: "one", refund: true, reserve: true, apart: true, charge: true },
  "pauses and resets": { plans: "one", reserve: true, charge: true, pause: true, reset: true },
  "clocks that step back": { plans: "one", reserve: true, charge: true, clock: true },
  "deploys": { plans: "one", deploy: true, reserve: true, charge: true },
  "deploys that move windows": { plans: "one", kind: "fixed window", deploy: true, moveWindows: true, charge: true, reserve: true },
  "overrides": { plans: "one", override: true, reserve: true },
  "plans of one kind": { plans: "alike", reserve: true, charge: true, refund: true, apart: true },
  "dishonest refunds": { plans: "one", reserve: true, refund: true, dishonest: true },
  "plans of several kinds": { plans: "several", reserve: true },
  "all of it": { plans: "several", reserve: true, refund: true, dishonest: true, charge: true, pause: true, reset: true, override: true, deploy: true, clock: true },
};

describe.each(Object.entries(modes))("%s", (name, mode) => {
  it("get the answers of the exact twin", async () => {
    const total = { moves: 0, answers: 0, exact: 0 };
    for (let run = 0; run < runs(500); run++) {
      clock.now = T0;
      const world = new World(seed * 1_000_000 + run, mode, clock);
      try {
        await world.play(80);
      } catch (error) {
        throw new Error(`${name}, run ${run}: ${(error as Error).message}`, { cause: error });
      }
      for (const count of ["moves", "answers", "exact"] as const) total[count] += world.tally[count];
    }
    console.log(name, total);
  });
});
