/** The functions of the example whose limits need no helpers of their own. `npm run demo` shows others. */
import { DAY, projectRateLimit, SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import { getRateLimit } from "../../example/convex/rateLimits.js";
import { tally } from "../../example/demo/laws.js";
import { denialOf } from "../support/errors.js";
import { openBackend, openTown, runJobs, START, useClock } from "./backend.js";

useClock();

it("a user can send three messages a day, and three more when the next day begins", async () => {
  const { t, ada: user } = await openTown();
  const send = (text: string) => t.mutation(api.feedback.send, { user, text });
  for (const text of ["1", "2", "3"]) await send(text);
  const { name, retryAt } = await denialOf(send("4"));
  expect(name).toBe("sendFeedback");
  vi.setSystemTime(retryAt - 1);
  expect(await denialOf(send("4"))).toMatchObject({ retryAt });
  vi.setSystemTime(retryAt);
  for (const text of ["4", "5", "6"]) await send(text);
  const quota = await t.query(api.feedback.quota, { user });
  expect(projectRateLimit(quota, { now: Date.now() })).toMatchObject({ ok: false, remaining: 0 });
});

it("an attempt with a taken address uses no sign-up token", async () => {
  const t = openBackend();
  const signUp = () => t.mutation(api.signUps.signUp, { email: "ada@example.com", password: "secret" });
  await signUp();
  const before = await t.query(api.signUps.quota, {});
  expect(projectRateLimit(before, { now: START, count: 0 }).remaining).toBe(99);
  await expect(signUp()).rejects.toMatchObject({ data: { kind: "EmailTaken" } });
  expect(await t.query(api.signUps.quota, {})).toEqual(before);
});

async function openOffice() {
  const { t, ada: user } = await openTown();
  const make = () => t.mutation(api.plans.makeReport, { user, title: "Sales" });
  const makeMany = async (reports: number) => {
    for (let i = 0; i < reports; i++) expect(await make()).toMatchObject({ ok: true });
  };
  const change = (plan: "free" | "pro") => t.mutation(api.plans.changePlan, { user, plan });
  return { t, user, make, makeMany, change };
}

it("the pro plan allows more; a downgrade takes effect at once and cuts the tokens left to the smaller plan", async () => {
  const { make, makeMany, change } = await openOffice();
  await change("pro");
  await makeMany(50);
  await change("free");
  await makeMany(3);
  expect(await make()).toEqual({ ok: false, retryAt: START + DAY / 3 });
});

it("a report for a closed account is an error, and creates no bucket", async () => {
  const { t, user, make } = await openOffice();
  await t.mutation(api.signUps.close, { user });
  await expect(make()).rejects.toMatchObject({ data: { kind: "NoSuchUser", user } });
});

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

it("a question that is answered or unknown can be neither settled nor cancelled", async () => {
  const { t, ada: user } = await openTown();
  const asked = await t.mutation(api.llm.ask, { user, prompt: "Why?", maxAnswerTokens: 1999 });
  if (!asked.ok) throw new Error("There was no room.");
  await runJobs(t);
  await expect(t.mutation(internal.llm.settle, { job: asked.job, used: 0 })).rejects.toThrow("is not running");
  expect(await t.mutation(api.llm.cancel, { job: asked.job })).toEqual({ canceled: false });
  // The answer used a third of the 1,999 tokens, and the four characters of the question used one.
  expect(await t.mutation(async (ctx) => await getRateLimit(ctx, { name: "llmTokens" }))).toMatchObject({
    value: 2000 - 667,
  });
  await t.run(async (ctx) => {
    await ctx.db.delete("llmJobs", asked.job);
  });
  const unknown = t.mutation(api.llm.cancel, { job: asked.job });
  await expect(unknown).rejects.toMatchObject({ data: { kind: "NoSuchJob" } });
});
