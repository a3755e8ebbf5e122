import { expect, it } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import { getRateLimit } from "../../example/convex/rateLimits.js";
import { openTown, runJobs, useClock } from "./backend.js";

useClock();

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
