/** The free forms: the config comes with the call, and so may the component. */
import {
  adjustRateLimit,
  checkRateLimit,
  checkRateLimitAll,
  getRateLimit,
  rateLimit,
  rateLimitAll,
  type RateLimitConfig,
  resetRateLimit,
} from "convex-rate-limits";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { component, defineIn, openBackend, placeNames, rowsIn } from "../support/places.js";

const NOW = 1_700_000_000_000;
const config: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(placeNames)("in the %s home", (home) => {
  const args = { name: "send", key: "a", config, ...(home === "component" ? { component } : {}) };
  const bucket = { name: "send", key: "a", ...(home === "component" ? { component } : {}) };
  const other = home === "component" ? "tables" : "component";

  it("they share their bucket with a defined limit of the same name, and leave the other home alone", async () => {
    const t = openBackend();
    const defined = defineIn(home, { send: config });
    await t.mutation(async (ctx) => {
      expect(await rateLimit(ctx, args)).toEqual({ ok: true, remaining: 1, resetAt: NOW + 500 });
      expect(await defined.checkRateLimit(ctx, { name: "send", key: "a" })).toMatchObject({ ok: true, remaining: 0 });
      expect(await defined.rateLimit(ctx, { name: "send", key: "a" })).toMatchObject({ ok: true });
      expect(await checkRateLimit(ctx, args)).toMatchObject({ ok: false, retryAt: NOW + 500 });
      expect(await getRateLimit(ctx, args)).toEqual({
        name: "send",
        value: 0,
        ts: NOW,
        config: { ...config, capacity: 2 },
      });
    });
    expect(await rowsIn(home, t)).toHaveLength(1);
    expect(await rowsIn(other, t)).toEqual([]);
    await t.mutation(async (ctx) => {
      expect(await resetRateLimit(ctx, bucket)).toBeNull();
      expect(await checkRateLimit(ctx, args)).toMatchObject({ ok: true, remaining: 1 });
    });
    expect(await rowsIn(home, t)).toEqual([]);
  });

  it("several at once and an adjustment share the buckets with the others", async () => {
    const t = openBackend();
    const requests = [
      { name: "send", key: "a", config },
      { name: "window", config: { kind: "fixed window", rate: 5, period: 1000, start: 0 } as const },
    ];
    await t.mutation(async (ctx) => {
      const [all, checked] =
        home === "component"
          ? [
              await rateLimitAll(ctx, requests, { component }),
              await checkRateLimitAll(ctx, requests, { component, throws: true }),
            ]
          : [await rateLimitAll(ctx, requests), await checkRateLimitAll(ctx, requests, { throws: true })];
      expect(all.statuses).toMatchObject([{ remaining: 1 }, { remaining: 4 }]);
      expect(checked.statuses).toMatchObject([{ remaining: 0 }, { remaining: 3 }]);
      expect(await adjustRateLimit(ctx, { ...args, count: 3 })).toMatchObject({ ok: true, retryAt: NOW + 1000 });
      expect(await getRateLimit(ctx, args)).toMatchObject({ value: -2 });
    });
    expect(await rowsIn(home, t)).toHaveLength(2);
    expect(await rowsIn(other, t)).toEqual([]);
  });

  it("a reset without a name or with an empty key is misuse", async () => {
    const t = openBackend();
    await t.mutation(async (ctx) => await rateLimit(ctx, args));
    const before = await rowsIn(home, t);
    const reset = (wrong: object) => t.mutation(async (ctx) => await resetRateLimit(ctx, { ...bucket, ...wrong }));
    await expect(reset({ name: "" })).rejects.toThrow(`A rate limit's name must be a non-empty string, got "".`);
    await expect(reset({ key: "" })).rejects.toThrow('Rate limit "send": key must be a non-empty string, got "".');
    expect(await rowsIn(home, t)).toEqual(before);
  });

  it("without a config the message says so", async () => {
    const t = openBackend();
    const bare = { ...args, config: undefined } as unknown as typeof args;
    const problem = 'Rate limit "send": config must be given, since no limit of that name is defined (none is).';
    await expect(t.mutation(async (ctx) => await rateLimit(ctx, bare))).rejects.toThrow(problem);
  });
});
