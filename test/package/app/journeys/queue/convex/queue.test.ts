/** The agent of docs/queue.md. */
import { convexTest } from "convex-test";
import { expect, it, vi } from "vitest";
import { NOW, runJobs, useClock } from "../../clock";
import { api } from "./_generated/api";
import schema from "./schema";

useClock();

it("answers all questions at the rate, that of the paying user first", async () => {
  const calls: [prompt: string, atSeconds: number][] = [];
  vi.stubGlobal("callModel", (prompt: string) => {
    calls.push([prompt, Math.round((Date.now() - NOW) / 100) / 10]);
    return Promise.resolve({ answer: "42", tokens: 500 });
  });
  const t = convexTest({ schema, modules: import.meta.glob("./**/*.ts") });
  await t.run((ctx) => ctx.db.insert("users", { caller: "grace", plan: "pro" }));
  const ask = (subject: string) => t.withIdentity({ subject }).mutation(api.agent.ask, { prompt: subject });
  for (const subject of ["ada", "bob", "carl", "dora", "eve", "grace"]) await ask(subject);
  await runJobs(t);
  // Four jobs of 500 tokens empty a full bucket, and a second brings 1,000.
  expect(calls).toEqual([
    ["grace", 0],
    ["ada", 0],
    ["bob", 0],
    ["carl", 0],
    ["dora", 0.5],
    ["eve", 1],
  ]);
  const answers = await t.run(async (ctx) => (await ctx.db.query("questions").collect()).map(({ answer }) => answer));
  expect(answers).toEqual(new Array(6).fill("42"));
});
