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

const uploadThere = (t: App, count: number) =>
  t.mutation(async (ctx) => await both.official.limit(ctx, "upload", { key: "ada", count, reserve: true }));
const uploadHere = async (t: App) =>
  await t.mutation(api.messages.upload, { user: "ada" }).then(
    () => "uploaded",
    (error: unknown) => (error as { data: { retryAt: number } }).data.retryAt - Date.now(),
  );

describe("side by side", () => {
  it("a denial by one limiter refunds the tokens of the other", async () => {
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
});

describe("carrying over", () => {
  it("continues where the old limiter stopped", async () => {
    const t = openApp();
    await uploadThere(t, 4);
    expect([await uploadHere(t), await uploadHere(t), await uploadHere(t)]).toEqual([
      "uploaded",
      "uploaded",
      10 * SECOND,
    ]);
  });

  it("counts the tokens that have arrived since, and the tokens that were reserved", async () => {
    const t = openApp();
    await uploadThere(t, 9);
    expect(await uploadHere(t)).toBe(40 * SECOND);
    vi.setSystemTime(NOW + 50 * SECOND);
    expect([await uploadHere(t), await uploadHere(t)]).toEqual(["uploaded", "uploaded"]);
    expect(await uploadHere(t)).toBe(10 * SECOND);
  });

  it("charges once, and never again after the row is gone and the bucket is full", async () => {
    const t = openApp();
    await uploadThere(t, 6);
    expect(await uploadHere(t)).toBe(10 * SECOND);
    vi.setSystemTime(NOW + 60 * SECOND);
    await t.mutation(async (ctx) => await both.limits.resetRateLimit(ctx, { name: "upload", key: "ada" }));
    for (let i = 0; i < 6; i++) expect(await uploadHere(t)).toBe("uploaded");
    expect(await uploadHere(t)).toBe(10 * SECOND);
  });

  it.each(["here, after a call", "in both, before any call"])(
    "a reset %s leaves nothing to carry over",
    async (when) => {
      const t = openApp();
      await uploadThere(t, 5);
      if (when.startsWith("here")) {
        expect(await uploadHere(t)).toBe("uploaded");
        await t.mutation(async (ctx) => await both.limits.resetRateLimit(ctx, { name: "upload", key: "ada" }));
      } else
        await t.mutation(async (ctx) => {
          await both.reset(ctx, "upload", "ada");
        });
      for (let i = 0; i < 6; i++) expect(await uploadHere(t)).toBe("uploaded");
      expect(await uploadHere(t)).toBe(10 * SECOND);
    },
  );

  it("starts full for a key that the old limiter never saw, and ignores other keys", async () => {
    const t = openApp();
    await t.mutation(async (ctx) => await both.official.limit(ctx, "upload", { key: "bob", count: 6 }));
    for (let i = 0; i < 6; i++) expect(await uploadHere(t)).toBe("uploaded");
    expect(await uploadHere(t)).toBe(10 * SECOND);
  });
});
