import { DAY } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import crons from "../../example/convex/crons.js";
import { openTown, runJobs, scheduleOf, START, useClock } from "./backend.js";

useClock();

it("the admin's list contains the callers that must wait now", async () => {
  const { t, ada, bob } = await openTown();
  for (let i = 0; i < 5; i++) await t.mutation(api.messages.send, { author: ada, to: bob, body: "Hello!" });
  await t.mutation(api.messages.send, { author: bob, to: ada, body: "Hello." });
  const limited = () => t.query(internal.upkeep.limited, { name: "sendMessage" });
  expect(await limited()).toMatchObject({ page: [{ key: ada, value: 0, retryAt: START + 1000 }], cursor: null });
  vi.setSystemTime(START + 1000);
  expect(await limited()).toEqual({ page: [], cursor: null });
});

it("the daily sweeps leave no row of a full bucket, in either place", async () => {
  const { t, ada, bob } = await openTown();
  await t.mutation(api.messages.send, { author: ada, to: bob, body: "Hello!" });
  await t.mutation(api.plans.makeReport, { user: ada, title: "Greetings" });
  await t.mutation(api.feedback.send, { user: ada, text: "Nice." });
  const sweep = async () => {
    await t.mutation(internal.upkeep.sweep, {});
    await t.mutation(internal.feedback.sweep, {});
    await runJobs(t);
  };
  const appRows = () => t.run(async (ctx) => (await ctx.db.query("rateLimits").collect()).length);
  await sweep();
  expect(await appRows()).toBe(1);
  expect(await t.query(api.messages.quota, { author: ada })).toMatchObject({ value: 4 });
  vi.setSystemTime(START + 2 * DAY);
  await sweep();
  expect(await appRows()).toBe(0);
  // A bucket without a row has the state of one that was never used: its time is in 1970.
  expect(await t.query(api.messages.quota, { author: ada })).toMatchObject({ value: 5, ts: 0 });
  expect(await t.query(api.plans.quota, { user: ada })).toMatchObject({ value: 3, ts: 0 });
});

it("the sweeps run once a day", () => {
  expect(scheduleOf(crons)).toEqual([
    ["upkeep:sweep", "daily"],
    ["feedback:sweep", "daily"],
  ]);
});
