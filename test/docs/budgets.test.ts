/** Runs the code of docs/llm.md, docs/jobs.md and docs/plans.md where a provider, or a customer without a row, is unusual. */
import { convexTest } from "convex-test";
import { expect, it, vi } from "vitest";
import jobsModules from "docs:jobs";
import * as jobs from "docs:jobs/convex/_generated/api";
import { limits as jobLimits } from "docs:jobs/convex/limits";
import jobsSchema from "docs:jobs/convex/schema";
import llmModules from "docs:llm";
import * as llm from "docs:llm/convex/_generated/api";
import { limits as llmLimits } from "docs:llm/convex/limits";
import llmSchema from "docs:llm/convex/schema";
import plansModules from "docs:plans";
import { internal } from "docs:plans/convex/_generated/api";
import plansSchema from "docs:plans/convex/schema";
import { useClock } from "../support/clock.js";

const NOW = Date.UTC(2026, 0, 15);
useClock(NOW);

it("an alert is written once a month, also if settlements cross the line in both directions", async () => {
  const t = convexTest({ schema: llmSchema, modules: llmModules });
  const ada = t.withIdentity({ subject: "ada" });
  const alertsAfter = async (tokens: number) => {
    await ada.mutation(llm.api.ask.ask, { prompt: "hi" });
    const [question] = await t.run(async (ctx) => await ctx.db.query("questions").order("desc").take(1));
    await t.mutation(llm.internal.answer.done, { question: question?._id, answer: "yes", tokens });
    return await t.run(async (ctx) => (await ctx.db.query("alerts").collect()).length);
  };
  const toTheLine = { name: "orgMonth", key: "acme", count: 3_999_000 };
  await t.run(async (ctx) => {
    await llmLimits.adjustRateLimit(ctx, toTheLine);
    await ctx.db.insert("members", { user: "ada", org: "acme", isPaying: false });
  });
  // The first question's settlement crosses the line, the second one's crosses it back, and the third question crosses it again.
  expect([await alertsAfter(1200), await alertsAfter(0), await alertsAfter(0)]).toEqual([1, 1, 1]);
});

it("a model that has answered keeps its tokens if the answer cannot be stored", async () => {
  const t = convexTest({ schema: jobsSchema, modules: jobsModules });
  const ada = t.withIdentity({ subject: "ada" });
  const bucket = { name: "llmTokens", count: 0 };
  const status = () => t.run(async (ctx) => await jobLimits.checkRateLimit(ctx, bucket));
  await ada.mutation(jobs.api.questions.ask, { prompt: "hi" });
  const [question] = await t.run(async (ctx) => await ctx.db.query("questions").take(1));
  const answer = () => t.action(jobs.internal.questions.answer, { question: question?._id, prompt: "hi" });
  // The provider reports no usage.
  vi.stubGlobal("callModel", () => Promise.resolve({ answer: "yes" }));
  await expect(answer()).rejects.toThrow("tokens");
  expect(await status()).toMatchObject({ resetAt: NOW + 501 });
  vi.stubGlobal("callModel", () => Promise.reject(new Error("overloaded")));
  await answer();
  expect(await status()).toMatchObject({ remaining: 2000 });
});

it("a customer who has not called yet gets what was bought besides the plan, also after a change of plan", async () => {
  const t = convexTest({ schema: plansSchema, modules: plansModules });
  const usage = (plan: "free" | "pro") => t.query(internal.quota.usage, { customer: "ada", plan });
  expect(await usage("pro")).toMatchObject({ used: 0, of: 10_000 });
  await t.mutation(internal.quota.topUp, { customer: "ada" });
  expect(await usage("pro")).toMatchObject({ used: 0, of: 10_500 });
  expect(await usage("free")).toMatchObject({ used: 0, of: 600 });
});
