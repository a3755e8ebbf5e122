import { projectRateLimit } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { denialOf } from "../support/errors.js";
import { openTown, START, useClock } from "./backend.js";

useClock();

async function openLetterbox() {
  const { t, ada } = await openTown();
  const send = (text: string) => t.mutation(api.feedback.send, { user: ada, text });
  return { t, ada, send, quota: () => t.query(api.feedback.quota, { user: ada }) };
}

it("a user sends three a day, and three more when the next day begins", async () => {
  const { send, quota } = await openLetterbox();
  for (const text of ["1", "2", "3"]) await send(text);
  const { name, retryAt } = await denialOf(send("4"));
  expect(name).toBe("sendFeedback");
  vi.setSystemTime(retryAt - 1);
  expect(await denialOf(send("4"))).toMatchObject({ retryAt });
  vi.setSystemTime(retryAt);
  for (const text of ["4", "5", "6"]) await send(text);
  expect(projectRateLimit(await quota(), { now: Date.now() })).toMatchObject({ ok: false, remaining: 0 });
});

it("what is sent twice by mistake throws and costs nothing", async () => {
  const { send, quota } = await openLetterbox();
  await send("Nice.");
  const before = await quota();
  expect(projectRateLimit(before, { now: START, count: 0 }).remaining).toBe(2);
  await expect(send("Nice.")).rejects.toMatchObject({ data: { kind: "AlreadySent" } });
  expect(await quota()).toEqual(before);
});

it("its limit lives in the app's own table, and nobody else's does", async () => {
  const { t, ada, send } = await openLetterbox();
  await t.mutation(api.messages.send, { author: ada, to: ada, body: "Note to self" });
  await send("Nice.");
  const rows = await t.run((ctx) => ctx.db.query("rateLimits").collect());
  expect(rows).toMatchObject([{ name: "sendFeedback", key: ada, value: 2 }]);
});
