/** Both limiters in one app, as in docs/migrating.md: side by side, and one after the other. */
import official from "@convex-dev/rate-limiter/test";
import installed from "convex-rate-limits/test";
import { convexTest } from "convex-test";
import { describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import modules from "docs:migrating";
import { api } from "docs:migrating/convex/_generated/api";
import * as both from "docs:migrating/convex/limits";

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1000;

useClock(NOW, "Date");

function openApp() {
  const t = convexTest({ modules });
  official.register(t);
  installed.register(t);
  return t;
}
type App = ReturnType<typeof openApp>;

it("side by side, a denial by one limiter refunds the tokens of the other", async () => {
  const t = openApp();
  const left = () =>
    t.mutation(async (ctx) => [
      (await both.official.getValue(ctx, "sendMessage", { key: "ada" })).value,
      (await both.limits.getRateLimit(ctx, { name: "sendMessage", key: "ada" })).value,
    ]);
  await t.mutation(api.messages.send, { author: "ada" });
  expect(await left()).toEqual([2, 2]);
  await t.mutation(async (ctx) => await both.limits.rateLimit(ctx, { name: "sendMessage", key: "ada", count: 2 }));
  await expect(t.mutation(api.messages.send, { author: "ada" })).rejects.toMatchObject({
    data: { kind: "RateLimited", name: "sendMessage", retryAt: NOW + 6 * SECOND },
  });
  expect(await left()).toEqual([2, 0]);
});

describe("carrying over", () => {
  const there = (count: number, key = "ada") => {
    return (t: App) => t.mutation((ctx) => both.official.limit(ctx, "upload", { key, count, reserve: true }));
  };
  /** Uploads here as often as possible. The last call is denied, until `waitMs` from then. */
  const here = (uploads: number, waitMs = 10 * SECOND) => {
    return async (t: App) => {
      const upload = () => t.mutation(api.messages.upload, { user: "ada" });
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
  ])("%s", async (_what, ...steps) => {
    const t = openApp();
    for (const step of steps) await step(t);
  });
});
