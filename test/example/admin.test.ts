/** The admin functions and crons of example/. */
import { DAY, MINUTE } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import * as admin from "../../example/convex/admin.js";
import crons from "../../example/convex/crons.js";
import { runJobs, START, useClock } from "../support/clock.js";
import { denialOf } from "../support/errors.js";
import { scheduleOf } from "../stage/backend.js";
import { callerNamed, openExample, signIn } from "./backend.js";

useClock(START);

async function openOffice() {
  const t = openExample();
  const [ada, eve] = [await signIn(t, "ada"), await signIn(t, "eve", { isAdmin: true })];
  const send = async (times = 1) => {
    for (let i = 0; i < times; i++) await ada.mutation(api.messages.send, { body: "hello" });
  };
  const list = async (which: { onlyLimited?: boolean; onlyOverridden?: boolean } = {}) =>
    (await eve.query(api.admin.list, { name: "sendMessage", ...which })).page;
  return { t, ada, eve, send, list, bucket: { name: "sendMessage", key: callerNamed("ada") } as const };
}

it("an admin sees who has to wait, blocks a user until a time, and clears the block", async () => {
  const { eve, send, list, bucket } = await openOffice();
  await send(5);
  expect(await list({ onlyLimited: true })).toMatchObject([
    { key: bucket.key, ok: false, retryAt: START + MINUTE / 10 },
  ]);
  const until = START + DAY;
  await eve.mutation(api.admin.block, { ...bucket, until, note: "spam" });
  vi.setSystemTime(START + MINUTE);
  expect(await denialOf(send())).toMatchObject({ retryAt: until, reason: "blocked" });
  expect(await list({ onlyOverridden: true })).toMatchObject([{ override: { block: true, until, note: "spam" } }]);
  await eve.mutation(api.admin.clear, bucket);
  expect(await list({ onlyOverridden: true })).toEqual([]);
  await send();
});

it("an admin gives one user more tokens, until a time", async () => {
  const { eve, send, bucket } = await openOffice();
  await eve.mutation(api.admin.raise, { ...bucket, more: 20, until: START + MINUTE });
  await send(25);
  await denialOf(send());
  vi.setSystemTime(START + 2 * MINUTE);
  await send(5);
  await denialOf(send());
});

it("an admin pauses the model: questions wait until then", async () => {
  const { t, ada, eve } = await openOffice();
  const until = START + 10 * MINUTE;
  await eve.mutation(api.admin.pauseModel, { until });
  await ada.mutation(api.llm.ask, { prompt: "Why?" });
  await runJobs(t);
  expect(Date.now()).toBeGreaterThanOrEqual(until);
  expect(await ada.query(api.llm.latest, {})).toMatchObject([{ status: "done" }]);
});

it("nobody but an admin can call a public function of the module", async () => {
  const { t, ada, bucket } = await openOffice();
  const args = {
    list: { name: "sendMessage" },
    block: bucket,
    raise: { ...bucket, more: 1 },
    clear: bucket,
    pauseModel: { until: START + DAY },
  };
  const isPublic = (fn: unknown) => (fn as { isPublic?: true }).isPublic === true;
  const names = Object.entries(admin).flatMap(([name, fn]) => (isPublic(fn) ? [name] : []));
  expect(names.sort()).toEqual(Object.keys(args).sort());
  for (const [who, kind] of [
    [ada, "NotAnAdmin"],
    [t, "NotSignedIn"],
  ] as const) {
    await expect(who.query(api.admin.list, { name: "sendMessage" })).rejects.toThrow(kind);
    await expect(who.mutation(api.admin.block, args.block)).rejects.toThrow(kind);
    await expect(who.mutation(api.admin.raise, args.raise)).rejects.toThrow(kind);
    await expect(who.mutation(api.admin.clear, args.clear)).rejects.toThrow(kind);
    await expect(who.mutation(api.admin.pauseModel, args.pauseModel)).rejects.toThrow(kind);
  }
});

it("the daily sweep deletes the rows of full buckets", async () => {
  const { t, send, list } = await openOffice();
  expect(scheduleOf(crons)).toEqual([["admin:sweep", "daily"]]);
  await send();
  await t.mutation(internal.admin.sweep, {});
  await runJobs(t);
  expect(await list()).toHaveLength(1);
  vi.setSystemTime(START + DAY);
  await t.mutation(internal.admin.sweep, {});
  await runJobs(t);
  expect(await list()).toEqual([]);
});
