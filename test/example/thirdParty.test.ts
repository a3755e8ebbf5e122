import { SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { tally } from "../../example/demo/laws.js";
import { openBackend, runJobs, START, useClock } from "./backend.js";

useClock();

it("addresses beyond ten wait for the provider's next windows, and the last call runs when the last window opens", async () => {
  const t = openBackend();
  vi.setSystemTime(START + 700);
  for (let i = 0; i < 25; i++) await t.mutation(api.thirdParty.add, { address: `${i} Mill Lane` });
  await runJobs(t);
  const places = await t.query(api.thirdParty.places, {});
  const windows = tally(places.map(({ found }) => found && (found.quotaResetAt - START) / SECOND));
  expect(Object.fromEntries(windows)).toEqual({ 1: 10, 2: 10, 3: 5 });
  expect(Date.now()).toBe(START + 2 * SECOND);
});
