import { expect, it, vi } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import { getRateLimit } from "../../example/convex/rateLimits.js";
import { openTown, runJobs, START, useClock } from "./backend.js";

useClock();

/** Four characters: one token. */
const PROMPT = "Why?";

async function openModel() {
  const { t, ada: user } = await openTown();
  const ask = (tokens: number) => t.mutation(api.llm.ask, { user, prompt: PROMPT, maxAnswerTokens: tokens - 1 });
  const left = async () => (await t.mutation(async (ctx) => await getRateLimit(ctx, { name: "llmTokens" }))).value;
  return { t, ask, jobs: () => t.query(api.llm.jobs, { user }), run: () => runJobs(t), left };
}

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
