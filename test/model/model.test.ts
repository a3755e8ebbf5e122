/**
 * Random operations against the naive twin (twin.ts), which must give the same answers to the last digit. To repeat a failure:
 * MODEL_SEED=<the seed it printed> npx vitest run test/model
 */
import { defineRateLimits } from "convex-rate-limits";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defineIn, placeNames, openBackend } from "../support/places.js";
import { FakeDb } from "../support/fakeDb.js";
import { play, scenario, type Stage } from "./play.js";

const seed = process.env["MODEL_SEED"] === undefined ? {} : { seed: Number(process.env["MODEL_SEED"]) };

// Four hundred operations a run, on a machine that does other things as well.
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Home A's code on a database in memory, for quantity. */
function fastStage(): Stage {
  const db = new FakeDb();
  return {
    limits: defineRateLimits({}),
    transaction: (body) => db.transaction((ctx) => body(ctx as never)),
  };
}

function backendStage(home: (typeof placeNames)[number]): Stage {
  const t = openBackend();
  return { limits: defineIn(home, {}), transaction: (body) => t.mutation((ctx) => body(ctx as never)) };
}

describe("the model: random operations and their naive twin", () => {
  it("agree over 100,000 operations, clocks that jump and configs that change", async () => {
    let played = 0;
    await fc.assert(
      fc.asyncProperty(scenario(400), async ({ plans, operations }) => {
        await play(fastStage(), plans, operations);
        played += operations.length;
      }),
      { numRuns: 750, ...seed },
    );
    expect(played).toBeGreaterThanOrEqual(100_000);
  });

  it.each(placeNames)("agree in the %s home on a whole backend", async (home) => {
    let played = 0;
    await fc.assert(
      fc.asyncProperty(scenario(60), async ({ plans, operations }) => {
        await play(backendStage(home), plans, operations);
        played += operations.length;
      }),
      { numRuns: 100, ...seed },
    );
    expect(played).toBeGreaterThanOrEqual(2000);
  });
});
