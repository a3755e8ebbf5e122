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
  const ada = convexTest({ schema, modules: import.meta.glob("./**/*.ts") }).withIdentity({ subject: "ada" });
  const send = () => ada.mutation(api.messages.send, { body: "hello" });
  for (let i = 0; i < 20; i++) await send();

  await expect(send()).rejects.toMatchObject({ data: { retryAfter: 6000 } });
  vi.advanceTimersByTime(6000);
  await send();
});
