import { isRateLimitError, projectRateLimit } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { signUp } from "../../example/demo/people.js";
import { openBackend, START, thrownBy, useClock } from "./backend.js";

useClock();

async function openLetterbox() {
  const t = openBackend();
  const user = await signUp(t, "Ada");
  return {
    t,
    user,
    send: (text: string) => t.mutation(api.feedback.send, { user, text }),
    quota: () => t.query(api.feedback.quota, { user }),
  };
}

it("a user sends three a day, and three more when the next day begins", async () => {
  const { send, quota } = await openLetterbox();
  for (const text of ["1", "2", "3"]) await send(text);
  const error = await thrownBy(send("4"));
  if (!isRateLimitError(error)) throw error;
  expect(error.data.name).toBe("sendFeedback");
  vi.setSystemTime(error.data.retryAt - 1);
  await expect(send("4")).rejects.toSatisfy(isRateLimitError);
  vi.setSystemTime(error.data.retryAt);
  for (const text of ["4", "5", "6"]) await send(text);
  expect(projectRateLimit(await quota(), { now: Date.now() })).toMatchObject({ ok: false, remaining: 0 });
});

it("what is sent twice by mistake throws and costs nothing", async () => {
  const { send, quota } = await openLetterbox();
  await send("Nice.");
  const before = await quota();
  expect(projectRateLimit(before, { now: START, count: 0 }).remaining).toBe(2);
  expect(await thrownBy(send("Nice."))).toMatchObject({ data: { kind: "AlreadySent" } });
  expect(await quota()).toEqual(before);
});

it("its limit lives in the app's own table, and nobody else's does", async () => {
  const { t, user, send } = await openLetterbox();
  await t.mutation(api.messages.send, { author: user, to: user, body: "Note to self" });
  await send("Nice.");
  const rows = await t.run((ctx) => ctx.db.query("rateLimits").collect());
  expect(rows.map(({ name, key, value }) => ({ name, key, value }))).toEqual([
    { name: "sendFeedback", key: user, value: 2 },
  ]);
});
