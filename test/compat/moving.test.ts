/** An app that moves from the official component: the four lines of docs/migrating.md change, and it answers as before. */
import official from "@convex-dev/rate-limiter/test";
import installed from "convex-rate-limits/test";
import { convexTest } from "convex-test";
import { describe, expect, it, vi } from "vitest";
import { runJobs, useClock } from "../support/clock.js";
import after from "docs:moved";
import { api } from "./app/convex/_generated/api.js";
import schema from "./app/convex/schema.js";
import { movedApp, moves } from "../docs/pages.js";

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

const before = import.meta.glob("./app/convex/**/*.ts");
const modules = { before, after: after as typeof before };

useClock(NOW);

function openApp(version: keyof typeof modules) {
  const t = convexTest({ schema, modules: modules[version] });
  if (version === "before") official.register(t);
  else installed.register(t);
  return t;
}

/** Runs every function of the app, and returns the answer to each call. For a thrown denial, that is its data. */
async function script(t: ReturnType<typeof openApp>): Promise<unknown[]> {
  const answers: unknown[] = [];
  const note = async (call: Promise<unknown>) => {
    answers.push(await call.catch((error: unknown) => ({ thrown: (error as { data: unknown }).data })));
  };
  const ada = { author: "ada" };
  for (let i = 0; i < 4; i++) await note(t.mutation(api.messages.send, { ...ada, body: "Hello" }));
  await note(t.mutation(api.messages.trySend, ada));
  await note(t.query(api.messages.maySend, ada));
  await note(t.query(api.messages.maySend, { ...ada, count: 3 }));
  await note(t.mutation(api.messages.trySend, { author: "bob" }));
  vi.setSystemTime(NOW + MINUTE / 8);
  await note(t.mutation(api.messages.trySend, ada));
  await note(t.mutation(api.messages.trySend, ada));
  for (let i = 0; i < 3; i++) await note(t.mutation(api.messages.signUp, {}));
  for (let i = 0; i < 5; i++) await note(t.mutation(api.messages.report, ada));
  for (let i = 0; i < 2; i++) await note(t.action(api.messages.draw, { user: "ada", isPro: false }));
  for (let i = 0; i < 2; i++) await note(t.action(api.messages.draw, { user: "bob", isPro: true }));
  const { value, ts, shard } = await t.query(api.messages.getRateLimit, { key: "ada" });
  answers.push({ value, ts, shard });
  await note(t.mutation(api.messages.forgive, ada));
  await note(t.action(api.messages.draw, { user: "ada", isPro: false }));
  await runJobs(t);
  answers.push(await t.run(async (ctx) => (await ctx.db.query("reports").collect()).map(({ madeAt }) => madeAt - NOW)));
  answers.push(await t.run(async (ctx) => (await ctx.db.query("messages").collect()).length));
  return answers;
}

describe("the app that moves", () => {
  it("changes four lines, after which nothing names the official component", () => {
    expect(moves).toHaveLength(4);
    const files = [...movedApp().values()];
    for (const [, line] of moves) expect(files.filter((text) => text.split("\n").includes(line))).toHaveLength(1);
    expect(files.filter((text) => text.includes("@convex-dev/rate-limiter"))).toEqual([]);
  });

  it("answers as before", async () => {
    const before = await script(openApp("before"));
    vi.setSystemTime(NOW);
    const after = await script(openApp("after"));
    expect(after).toEqual(before);
    expect(after).toContainEqual({ thrown: { kind: "RateLimited", name: "sendMessage", retryAfter: MINUTE / 8 } });
    expect(after).toContainEqual([7500, 8500, 9500, 10500]);
    expect(after.at(-1)).toBe(3);
  });
});
