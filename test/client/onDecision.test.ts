// @vitest-environment edge-runtime
/** `onDecision`: told of each decision, in the caller's transaction. */
import { defineRateLimits, type RateLimitDecision } from "convex-rate-limits";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { convexTest } from "convex-test";
import { beforeEach, describe, expect, it } from "vitest";
import { defineIn, type MutationCtx, openBackend, placeNames, rowsIn } from "../support/places.js";
import { NOW, openQueue, run, useClock } from "../support/jobs.js";

useClock();

const bucket = { kind: "token bucket", rate: 2, period: 1000 } as const;
const definitions = {
  send: bucket,
  mine: { ...bucket, keyed: true, throws: true },
  tried: { ...bucket, mode: "shadow" },
} as const;
const config = { ...bucket, capacity: 2 };

describe.each(placeNames)("in the %s", (place) => {
  let told: RateLimitDecision[] = [];
  let contexts: unknown[] = [];
  beforeEach(() => {
    told = [];
    contexts = [];
  });
  const limits = defineIn(place, definitions, {
    onDecision: (ctx, decision) => {
      contexts.push(ctx);
      told.push(decision);
    },
  });
  const take = (t: ReturnType<typeof openBackend>, args: Parameters<typeof limits.rateLimit>[1]) =>
    t.mutation((ctx) => limits.rateLimit(ctx, args));

  it("is told who asked for what, the answer, and the config that decided", async () => {
    const t = openBackend();
    const status = await take(t, { name: "mine", key: "a", count: 1.5, reserve: { within: 5 } });
    const decision = {
      name: "mine",
      key: "a",
      count: 1.5,
      reserve: { within: 5 },
      status,
      mode: "enforce",
      config: bucket,
    };
    expect(told).toEqual([decision]);
    const denied = await take(t, { name: "mine", key: "a", throws: false });
    expect(denied).toMatchObject({ ok: false });
    expect(told[1]).toEqual({ ...decision, count: 1, reserve: false, status: denied });
  });

  it("is told what sufficed, and how much was taken", async () => {
    const t = openBackend();
    await take(t, { name: "send", count: 9, atLeast: 1 });
    expect(told).toMatchObject([{ count: 9, atLeast: 1, status: { ok: true, taken: 2 } }]);
  });

  it("is told before a denial is thrown, and of the true answer in shadow", async () => {
    const t = openBackend();
    await t.mutation(async (ctx) => {
      await limits.rateLimit(ctx, { name: "mine", key: "a", count: 2 });
      await expect(limits.rateLimit(ctx, { name: "mine", key: "a" })).rejects.toThrow();
      await limits.rateLimit(ctx, { name: "tried", count: 2 });
      expect(await limits.rateLimit(ctx, { name: "tried" })).toMatchObject({ ok: true });
      expect(contexts).toEqual([ctx, ctx, ctx, ctx]);
    });
    expect(told.map(({ mode, status }) => [mode, status.ok])).toEqual([
      ["enforce", true],
      ["enforce", false],
      ["shadow", true],
      ["shadow", false],
    ]);
    expect(told[3]?.status).toEqual({ ok: false, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 1000 });
  });

  it("of several limits each is told of; when some deny, these", async () => {
    const t = openBackend();
    const all = (...requests: { name: string; key?: string; count?: number }[]) =>
      t.mutation((ctx) => limits.rateLimitAll(ctx, requests, { throws: false }));
    await all({ name: "send" }, { name: "mine", key: "a", count: 2 }, { name: "tried", count: 2 });
    expect(told.map(({ name, count, status }) => [name, count, status.ok])).toEqual([
      ["send", 1, true],
      ["mine", 2, true],
      ["tried", 2, true],
    ]);
    told = [];
    await all({ name: "send" }, { name: "mine", key: "a" }, { name: "tried" });
    expect(told.map(({ name, status }) => [name, status.ok])).toEqual([
      ["mine", false],
      ["tried", false],
    ]);
    told = [];
    // In shadow a denial stops no other.
    await all({ name: "send" }, { name: "tried" });
    expect(told.map(({ name, status }) => [name, status.ok])).toEqual([
      ["send", true],
      ["tried", false],
    ]);
  });

  it("is told of a job's reservation, and not of checks, adjustments and resets", async () => {
    const { t } = openQueue();
    await t.mutation(async (ctx) => {
      await limits.scheduleRateLimited(ctx, { name: "send", count: 3 - 1 }, run, { label: "job", tokens: 1 });
      await limits.checkRateLimit(ctx, { name: "send" });
      await limits.checkRateLimitAll(ctx, [{ name: "send" }]);
      await limits.adjustRateLimit(ctx, { name: "send", count: 1 });
      await limits.getRateLimit(ctx, { name: "send" });
      await limits.resetRateLimit(ctx, { name: "send" });
    });
    expect(told).toMatchObject([{ name: "send", count: 2, status: { ok: true } }]);
  });

  it("misuse is no decision", async () => {
    const t = openBackend();
    await expect(take(t, { name: "send", count: 3 })).rejects.toThrow("can never be served");
    expect(told).toEqual([]);
  });

  it("cannot change the decision, nor the definition", async () => {
    const t = openBackend();
    const vandal = defineIn(place, definitions, {
      onDecision: (_ctx, decision) => {
        Object.assign(decision.status, { ok: !decision.status.ok, remaining: 99 });
        Object.assign(decision.config, { capacity: 99, rate: 99 });
      },
    });
    for (const ok of [true, true, false, false]) {
      expect(await t.mutation((ctx) => vandal.rateLimit(ctx, { name: "send" }))).toMatchObject({ ok });
    }
    const { config: kept } = await t.query((ctx) => vandal.getRateLimit(ctx, { name: "send" }));
    expect(kept).toEqual(config);
  });

  it("what it throws is the call's error, and undoes the call with the mutation", async () => {
    const t = openBackend();
    const strict = defineIn(place, definitions, {
      onDecision: () => {
        throw new Error("the log is full");
      },
    });
    await expect(t.mutation((ctx) => strict.rateLimit(ctx, { name: "send" }))).rejects.toThrow("the log is full");
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("what it throws gives the tokens back, also where nothing rolls back: the error is caught, or the caller is an action", async () => {
    const { t } = openQueue();
    const isBroken = { now: false };
    const own = defineIn(
      place,
      {
        third: { kind: "token bucket", rate: 1, period: 7000, capacity: 3, maxReserved: 9 },
        window: { kind: "sliding window", rate: 3, period: 1000 },
        tried: { ...bucket, mode: "shadow" },
      },
      {
        onDecision: () => {
          if (isBroken.now) throw new Error("the log is full");
        },
      },
    );
    const third = { name: "third", count: 1 / 3 };
    const job = { label: "job", tokens: 1 };
    const takings: ((ctx: MutationCtx) => Promise<unknown>)[] = [
      (ctx) => own.rateLimit(ctx, third),
      (ctx) => own.rateLimit(ctx, { name: "third", count: 2.5, atLeast: 0 }),
      (ctx) => own.rateLimit(ctx, { name: "third", count: 4, reserve: true }),
      (ctx) => own.rateLimit(ctx, { name: "window" }),
      (ctx) => own.rateLimit(ctx, { name: "tried" }),
      (ctx) => own.rateLimitAll(ctx, [third, { name: "window" }, third, { name: "tried" }, third]),
      (ctx) => own.scheduleRateLimited(ctx, { name: "third", count: 2 }, run, job),
    ];
    const shown = (ctx: MutationCtx) =>
      Promise.all(["third", "window", "tried"].map((name) => own.checkRateLimit(ctx, { name, count: 0 })));
    await t.mutation(async (ctx) => {
      for (const name of ["third", "window", "tried"]) await own.rateLimit(ctx, { name });
    });
    const before = await t.query((ctx) => shown(ctx as MutationCtx));
    isBroken.now = true;
    for (const take of takings) {
      await t.mutation(async (ctx) => {
        await expect(take(ctx)).rejects.toThrow("the log is full");
        expect(await shown(ctx)).toEqual(before);
      });
      if (place === "component") {
        const inAction = async (ctx: unknown) => await take(ctx as MutationCtx).then(String, String);
        expect(await t.action(inAction)).toBe("Error: the log is full");
        expect(await t.query((ctx) => shown(ctx as MutationCtx))).toEqual(before);
      }
    }
    // What a limit in shadow has denied was not taken.
    const twice = { name: "tried", count: 2 };
    await t.mutation(async (ctx) => {
      await expect(own.rateLimit(ctx, twice)).rejects.toThrow("the log is full");
    });
    expect(await t.query((ctx) => shown(ctx as MutationCtx))).toEqual(before);
  });

  it("may ask limits itself", async () => {
    const t = openBackend();
    const plain = defineIn(place, definitions);
    const asking = defineIn(place, definitions, {
      onDecision: async (ctx, { status }) => {
        if (status.ok) await plain.adjustRateLimit(ctx, { name: "mine", key: "shadow", count: 1 });
      },
    });
    await t.mutation((ctx) =>
      Promise.all([asking.rateLimit(ctx, { name: "send" }), asking.rateLimit(ctx, { name: "send" })]),
    );
    const { value } = await t.query((ctx) => plain.getRateLimit(ctx, { name: "mine", key: "shadow" }));
    expect(value).toBe(0);
  });
});

it("writes in the caller's transaction: a denial that is returned is kept, one that is thrown is not", async () => {
  const { rateLimitTables } = await import("convex-rate-limits/schema");
  const schema = defineSchema({ ...rateLimitTables, denials: defineTable({ name: v.string() }) });
  const t = convexTest({ schema, modules: { "./_generated/api.ts": async () => await Promise.resolve({}) } });
  type Ctx = MutationCtx & { db: { insert: (table: "denials", row: { name: string }) => Promise<unknown> } };
  const { rateLimit } = defineRateLimits(
    { send: bucket },
    {
      onDecision: async (ctx: Ctx, { name, status }) => {
        if (!status.ok) await ctx.db.insert("denials", { name });
      },
    },
  );
  const send = (throws: boolean) =>
    t.mutation(async (ctx) => await rateLimit(ctx as unknown as Ctx, { name: "send", throws }));
  await send(true);
  await send(true);
  await expect(send(true)).rejects.toThrow();
  const denials = () => t.query((ctx) => ctx.db.query("denials").collect());
  expect(await denials()).toHaveLength(0);
  await send(false);
  expect(await denials()).toMatchObject([{ name: "send" }]);
});
