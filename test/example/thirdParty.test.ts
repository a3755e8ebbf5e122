import { SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { tally } from "../../example/demo/laws.js";
import { openBackend, runJobs, START, useClock } from "./backend.js";

useClock();

/** Adds the places in the middle of one of the provider's windows and waits for all of them. */
async function locate(addresses: number) {
  const t = openBackend();
  vi.setSystemTime(START + 700);
  for (let number = 1; number <= addresses; number++) {
    await t.mutation(api.thirdParty.add, { address: `${number} Mill Lane` });
  }
  await runJobs(t);
  return await t.query(api.thirdParty.places, {});
}

it("ten addresses are looked up at once", async () => {
  const places = await locate(10);
  expect(places.map(({ found }) => found?.quotaResetAt)).toEqual(Array(10).fill(START + SECOND));
  expect(Date.now()).toBe(START + 700);
});

it("more wait for the provider's next windows, ten in each, and all are found", async () => {
  const places = await locate(25);
  const windows = tally(places.map(({ found }) => found && found.quotaResetAt - START));
  expect(windows).toEqual(
    new Map([
      [1 * SECOND, 10],
      [2 * SECOND, 10],
      [3 * SECOND, 5],
    ]),
  );
});

it("the last call leaves when the last window opens, and not later", async () => {
  await locate(25);
  expect(Date.now()).toBe(START + 2 * SECOND);
});
