/** What must not compile does not compile. `tsc -p .` is the judge; at run time these calls are misuse. */
import { RateLimiter } from "convex-rate-limits/compat";
import { expect, it } from "vitest";
import { component, openBackend } from "../support/places.js";

const bucket = { kind: "token bucket", rate: 2, period: 1000 } as const;
const limiter = new RateLimiter(component, { send: bucket });

it("a name that is not defined needs a config", async () => {
  const t = openBackend();
  await t.mutation(async (ctx) => {
    expect(await limiter.limit(ctx, "other", { config: bucket })).toEqual({ ok: true });
    // @ts-expect-error -- No config.
    await expect(limiter.limit(ctx, "sned")).rejects.toThrow('Rate limit "sned": is not one of your limits ("send")');
    // @ts-expect-error -- No config.
    await expect(limiter.check(ctx, "sned", { key: "ada" })).rejects.toThrow("without a definition give its config");
    // @ts-expect-error -- No config.
    await expect(limiter.getValue(ctx, "sned")).rejects.toThrow("without a definition give its config");
  });
});

it("a call that asks for nothing known is refused by the compiler", async () => {
  const t = openBackend();
  await t.mutation(async (ctx) => {
    // @ts-expect-error -- It is spelt `reserve`.
    expect(await limiter.limit(ctx, "send", { reserved: true })).toEqual({ ok: true });
  });
});
