/** The app of docs/start.md, whose own test runs beside this one: the modules here are the page's blocks, word for word. */
import { convexTest } from "convex-test";
import { projectRateLimit } from "convex-rate-limits";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { api } from "./convex/_generated/api.js";
import schema from "./convex/schema.js";

const modules = import.meta.glob("./convex/**/*.ts");
const sources = import.meta.glob<string>("./convex/*.ts", { query: "?raw", import: "default", eager: true });
const pages = import.meta.glob<string>("../../docs/start.md", { query: "?raw", import: "default", eager: true });

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
});
afterEach(() => {
  vi.useRealTimers();
});

it("shows the modules that run here, word for word", () => {
  const page = Object.values(pages).join();
  const shown = [...page.matchAll(/^```ts\n(\/\/ convex\/.*?)^```/gms)].map(([, code]) => code);
  expect(shown.sort()).toEqual(Object.values(sources).sort());
  expect(shown).toHaveLength(5);
});

it("shows each user the own bucket, and nothing to strangers", async () => {
  const t = convexTest({ schema, modules });
  const ada = t.withIdentity({ subject: "ada" });
  for (let i = 0; i < 3; i++) await ada.mutation(api.messages.send, { body: "hello" });
  const left = async (user: Pick<typeof ada, "query">) =>
    projectRateLimit(await user.query(api.quota.getRateLimit, {}), { now: Date.now() }).remaining;
  expect(await left(ada)).toBe(16);
  expect(await left(t.withIdentity({ subject: "bob" }))).toBe(19);
  await expect(t.query(api.quota.getRateLimit, {})).rejects.toThrow("not signed in");
  await expect(t.mutation(api.messages.send, { body: "hello" })).rejects.toThrow("not signed in");
});
