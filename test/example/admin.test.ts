import { DAY, MINUTE } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import crons from "../../example/convex/crons.js";
import { openTown, runJobs, scheduleOf, START, useClock } from "./backend.js";

useClock();

async function openChat() {
  const { t, ada, bob } = await openTown();
  const send = async (times = 1) => {
    for (let i = 0; i < times; i++) await t.mutation(api.messages.send, { author: ada, to: bob, body: "Hello!" });
  };
  return { t, ada, send, sendMessage: { name: "sendMessage", key: ada } as const };
}

it("the page shows the limits that can be overridden, with their configs", async () => {
  const { t } = await openChat();
  expect(await t.query(api.admin.limits, {})).toMatchObject([
    { name: "sendMessage", config: { kind: "token bucket", rate: 60, capacity: 5 } },
    { name: "failedSignIn", config: { kind: "sliding window" } },
  ]);
});

it("an admin blocks a user until a given time, sees the block, and removes it", async () => {
  const { t, ada, send, sendMessage } = await openChat();
  await send();
  const until = START + MINUTE;
  await t.mutation(api.admin.block, { ...sendMessage, until, note: "spam" });
  await expect(send()).rejects.toMatchObject({ data: { retryAt: until, reason: "blocked" } });
  const lists = async () =>
    [
      await t.query(api.admin.keys, { name: "sendMessage", onlyOverridden: true }),
      await t.query(api.admin.keys, { name: "sendMessage", onlyLimited: true }),
    ].map(({ page }) => page);
  const entry = { key: ada, ok: false, retryAt: until, override: { block: true, until, note: "spam" } };
  expect(await lists()).toMatchObject([[entry], [entry]]);
  await t.mutation(api.admin.unblock, sendMessage);
  expect(await lists()).toEqual([[], []]);
  await send();
});

it("an admin raises one customer's limit, or lifts it, and the override ends by itself", async () => {
  const { t, send, sendMessage } = await openChat();
  const config = { kind: "token bucket" as const, rate: 600, period: MINUTE };
  await t.mutation(api.admin.configure, { ...sendMessage, config, until: START + MINUTE });
  await send(100);
  await t.mutation(api.admin.letThrough, { ...sendMessage, until: START + 2 * MINUTE });
  await send(20);
  vi.setSystemTime(START + 2 * MINUTE);
  await send(5);
  await expect(send()).rejects.toThrow();
});

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
