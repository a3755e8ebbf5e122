/** docs/migrating.md: an app that changes four lines and answers as before, and both limiters in one app, side by side or one after the other. */
import official from "@convex-dev/rate-limiter/test";
import { rateLimitLive } from "convex-rate-limits/live";
import installed from "convex-rate-limits/test";
import { MINUTE, SECOND } from "convex-rate-limits";
import { convexTest } from "convex-test";
import { describe, expect, it, vi } from "vitest";
import { runJobs, START as NOW, useClock } from "../support/clock.js";
import sideBySide from "docs:migrating";
import { api as apiOfBoth } from "docs:migrating/convex/_generated/api";
import * as both from "docs:migrating/convex/limits";
import after from "docs:moved";
import { api } from "./app/convex/_generated/api.js";
import schema from "./app/convex/schema.js";
import { movedApp, moves } from "../docs/pages.js";

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

function openBoth() {
  const t = convexTest({ modules: sideBySide });
  official.register(t);
  installed.register(t);
  return t;
}
type App = ReturnType<typeof openBoth>;

it("side by side, a denial by one limiter refunds the tokens of the other", async () => {
  const t = openBoth();
  const left = () =>
    t.mutation(async (ctx) => [
      (await both.official.getValue(ctx, "sendMessage", { key: "ada" })).value,
      (await rateLimitLive(both.limits).getRateLimit(ctx, { name: "sendMessage", key: "ada" } as never)).value,
    ]);
  await t.mutation(apiOfBoth.messages.send, { author: "ada" });
  expect(await left()).toEqual([2, 2]);
  await t.mutation(async (ctx) => await both.limits.rateLimit(ctx, { name: "sendMessage", key: "ada", count: 2 }));
  await expect(t.mutation(apiOfBoth.messages.send, { author: "ada" })).rejects.toMatchObject({
    data: { kind: "RateLimited", name: "sendMessage", retryAt: NOW + 6 * SECOND },
  });
  expect(await left()).toEqual([2, 0]);
});

const there = (count: number, key = "ada") => {
  return (t: App) => t.mutation((ctx) => both.official.limit(ctx, "upload", { key, count, reserve: true }));
};
/** Uploads here as often as possible. The last call is denied, until `waitMs` from then. */
const here = (uploads: number, waitMs = 10 * SECOND) => {
  return async (t: App) => {
    const upload = () => t.mutation(apiOfBoth.messages.upload, { user: "ada" });
    for (let i = 0; i < uploads; i++) await upload();
    await expect(upload()).rejects.toMatchObject({ data: { retryAt: Date.now() + waitMs } });
  };
};
const reset = (t: App) => t.mutation((ctx) => both.limits.resetRateLimit(ctx, { name: "upload", key: "ada" }));
const resetBoth = (t: App) => t.mutation((ctx) => both.reset(ctx, "upload", "ada"));
const pass = (seconds: number) => () => Promise.resolve(vi.setSystemTime(Date.now() + seconds * SECOND));

it.each<[string, ...((t: App) => Promise<unknown>)[]]>([
  ["continues where the old limiter stopped", there(4), here(2)],
  ["counts the tokens that were reserved and that have arrived", there(9), here(0, 40 * SECOND), pass(50), here(2)],
  ["charges once, and not again after a reset here", there(5), here(1), reset, here(6)],
  ["has nothing to carry over after a reset in both, before any call", there(5), resetBoth, here(6)],
  ["starts full for a key that the old limiter never saw", there(6, "bob"), here(6)],
  ["starts full for a key whose old row a NaN has spoilt", there(NaN), here(6)],
])("carrying over %s", async (_what, ...steps) => {
  const t = openBoth();
  for (const step of steps) await step(t);
});
