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

it.each([
  ["ten addresses are looked up at once", 10, [10], 700],
  [
    "more wait for the provider's next windows, and the last call leaves when the last one opens",
    25,
    [10, 10, 5],
    2000,
  ],
])("%s", async (_, addresses, perWindow, lastAt) => {
  const places = await locate(addresses);
  const windows = tally(places.map(({ found }) => found && found.quotaResetAt - START));
  expect(windows).toEqual(new Map(perWindow.map((count, i) => [(i + 1) * SECOND, count])));
  expect(Date.now()).toBe(START + lastAt);
});
