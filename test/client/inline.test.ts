// @vitest-environment edge-runtime
/** The functions without definitions, those of `defineRateLimits({})`: the config comes with the call. */
import type { RateLimitConfig } from "convex-rate-limits";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defineIn, type MutationCtx, openBackend, placeNames, rowsIn } from "../support/places.js";

const NOW = 1_700_000_000_000;
const config: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000 };
const bucket = { name: "send", key: "a" };
const args = { ...bucket, config };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(placeNames)("in the %s", (place) => {
  const { adjustRateLimit, checkRateLimit, checkRateLimitAll, getRateLimit, rateLimit, rateLimitAll, resetRateLimit } =
    defineIn(place, {});
  const other = place === "component" ? "tables" : "component";

  it("they share their bucket with a defined limit of the same name, and leave the other place alone", async () => {
    const t = openBackend();
    const defined = defineIn(place, { send: config });
    await t.mutation(async (ctx) => {
      expect(await rateLimit(ctx, args)).toEqual({ ok: true, remaining: 1, resetAt: NOW + 500 });
      expect(await defined.checkRateLimit(ctx, bucket)).toMatchObject({ ok: true, remaining: 0 });
      expect(await defined.rateLimit(ctx, bucket)).toMatchObject({ ok: true });
      expect(await checkRateLimit(ctx, args)).toMatchObject({ ok: false, retryAt: NOW + 500 });
      expect(await getRateLimit(ctx, args)).toMatchObject({
        name: "send",
        value: 0,
        ts: NOW,
        config: { ...config, capacity: 2 },
        parts: [{ value: 0, ts: NOW }],
      });
    });
    expect(await rowsIn(place, t)).toHaveLength(1);
    expect(await rowsIn(other, t)).toEqual([]);
    await t.mutation(async (ctx) => {
      expect(await resetRateLimit(ctx, args)).toBeNull();
      expect(await checkRateLimit(ctx, args)).toMatchObject({ ok: true, remaining: 1 });
    });
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("several at once and an adjustment share the buckets with the others", async () => {
    const t = openBackend();
    const requests = [
      args,
      { name: "window", config: { kind: "fixed window", rate: 5, period: 1000, start: 0 } as const },
    ];
    await t.mutation(async (ctx) => {
      const all = await rateLimitAll(ctx, requests);
      const checked = await checkRateLimitAll(ctx, requests, { throws: true });
      expect(all.statuses).toMatchObject([{ remaining: 1 }, { remaining: 4 }]);
      expect(checked.statuses).toMatchObject([{ remaining: 0 }, { remaining: 3 }]);
      expect(await adjustRateLimit(ctx, { ...args, count: 3 })).toMatchObject({ ok: true, retryAt: NOW + 1000 });
      expect(await getRateLimit(ctx, args)).toMatchObject({ value: -2 });
    });
    expect(await rowsIn(place, t)).toHaveLength(2);
    expect(await rowsIn(other, t)).toEqual([]);
  });

  it("a reset without a name or with an empty key is misuse", async () => {
    const t = openBackend();
    await t.mutation(async (ctx) => await rateLimit(ctx, args));
    const before = await rowsIn(place, t);
    const reset = (wrong: object) => t.mutation(async (ctx) => await resetRateLimit(ctx, { ...args, ...wrong }));
    await expect(reset({ name: "" })).rejects.toThrow(/^A rate limit's name must be .*, got ""\.$/);
    await expect(reset({ key: "" })).rejects.toThrow('Rate limit "send": key must be a non-empty string, got "".');
    expect(await rowsIn(place, t)).toEqual(before);
  });

  it("without a config the message says so, whatever is asked", async () => {
    const t = openBackend();
    const problem =
      'Rate limit "send": is not one of your limits (none is defined); give its config to use it without a definition.';
    const calls: ((ctx: MutationCtx) => Promise<unknown>)[] = [
      (ctx) => rateLimit(ctx, bucket),
      (ctx) => checkRateLimit(ctx, bucket),
      (ctx) => getRateLimit(ctx, bucket),
      (ctx) => resetRateLimit(ctx, bucket),
    ];
    for (const call of calls) {
      await expect(t.mutation(call)).rejects.toThrow(problem);
    }
  });

  it("the place is chosen where the limits are defined: a call that names a component is misuse", async () => {
    const t = openBackend();
    const call = t.mutation(async (ctx) => await rateLimit(ctx, { ...args, component: {} } as typeof args));
    await expect(call).rejects.toThrow('Rate limit "send": "component" is not a field of rateLimit');
    expect(await rowsIn(place, t)).toEqual([]);
  });
});
