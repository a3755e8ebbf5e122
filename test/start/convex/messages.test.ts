// convex/messages.test.ts
import { isRateLimitError } from "convex-rate-limits";
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

test("the 21st message is denied, and goes through at retryAt", async () => {
  const ada = convexTest({ schema, modules: import.meta.glob("./**/*.ts") }).withIdentity({ subject: "ada" });
  const send = (body: string) => ada.mutation(api.messages.send, { body });
  for (let i = 0; i < 20; i++) await send("hello");

  const error: unknown = await send("hello").catch((thrown: unknown) => thrown);
  if (!isRateLimitError(error)) throw error;
  expect(error.data.retryAfter).toBe(6000);

  vi.setSystemTime(error.data.retryAt);
  await expect(send("x".repeat(501))).rejects.toThrow("too long");
  await send("the token of the long one is still there");
});
