/** An app that moves from the official component: four lines change, and it answers as before. */
import official from "@convex-dev/rate-limiter/test";
import installed from "convex-rate-limits/test";
import { convexTest } from "convex-test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { api } from "./apps/after/convex/_generated/api.js";
import schema from "./apps/after/convex/schema.js";

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

const modules = {
  before: import.meta.glob("./apps/before/convex/**/*.ts"),
  after: import.meta.glob("./apps/after/convex/**/*.ts"),
};
const texts = import.meta.glob<string>(["./apps/**/*.{ts,tsx}", "!**/_generated/**"], {
  query: "?raw",
  import: "default",
  eager: true,
});
const pages = import.meta.glob<string>("../../docs/migrating.md", { query: "?raw", import: "default", eager: true });

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

function openApp(version: keyof typeof modules) {
  const t = convexTest({ schema, modules: modules[version] });
  if (version === "before") official.register(t);
  else installed.register(t);
  return t;
}

/** Everything that the app does, and what each call was answered; thrown denials by their data. */
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
  while (vi.getTimerCount() > 0) {
    vi.advanceTimersToNextTimer();
    await t.finishInProgressScheduledFunctions();
  }
  answers.push(await t.run(async (ctx) => (await ctx.db.query("reports").collect()).map(({ madeAt }) => madeAt - NOW)));
  answers.push(await t.run(async (ctx) => (await ctx.db.query("messages").collect()).length));
  return answers;
}

/** Line by line: `[before, after]` wherever the two apps differ. */
function changedLines(): [string, string][] {
  const names = Object.keys(texts).filter((name) => name.startsWith("./apps/before/"));
  return names.flatMap((name) => {
    const [before, after] = [texts[name], texts[name.replace("before", "after")]].map(
      (text) => text?.split("\n") ?? [],
    );
    expect(after).toHaveLength(before?.length ?? 0);
    return (before ?? []).flatMap((line, i): [string, string][] =>
      line === after?.[i] ? [] : [[line, after?.[i] ?? ""]],
    );
  });
}

describe("the app that moves", () => {
  it("changes four lines, and these are the four that the page shows", () => {
    const changed = changedLines();
    expect(changed).toHaveLength(4);
    const page = Object.values(pages).join();
    for (const [before, after] of changed) expect(page).toContain(`-${before}\n+${after}\n`);
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
