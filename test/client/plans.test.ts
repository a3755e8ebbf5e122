/** Plans in a definition: each call names the plan whose config applies. */
import { DAY, MINUTE } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { defineIn, placeNames } from "../support/places.js";
import { NOW, useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";
import { makeFunctionReference } from "convex/server";

useClock();

const definitions = {
  generate: {
    kind: "fixed window",
    period: DAY,
    start: 0,
    keyed: true,
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
  const { define, rows } = useBackend(place);
  const limits = define(definitions);
  const { rateLimit, checkRateLimit } = limits;
  const PLANS = 'plan must be "free" or "pro" or "metered", got';
  const of = (plan: string, key = "a") => ({ name: "generate", key, plan });

  it("the plan that a call names decides, plans may be of several kinds, and a plan's field overrides the shared one", async () => {
    expect(await rateLimit({ ...of("free"), count: 2 })).toMatchObject({ ok: true, remaining: 0 });
    expect(await checkRateLimit(of("free"))).toMatchObject({ ok: false });
    expect(await rateLimit({ ...of("pro", "b"), count: 9 })).toMatchObject({ remaining: 1 });
    expect(await checkRateLimit({ name: "mixed", plan: "strict" })).toMatchObject({ remaining: 2 });
    expect(await rateLimit({ name: "mixed", plan: "steady", count: 6 })).toMatchObject({ remaining: 0 });
    expect(await checkRateLimit(of("metered", "c"))).toMatchObject({ remaining: 99 });
  });

  it("every function takes the plan: several limits, a job that is cancelled, an adjustment, an override and a list", async () => {
    const all = await limits.rateLimitAll([of("free"), { name: "mixed", plan: "strict", count: 2 }, { name: "plain" }]);
    expect(all).toMatchObject({ ok: true, statuses: [{ remaining: 1 }, { remaining: 1 }, { remaining: 4 }] });
    expect(await limits.resetRateLimit({ name: "generate", key: "a" })).toBeNull();
    const { job } = await limits.scheduleRateLimited({ ...of("pro"), count: 4 }, send);
    await limits.cancelRateLimited(job);
    expect(await limits.adjustRateLimit({ ...of("pro"), count: 9 })).toMatchObject({ remaining: 1 });
    const { page } = await limits.listRateLimits({ name: "generate", plan: "metered" });
    // A larger plan keeps what is there of a window that carries tokens over.
    expect(page).toMatchObject([{ key: "a", value: 1, ok: true, remaining: 0 }]);
    expect(await limits.listRateLimits({ name: "generate", plan: "free" })).toMatchObject({ page: [{ ok: false }] });
    await limits.overrideRateLimit({ ...of("pro", "b"), until: NOW + DAY });
    expect(await checkRateLimit({ ...of("free", "b"), count: 10 })).toMatchObject({ ok: true, remaining: 0 });
  });

  it("a sweep keeps the rows that any plan still counts", async () => {
    await rateLimit({ name: "mixed", plan: "steady" });
    await limits.sweepRateLimits({ next: send });
    expect(await rows()).toHaveLength(1);
  });

  it("a call that may leave the plan out follows the row that was written last", async () => {
    for (const [ms, plan] of ["steady", "strict", "steady"].entries()) {
      vi.setSystemTime(NOW + ms);
      await rateLimit({ name: "mixed", plan });
      expect(await limits.getRateLimit({ name: "mixed" })).toMatchObject({ plan });
    }
  });

  it("plan: undefined is the same as no plan", async () => {
    expect(await rateLimit({ name: "plain", plan: undefined })).toMatchObject({ ok: true });
    await expect(rateLimit({ ...of("pro"), plan: undefined })).rejects.toThrow(`${PLANS} undefined`);
  });

  it.each([
    [{ name: "generate", key: "a" }, `${PLANS} undefined`],
    [of("gold"), `${PLANS} "gold"`],
    [of("toString"), `${PLANS} "toString"`],
    [{ name: "plain", plan: "pro" }, 'plan must be left out (the limit has no plans), got "pro"'],
    [{ ...of("pro"), config: { kind: "token bucket", rate: 1, period: 1 } }, "plan and config cannot be combined"],
  ])("%o is misuse, and nothing is written", async (args, message) => {
    await expect(rateLimit(args)).rejects.toThrow(message);
    // A pause means the same under every plan, so that it needs none; a wrong one is misuse all the same.
    if ("plan" in args) await expect(limits.pauseRateLimit({ ...args, until: NOW + 1000 })).rejects.toThrow(message);
    if ("plan" in args) await expect(limits.getRateLimit(args)).rejects.toThrow(message);
    if ("config" in args) await expect(limits.overrideRateLimit(args)).rejects.toThrow(message);
    expect(await rows()).toHaveLength(0);
  });

  it.each([
    [{ plans: {} }, "plans must be an object of one or more plans by name"],
    [{ plans: [{ rate: 1 }] }, "plans must be an object of one or more plans by name"],
    [{ plans: { free: { rate: 1 }, pro: { rate: 0 } } }, 'plan "pro": rate must be'],
    ...["", "\ud800", "p".repeat(129)].map((plan): [object, string] => [
      { plans: { free: { rate: 1 }, [plan]: { rate: 2 } } },
      "the name of a plan must be a well-formed string of 1 to 128 characters",
    ]),
    [{ plans: { free: 7 } }, 'plan "free" must be an object, got 7'],
    [{ plans: { free: { rate: 1, keyed: true } } }, '"keyed" is not a field of'],
    ...[4, undefined].map((shards): [object, string] => [
      { shards: 4, plans: { free: { rate: 1, shards } } },
      "shards must be left out of a plan",
    ]),
    [
      { shards: 4, plans: { free: { rate: 1 }, pro: { rate: 2 }, odd: { kind: "sliding window", rate: 1 } } },
      'plan "odd" must be a token bucket, since the limit has shards, got a sliding window with period 60000.',
    ],
    [
      { kind: "fixed window", shards: "auto", plans: { free: { rate: 1 }, pro: { rate: 2, period: "day" } } },
      'plan "pro" must be a fixed window with period 60000, since the limit has shards, got a fixed window with period "day".',
    ],
  ])("a definition with %o fails when the module loads", (more, message) => {
    const broken = { kind: "token bucket", period: MINUTE, ...more };
    expect(() => defineIn(place, { generate: broken } as never)).toThrow(message);
  });

  it.each([
    { kind: "token bucket", shards: 4, plans: { free: { rate: 1 }, pro: { rate: 2, period: 1000 } } },
    { kind: "fixed window", shards: 4, plans: { free: { rate: 1 }, pro: { rate: 2, start: 500 } } },
    { kind: "token bucket", shards: 1, plans: { free: { rate: 1 }, strict: { kind: "sliding window", rate: 2 } } },
  ])("plans that share a bucket may have shards, and others one row: %o", (definition) => {
    expect(() => defineIn(place, { generate: { period: MINUTE, ...definition } } as never)).not.toThrow();
  });

  it("an override of a limit with shards is of its kind and period", async () => {
    const spread = define({ hot: { kind: "fixed window", rate: 100, period: MINUTE, shards: 4 } });
    const override = (config: object) => spread.overrideRateLimit({ name: "hot", config });
    const must = 'Rate limit "hot": config must be a fixed window with period 60000, since the limit has shards, got a';
    const others = [
      [{ kind: "token bucket", rate: 5, period: MINUTE }, "token bucket"],
      [{ kind: "fixed window", rate: 5, period: DAY }, "fixed window with period 86400000"],
    ] as const;
    for (const [config, got] of others) await expect(override(config)).rejects.toThrow(`${must} ${got}.`);
    expect(await rows()).toHaveLength(0);
    expect(await override({ kind: "fixed window", rate: 5, period: MINUTE, start: 7 })).toBeNull();
    expect(await limits.overrideRateLimit({ name: "plain", config: others[1][0] })).toBeNull();
  });
});

const BIG = { kind: "token bucket", rate: 50_000, period: DAY } as const;
const tokens = { kind: "token bucket", period: DAY, keyed: true } as const;
const plans = { free: { rate: 5000 }, pro: { rate: 50_000 } } as const;
type Handler = (ctx: object, args: object) => Promise<unknown>;

describe.each(placeNames)("rows in the %s record the plan or config that they were written under", (place) => {
  const { define, query, rows, insert } = useBackend(place);
  const cut = { ...tokens, shards: { atLeast: 4, atMost: 4 } } as const;
  const definitions = {
    tokens: { ...tokens, plans },
    split: { ...cut, plans },
    /** A limit whose plans are split into rows alike. */
    alike: { ...cut, plans: { one: { rate: 400 }, two: { rate: 400 } } },
    all: { kind: "token bucket", period: DAY, plans },
    config: { ...tokens, rate: 5000 },
    shared: { ...cut, rate: 5000 },
  } as const;
  const limits = define(definitions);
  const { rateLimit, adjustRateLimit, getRateLimit } = limits;

  /** `under` is the plan or config that calls that decide give, and that the other calls leave out. */
  it.each([
    ["tokens", { plan: "pro" }],
    ["split", { plan: "pro" }],
    ["config", { config: BIG }],
    ["shared", { config: BIG }],
  ])("%s under %o: refund, charge, list, get and cancel use it", async (name, under) => {
    const bucket = { name, key: "a" };
    const held = async () => {
      const { page } = await limits.listRateLimits({ name });
      expect(page[0]?.plan).toBe("plan" in under ? under.plan : undefined);
      const { remaining } = await limits.checkRateLimit({ ...bucket, ...under });
      const { value } = await getRateLimit(bucket);
      // A check of a bucket on several rows reads one of them.
      return [page[0]?.value, value, remaining === undefined ? value : remaining + 1];
    };
    for (let i = 0; i < 4; i++) await rateLimit({ ...bucket, ...under, count: 500 });
    await adjustRateLimit({ ...bucket, count: -1000 });
    expect(await held()).toEqual([49_000, 49_000, 49_000]);
    await adjustRateLimit({ ...bucket, count: 9000 });
    expect(await held()).toEqual([40_000, 40_000, 40_000]);
    const { job } = await limits.scheduleRateLimited({ ...bucket, ...under, count: 30_000 }, send);
    await limits.cancelRateLimited(job);
    expect(await held()).toEqual([40_000, 40_000, 40_000]);
    for (const row of await rows()) expect(row.plan).toEqual("plan" in under ? "pro" : BIG);
    await limits.resetRateLimit(bucket);
    const { tokens: all, value } = await getRateLimit(bucket);
    expect(value).toBe(all);
  });

  it("an exposed query uses the plan that the server chooses for its own key, or else the plan that the rows record", async () => {
    const { exposeRateLimit } = defineIn(place, definitions);
    const shown = (options: object) => {
      const { getRateLimit } = exposeRateLimit("tokens", { key: () => "a", ...options });
      return query((ctx) => (getRateLimit as never as { _handler: Handler })._handler(ctx, { key: "b" }));
    };
    const plan = (_ctx: unknown, key: string | undefined) => (key === "a" ? "pro" : "free");
    expect(await shown({ plan })).toMatchObject({ plan: "pro", tokens: 50_000 });
    expect(await shown({ plan: "pro" })).toMatchObject({ plan: "pro", tokens: 50_000 });
    await rateLimit({ name: "tokens", key: "a", plan: "pro", count: 10_000 });
    expect(await shown({})).toMatchObject({ plan: "pro", tokens: 50_000, value: 40_000 });
  });

  it("once a deploy has taken all plans away, rows that name one are under the definition", async () => {
    const bucket = { name: "tokens", key: "a" };
    await rateLimit({ ...bucket, plan: "free", count: 1000 });
    const { job } = await limits.scheduleRateLimited({ ...bucket, plan: "free", count: 4000 }, send);
    const without = define({ tokens: { ...tokens, rate: 6000 } });
    expect(await without.listRateLimits({ name: "tokens" })).toMatchObject({ page: [{ key: "a", value: 0 }] });
    expect(await without.cancelRateLimited(job as never)).toEqual({ canceled: true });
    expect(await without.adjustRateLimit({ ...bucket, count: 500 })).toMatchObject({ remaining: 3500 });
    expect((await rows()).map((row) => row.plan)).toEqual([undefined]);
  });

  it("the plan of a call applies, and the rows that it writes record it from then on", async () => {
    const bucket = { name: "alike", key: "a" };
    const stored = async () => [...new Set((await rows()).map(({ plan }) => plan))];
    for (let i = 0; i < 8; i++) await rateLimit({ ...bucket, plan: "one", count: 10 });
    expect(await stored()).toEqual(["one"]);
    await adjustRateLimit({ ...bucket, plan: "two", count: 10 });
    expect(await stored()).toContain("two");
    expect(await getRateLimit({ ...bucket, plan: "one" })).toMatchObject({ value: 310 });
  });

  it("a row under the plain definition records nothing, also after a call with a config", async () => {
    await rateLimit({ name: "config", key: "a", config: BIG });
    await rateLimit({ name: "config", key: "a" });
    const [row] = await rows();
    expect(Object.keys(row ?? {}).sort()).toEqual(["_creationTime", "_id", "key", "name", "ts", "value"]);
  });

  it("a job that was scheduled under a config is refunded under what its row records now", async () => {
    const bucket = { name: "config", key: "a" };
    const { job } = await limits.scheduleRateLimited({ ...bucket, config: BIG }, send);
    await rateLimit(bucket);
    await limits.cancelRateLimited(job);
    expect((await rows())[0]).not.toHaveProperty("plan");
  });

  it("if no row records a plan, calls without a plan use the first one", async () => {
    const bucket = { name: "tokens", key: "a" };
    expect(await getRateLimit(bucket)).toMatchObject({ tokens: 5000 });
    expect(await adjustRateLimit({ ...bucket, count: 1 })).toMatchObject({ remaining: 4999 });
  });

  it.each([
    ["tokens", { plan: "free" }],
    ["split", { plan: "free" }],
    ["config", {}],
  ])("%s: an override in force replaces what rows record", async (name, under) => {
    const bucket = { name, key: "a" };
    await rateLimit({ ...bucket, ...under, count: 1000 });
    await limits.overrideRateLimit({ ...bucket, config: BIG, until: NOW + DAY });
    expect((await getRateLimit(bucket)).override).not.toHaveProperty("plan");
    await adjustRateLimit({ ...bucket, count: 5000 });
    await limits.clearRateLimitOverride(bucket);
    expect(await getRateLimit(bucket)).toMatchObject({ tokens: 5000, value: -1000, ...under });
  });

  it.each([
    ["tokens", { key: "a" }],
    ["split", { key: "a" }],
    ["all", {}],
  ])("a row of %s under a plan that a deploy has removed is under the first one", async (name, key) => {
    const bucket = { name, ...key };
    await insert({ ...bucket, value: 7, ts: NOW, plan: "gold" });
    expect(await limits.listRateLimits({ name })).toMatchObject({ page: [{ value: 7, ok: true }] });
    expect(await getRateLimit(bucket)).toMatchObject({ tokens: 5000, value: 7 });
    await adjustRateLimit({ ...bucket, count: -1 });
    expect(await getRateLimit(bucket)).toMatchObject({ tokens: 5000, value: 8 });
  });

  it("a row under a config that cannot be used fails closed until the bucket is reset", async () => {
    const bucket = { name: "config", key: "a" };
    const message = 'the bucket of key "a" cannot be used: the stored config';
    await insert({ ...bucket, value: 7, ts: NOW, plan: { kind: "token bucket", rate: -1, period: 1 } });
    await expect(adjustRateLimit({ ...bucket, count: -1 })).rejects.toThrow(message);
    await expect(getRateLimit(bucket)).rejects.toThrow(`Rate limit "config": ${message}`);
    const { page } = await limits.listRateLimits({ name: "config" });
    expect(page).toMatchObject([{ ok: false, error: expect.stringContaining(message) as string }]);
    await limits.resetRateLimit(bucket);
    expect(await getRateLimit(bucket)).toMatchObject({ value: 5000 });
  });
});
