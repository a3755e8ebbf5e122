// convex/messages.test.ts
import { convexTest } from "convex-test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { api } from "./_generated/api";
import schema from "./schema";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
});
afterEach(() => {
  vi.useRealTimers();
});

test("twenty messages at once, and the next when its token is there", async () => {
  const t = convexTest({ schema, modules: import.meta.glob("./**/*.ts") });
  const author = await t.run((ctx) => ctx.db.insert("users", { name: "Ada" }));
  const send = () => t.mutation(api.messages.send, { author, body: "hello" });
  for (let i = 0; i < 20; i++) expect(await send()).toMatchObject({ ok: true });

  const denied = await send();
  expect(denied).toMatchObject({ ok: false, retryAt: Date.now() + 6000 });
  vi.setSystemTime(denied.retryAt ?? 0);
  expect(await send()).toMatchObject({ ok: true });
});
