/** Plans in a definition: which of its configs holds is said by name, with each call. */
import type { RateLimitDecision } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { defineIn, type MutationCtx, placeNames, rowsIn } from "../support/places.js";
import { NOW, openQueue, useClock } from "../support/jobs.js";
import { makeFunctionReference } from "convex/server";
import { DAY, MINUTE } from "convex-rate-limits";

useClock();

const definitions = {
  generate: {
    kind: "fixed window",
    period: DAY,
    start: 0,
    keyed: true,
    overrides: true,
    plans: { free: { rate: 2 }, pro: { rate: 10 }, metered: { kind: "fixed window", rate: 10, capacity: 100 } },
  },
  mixed: {
    period: MINUTE,
    plans: { steady: { kind: "token bucket", rate: 6 }, strict: { kind: "sliding window", rate: 3 } },
  },
  plain: { kind: "token bucket", rate: 5, period: MINUTE },
} as const;
const send = makeFunctionReference<"mutation", Record<string, never>>("jobs:send");

describe.each(placeNames)("in the %s", (place) => {
  const limits = defineIn(place, definitions);
  const inOne = async <Result>(run: (ctx: MutationCtx) => Promise<Result>) => await openQueue().t.mutation(run);
  const of = (plan: string, key = "a") => ({ name: "generate", key, plan });

  it("the plan that a call names decides", async () => {
    const statuses = await inOne(async (ctx) => [
      await limits.rateLimit(ctx, { ...of("free"), count: 2 }),
      await limits.checkRateLimit(ctx, of("free")),
      await limits.rateLimit(ctx, { ...of("pro", "b"), count: 9 }),
      await limits.rateLimit(ctx, { name: "mixed", plan: "steady", count: 6 }),
    ]);
    expect(statuses).toMatchObject([{ ok: true, remaining: 0 }, { ok: false }, { remaining: 1 }, { remaining: 0 }]);
  });

  it("plans may be of several kinds, and a plan's field stands before the shared one", async () => {
    const statuses = await inOne(async (ctx) => [
      await limits.checkRateLimit(ctx, { name: "mixed", plan: "strict" }),
      await limits.checkRateLimit(ctx, of("metered")),
    ]);
    expect(statuses).toMatchObject([{ remaining: 2 }, { remaining: 99 }]);
  });

  it("several limits at once name their plans", async () => {
    const all = await inOne((ctx) =>
      limits.rateLimitAll(ctx, [of("free"), { name: "mixed", plan: "strict", count: 2 }, { name: "plain" }]),
    );
    expect(all).toMatchObject({ ok: true, statuses: [{ remaining: 1 }, { remaining: 1 }, { remaining: 4 }] });
  });

  it("a job that was scheduled under a plan gives back under it", async () => {
    const held = await inOne(async (ctx) => {
      const scheduled = await limits.scheduleRateLimited(ctx, { ...of("pro"), count: 4 }, send);
      if (!scheduled.ok) throw new Error("denied");
      await limits.cancelRateLimited(ctx, scheduled.job);
      return await limits.checkRateLimit(ctx, { ...of("pro"), count: 10 });
    });
    expect(held).toMatchObject({ ok: true, remaining: 0 });
  });

  it("adjusts under a plan, and resets without one", async () => {
    const statuses = await inOne(async (ctx) => [
      await limits.adjustRateLimit(ctx, { ...of("pro"), count: 10 }),
      await limits.checkRateLimit(ctx, of("pro")),
      await limits.resetRateLimit(ctx, { name: "generate", key: "a" }),
      await limits.checkRateLimit(ctx, { ...of("pro"), count: 10 }),
    ]);
    expect(statuses).toMatchObject([{ remaining: 0 }, { ok: false }, null, { ok: true }]);
  });

  it("an override may be another plan", async () => {
    const held = await inOne(async (ctx) => {
      await limits.overrideRateLimit(ctx, { ...of("pro"), until: NOW + DAY });
      return await limits.checkRateLimit(ctx, { ...of("free"), count: 10 });
    });
    expect(held).toMatchObject({ ok: true, remaining: 0 });
  });

  it("a sweep keeps the rows that any plan still counts", async () => {
    const { t } = openQueue();
    await t.mutation((ctx) => limits.rateLimit(ctx, { name: "mixed", plan: "steady" }));
    const next = makeFunctionReference<"mutation", { cursor?: string }>("jobs:send");
    await t.mutation((ctx) => limits.sweepRateLimits(ctx as never, { next }));
    expect(await rowsIn(place, t)).toHaveLength(1);
  });

  it("a list shows what keys hold under a plan", async () => {
    const page = await inOne(async (ctx) => {
      await limits.rateLimit(ctx, of("pro"));
      return await limits.listRateLimits(ctx, { name: "generate", plan: "pro" } as never);
    });
    expect(page.page).toMatchObject([{ key: "a", remaining: 8 }]);
  });

  it("the hook for decisions is told the plan", async () => {
    const told: RateLimitDecision[] = [];
    const watched = defineIn(place, definitions, { onDecision: (_ctx, decision) => void told.push(decision) });
    await inOne((ctx) => watched.rateLimit(ctx, of("pro")));
    expect(told).toMatchObject([{ plan: "pro", config: { kind: "fixed window", rate: 10, period: DAY } }]);
  });

  it.each([
    [{ name: "generate", key: "a" }, 'plan must be "free" or "pro" or "metered", got undefined'],
    [of("gold"), 'plan must be "free" or "pro" or "metered", got "gold"'],
    [of("toString"), 'plan must be "free" or "pro" or "metered", got "toString"'],
    [{ name: "plain", plan: "pro" }, 'plan must be left out (the limit has no plans), got "pro"'],
    [{ ...of("pro"), config: { kind: "token bucket", rate: 1, period: 1 } }, "plan and config cannot be had together"],
  ] as const)("%o is misuse, and nothing is written", async (args, message) => {
    const { t } = openQueue();
    await expect(t.mutation((ctx) => limits.rateLimit(ctx, args as never))).rejects.toThrow(message);
    await expect(t.mutation((ctx) => limits.getRateLimit(ctx, args as never))).rejects.toThrow(message);
    expect(await rowsIn(place, t)).toHaveLength(0);
  });

  it.each([
    [{ plans: {} }, "plans must be an object of one or more plans by name"],
    [{ plans: [{ rate: 1 }] }, "plans must be an object of one or more plans by name"],
    [{ plans: { free: { rate: 1 }, pro: { rate: 0 } } }, 'plan "pro": rate must be'],
    [{ plans: { free: 7 } }, 'plan "free" must be an object, got 7'],
    [{ plans: { free: { rate: 1, keyed: true } } }, '"keyed" is no field of'],
    [{ plans: { free: { rate: 1, shards: 4 } } }, "shards must be left out of a plan"],
    [{ plans: { free: { rate: 1 } }, queue: {} }, "plans and queue cannot be had together"],
  ])("a definition with %o fails when the module loads", (more, message) => {
    const broken = { kind: "token bucket", period: MINUTE, ...more };
    expect(() => defineIn(place, { generate: broken } as never)).toThrow(message);
  });
});
