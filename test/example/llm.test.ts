/** Questions to the model of example/: a budget for each user, one queue for all, and settlement of both. */
import { DAY, MINUTE, SECOND } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import type { Id } from "../../example/convex/_generated/dataModel.js";
import { limits } from "../../example/convex/limits.js";
import { runJobs, START, useClock } from "../support/clock.js";
import { denialOf } from "../support/errors.js";
import { type Example, openExample, signIn } from "./backend.js";

useClock(START);

type User = Awaited<ReturnType<typeof signIn>>;

const ESTIMATE = 501;
const ask = async (user: User, prompt = "Why?") => await user.mutation(api.llm.ask, { prompt });
const questionsOf = async (user: User) => await user.query(api.llm.latest, {});
const cancel = async (user: User, question: Id<"questions">) => await user.mutation(api.llm.cancel, { question });

/** The whole tokens that are left of a user's day. */
async function leftOf(user: User): Promise<number> {
  return projectRateLimit(await user.query(api.llm.getRateLimit, {}), { now: Date.now(), count: 0 }).remaining;
}

/** The tokens that the queue's limit holds. */
async function modelTokens(t: Example): Promise<number> {
  return (await t.run(async (ctx) => await limits.checkRateLimit(ctx, { name: "modelTokens", count: 0 }))).remaining;
}

it("an answer settles the queue's tokens and those of the user's day to what was used", async () => {
  const t = openExample();
  const ada = await signIn(t, "ada");
  await ask(ada);
  expect(await leftOf(ada)).toBe(20_000 - ESTIMATE);
  await runJobs(t);
  expect(await questionsOf(ada)).toMatchObject([{ status: "done", answer: "You asked: Why?" }]);
  expect(await leftOf(ada)).toBe(20_000 - 2);
  vi.setSystemTime(Date.now() + MINUTE);
  expect(await modelTokens(t)).toBe(4_000);
});

it("the day of a free user ends after 20,000 tokens, pro goes on, and the next day is new", async () => {
  const t = openExample();
  const [ada, bob] = [await signIn(t, "ada"), await signIn(t, "bob", { plan: "pro" })];
  const prompt = "x".repeat(8_000);
  for (let i = 0; i < 8; i++) await ask(ada, prompt);
  const denial = await denialOf(ask(ada, prompt));
  expect(denial).toMatchObject({ name: "tokensOfDay", retryAt: START + DAY });
  for (let i = 0; i < 9; i++) await ask(bob, prompt);
  vi.setSystemTime(denial.retryAt);
  await ask(ada, prompt);
});

it("paying users go first, and a cancelled question costs nothing", async () => {
  const t = openExample();
  const [ada, bob] = [await signIn(t, "ada"), await signIn(t, "bob", { plan: "pro" })];
  const asked = [];
  for (let i = 0; i < 20; i++) asked.push(await ask(ada, `${i}`));
  vi.setSystemTime(START + SECOND);
  await t.finishInProgressScheduledFunctions();
  const last = asked.at(-1);
  if (!last) throw new Error("Nothing was asked.");
  const aheadOf = async (user: User, job: string) => (await user.query(api.llm.getQueued, { job }))?.ahead ?? null;
  expect(await aheadOf(ada, last)).toBeGreaterThan(5);
  expect(await aheadOf(bob, await ask(bob))).toBeLessThan(5);
  // Nobody sees or cancels the question of another.
  expect(await aheadOf(bob, last)).toBeNull();
  expect(await cancel(bob, last)).toBe(false);
  expect(await cancel(ada, last)).toBe(true);
  expect(await cancel(ada, last)).toBe(false);
  await runJobs(t);
  const states = (await questionsOf(ada)).map(({ status }) => status);
  expect(states).toEqual(["cancelled", ...Array.from({ length: 9 }, () => "done")]);
  // The other 19 used a token or two each; the cancelled one none.
  expect(await leftOf(ada)).toBe(20_000 - 19 * 2);
});

/** A provider that gives these answers one after the other, the last of them for ever. */
function stubProvider(...answers: (() => Response)[]) {
  vi.stubEnv("MODEL_URL", "https://model.example/");
  const calls: number[] = [];
  vi.stubGlobal("fetch", () => {
    calls.push(Date.now());
    return Promise.resolve(answers[Math.min(calls.length, answers.length) - 1]?.());
  });
  return calls;
}

const denied = () => new Response(null, { status: 429, headers: { "Retry-After": "30" } });

it("a denial of the provider pauses the queue until its time, and the question is asked again then", async () => {
  const t = openExample();
  const ada = await signIn(t, "ada");
  const calls = stubProvider(denied, () => Response.json({ answer: "Because.", tokens: 700 }));
  await ask(ada);
  await runJobs(t);
  expect(calls).toHaveLength(2);
  expect((calls[1] ?? 0) - (calls[0] ?? 0)).toBeGreaterThanOrEqual(30 * SECOND);
  expect(await questionsOf(ada)).toMatchObject([{ status: "done", answer: "Because." }]);
  // It used more than the estimate: the rest was charged.
  expect(await leftOf(ada)).toBe(20_000 - 700);
});

it("a question that the provider always denies fails after five attempts, and costs nothing", async () => {
  const t = openExample();
  const ada = await signIn(t, "ada");
  const calls = stubProvider(denied);
  await ask(ada);
  await runJobs(t);
  expect(calls).toHaveLength(5);
  expect(await questionsOf(ada)).toMatchObject([{ status: "failed" }]);
  expect(await leftOf(ada)).toBe(20_000);
});

it("a call that breaks keeps its tokens, since the provider may have counted it", async () => {
  const t = openExample();
  const ada = await signIn(t, "ada");
  stubProvider(() => new Response(null, { status: 500 }));
  const logged = vi.spyOn(console, "error").mockReturnValue();
  await ask(ada);
  await runJobs(t);
  expect(logged).toHaveBeenCalled();
  expect(await questionsOf(ada)).toMatchObject([{ status: "failed" }]);
  expect(await leftOf(ada)).toBe(20_000 - ESTIMATE);
});
