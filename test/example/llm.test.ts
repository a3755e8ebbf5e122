import { expect, it, vi } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import { getRateLimit } from "../../example/convex/rateLimits.js";
import { overdraft } from "../../example/demo/laws.js";
import { openTown, runJobs, runNextJob, START, useClock } from "./backend.js";

useClock();

/** Four characters: one token. */
const PROMPT = "Why?";

async function openModel() {
  const { t, ada: user } = await openTown();
  const ask = (tokens: number) => t.mutation(api.llm.ask, { user, prompt: PROMPT, maxAnswerTokens: tokens - 1 });
  const left = async () => (await t.mutation(async (ctx) => await getRateLimit(ctx, { name: "llmTokens" }))).value;
  return { t, user, ask, jobs: () => t.query(api.llm.jobs, { user }), run: () => runJobs(t), left };
}

it("a question is answered at once while there are tokens, and gives back what it has not used", async () => {
  const { ask, jobs, run, left } = await openModel();
  expect(await ask(2000)).toMatchObject({ ok: true, promisedAt: START });
  expect(await jobs()).toMatchObject([{ status: "queued", tokens: 2000 }]);
  await run();
  // Three ninths of the 1,999 that the answer may have, and one for the question.
  expect(await jobs()).toMatchObject([{ status: "done", startedAt: START, answer: 'An answer to "Why?".', used: 667 }]);
  expect(await left()).toBe(2000 - 667);
});

it("a call that fails gives everything back", async () => {
  const { t, user, jobs, run, left } = await openModel();
  await t.mutation(api.llm.ask, { user, prompt: "", maxAnswerTokens: 1500 });
  expect(await left()).toBe(500);
  await run();
  expect(await jobs()).toMatchObject([{ status: "failed", used: 0 }]);
  expect(await left()).toBe(2000);
});

it("a question that waits can be cancelled, and the next one gets its tokens", async () => {
  const { t, ask, jobs, run } = await openModel();
  await ask(2000);
  const waiting = await ask(2000);
  if (!waiting.ok) throw new Error("There was no room.");
  expect(waiting.promisedAt).toBe(START + 2000);
  expect(await t.mutation(api.llm.cancel, { job: waiting.job })).toEqual({ canceled: true });
  expect(await t.mutation(api.llm.cancel, { job: waiting.job })).toEqual({ canceled: false });
  expect(await ask(500)).toMatchObject({ ok: true, promisedAt: START + 500 });
  await run();
  expect((await jobs()).map(({ status }) => status)).toEqual(["done", "cancelled", "done"]);
});

it("a question that has been answered is neither settled again nor cancelled, and an unknown one neither", async () => {
  const { t, ask, run, left } = await openModel();
  const asked = await ask(2000);
  if (!asked.ok) throw new Error("There was no room.");
  await run();
  await expect(t.mutation(internal.llm.settle, { job: asked.job, used: 0 })).rejects.toThrow("is not running");
  expect(await t.mutation(api.llm.cancel, { job: asked.job })).toEqual({ canceled: false });
  expect(await left()).toBe(2000 - 667);
  await t.run(async (ctx) => {
    await ctx.db.delete("llmJobs", asked.job);
  });
  const unknown = t.mutation(api.llm.cancel, { job: asked.job });
  await expect(unknown).rejects.toMatchObject({ data: { kind: "NoSuchJob" } });
});

it("later questions are promised the moment at which their tokens are paid, one for each millisecond", async () => {
  const { ask } = await openModel();
  const promises = [];
  for (const tokens of [2000, 1, 500, 1500]) promises.push(await ask(tokens));
  expect(promises.map((promise) => promise.ok && promise.promisedAt - START)).toEqual([0, 1, 501, 2001]);
});

it("every job starts at its promise, and the starts keep to the bound", async () => {
  const { t, ask, jobs, run } = await openModel();
  for (let question = 1; question <= 10; question++) await ask(question * 90);
  for (let job = 1; job <= 8; job++) await runNextJob(t);
  expect(Date.now()).toBeGreaterThan(START);
  for (let question = 11; question <= 20; question++) await ask(question * 90);
  await run();
  const done = await jobs();
  expect(done).toHaveLength(20);
  for (const job of done) expect(job).toMatchObject({ status: "done", startedAt: job.promisedAt });
  const starts = done.map(({ promisedAt, used = 0 }) => ({ earliest: promisedAt, latest: promisedAt, tokens: used }));
  expect(overdraft(starts, { rate: 60_000, period: 60_000, capacity: 2000 })).toBeUndefined();
  // What was given back has made the queue shorter.
  const reserved = done.reduce((sum, { tokens }) => sum + tokens, 0);
  expect(done.at(-1)?.startedAt).toBeLessThan(START + reserved - 2000);
});

it("a question that would wait longer than a minute is refused, nothing is scheduled, and retryAt is when there is room", async () => {
  const { ask, jobs, run } = await openModel();
  await ask(62_000);
  const scheduled = vi.getTimerCount();
  const refused = { ok: false, retryAt: START + 500 };
  expect(await ask(500)).toEqual(refused);
  expect(vi.getTimerCount()).toBe(scheduled);
  expect(await jobs()).toHaveLength(1);
  vi.setSystemTime(refused.retryAt - 1);
  expect(await ask(500)).toEqual(refused);
  vi.setSystemTime(refused.retryAt);
  expect(await ask(500)).toMatchObject({ ok: true, promisedAt: START + 60_500 });
  await run();
  expect((await jobs()).map(({ status }) => status)).toEqual(["done", "done"]);
});
