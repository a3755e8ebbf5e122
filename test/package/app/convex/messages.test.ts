import { convexTest } from "convex-test";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from "vitest";
import { isRateLimitError } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import { register } from "convex-rate-limits/test";
import { api, components } from "./_generated/api";
import innerSchema from "./inner/schema";
import schema from "./schema";

const modules = import.meta.glob(["./**/*.ts", "!./inner/**"]);
const innerModules = import.meta.glob("./inner/**/*.ts");

// No window ends between two calls.
beforeEach(() => vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) }));
afterEach(() => vi.useRealTimers());

function openApp() {
  const t = convexTest({ schema, modules });
  register(t);
  register(t, "others");
  t.registerComponent("inner", innerSchema, innerModules);
  register(t, "inner/rateLimits");
  return t;
}

describe("an app that installed the package", () => {
  it.each([api.messages.send, api.messages.sendViaComponent])("limits its messages in either place", async (send) => {
    const t = openApp();
    const message = { author: "ada", body: "hello" };
    await t.mutation(send, message);
    await t.mutation(send, message);
    const denial: unknown = await t.mutation(send, message).catch((error: unknown) => error);
    if (!isRateLimitError(denial)) throw denial;
    expect(denial.data).toMatchObject({ kind: "RateLimited", name: "send" });
    // The error reaches the client, so it does not contain the key that the server chose.
    expect(denial.data).not.toHaveProperty("key");
    await t.mutation(send, { ...message, author: "grace" });
    expect(await t.run((ctx) => ctx.db.query("messages").collect())).toHaveLength(3);
  });

  it("limits an action through the component", async () => {
    const t = openApp();
    expect(await t.action(api.messages.signUp, {})).toMatchObject({ ok: true, remaining: 0 });
    expect(await t.action(api.messages.signUp, {})).toMatchObject({ ok: false });
  });

  it("counts separately in each instance of the component, also in one inside another component", async () => {
    const t = openApp();
    expect(await t.mutation(api.messages.everywhere, {})).toEqual([true, true, true, true]);
    expect(await t.mutation(api.messages.everywhere, {})).toEqual([false, false, false, false]);
    // The generated types of the instances.
    const { rateLimits, others, inner } = components;
    for (const { consume } of [rateLimits.public, others.public])
      expectTypeOf(consume._args.name).toEqualTypeOf<string>();
    expectTypeOf(inner.letters.post._args).toEqualTypeOf<{ body: string }>();
  });

  it("shows a client what is left, from either place", async () => {
    const t = openApp();
    await t.mutation(api.messages.send, { author: "ada", body: "hello" });
    const { tables, component } = await t.query(api.messages.left, { author: "ada" });
    expect(projectRateLimit(tables, { now: tables.ts }).remaining).toBe(0);
    expect(projectRateLimit(component, { now: tables.ts }).remaining).toBe(1);
  });
});
