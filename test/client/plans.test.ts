// @vitest-environment edge-runtime
/** Plans in a definition: which of its configs holds is said by name, with each call. */
import { projectRateLimit, type RateLimitDecision } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { defineIn, insertRow, type MutationCtx, placeNames, rowsIn } from "../support/places.js";
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
    [{ ...of("pro"), config: { kind: "token bucket", rate: 1, period: 1 } }, "plan and config cannot be combined"],
  ] as const)("%o is misuse, and nothing is written", async (args, message) => {
    const { t } = openQueue();
    await expect(t.mutation((ctx) => limits.rateLimit(ctx, args as never))).rejects.toThrow(message);
    if ("plan" in args) {
      await expect(t.mutation((ctx) => limits.getRateLimit(ctx, args as never))).rejects.toThrow(message);
    }
    expect(await rowsIn(place, t)).toHaveLength(0);
  });

  it.each([
    [{ plans: {} }, "plans must be an object of one or more plans by name"],
    [{ plans: [{ rate: 1 }] }, "plans must be an object of one or more plans by name"],
    [{ plans: { free: { rate: 1 }, pro: { rate: 0 } } }, 'plan "pro": rate must be'],
    [{ plans: { free: 7 } }, 'plan "free" must be an object, got 7'],
    [{ plans: { free: { rate: 1, keyed: true } } }, '"keyed" is not a field of'],
    [{ plans: { free: { rate: 1, shards: 4 } } }, "shards must be left out of a plan"],
  ])("a definition with %o fails when the module loads", (more, message) => {
    const broken = { kind: "token bucket", period: MINUTE, ...more };
    expect(() => defineIn(place, { generate: broken } as never)).toThrow(message);
  });
});

const BIG = { kind: "token bucket", rate: 50_000, period: DAY } as const;
const tokens = { kind: "token bucket", period: DAY, keyed: true, overrides: true } as const;
const plans = { free: { rate: 5000 }, pro: { rate: 50_000 } } as const;
type Handler = (ctx: object, args: object) => Promise<unknown>;

describe.each(placeNames)("rows in the %s say what they were written under", (place) => {
  const limits = defineIn(place, {
    tokens: { ...tokens, plans },
    split: { ...tokens, shards: { atLeast: 4, atMost: 4 }, plans },
    /** Plans that are cut alike. */
    alike: { ...tokens, shards: { atLeast: 4, atMost: 4 }, plans: { one: { rate: 400 }, two: { rate: 400 } } },
    config: { kind: "token bucket", rate: 5000, period: DAY, keyed: true, overrides: true },
    shared: { kind: "token bucket", rate: 5000, period: DAY, keyed: true, shards: { atLeast: 4, atMost: 4 } },
  });
  /** What calls that decide say, and what the others leave out. */
  const said = [
    ["tokens", { plan: "pro" }],
    ["split", { plan: "pro" }],
    ["config", { config: BIG }],
    ["shared", { config: BIG }],
  ] as const;

  it.each(said)("%s under %o: refund, charge, list, get and cancel go by it", async (name, under) => {
    const { t } = openQueue();
    const bucket = { name, key: "a" };
    await t.mutation(async (ctx) => {
      for (let i = 0; i < 4; i++) await limits.rateLimit(ctx, { ...bucket, ...under, count: 500 });
      await limits.adjustRateLimit(ctx, { ...bucket, count: -1000 });
    });
    const held = async () =>
      await t.query(async (ctx) => {
        const { page } = await limits.listRateLimits(ctx, { name });
        const { value } = await limits.getRateLimit(ctx, bucket);
        const { remaining } = await limits.checkRateLimit(ctx, { ...bucket, ...under });
        return [page[0]?.value, value, remaining && remaining + 1];
      });
    expect(await held()).toEqual([49_000, 49_000, 49_000]);
    await t.mutation((ctx) => limits.adjustRateLimit(ctx, { ...bucket, count: 9000 }));
    expect(await held()).toEqual([40_000, 40_000, 40_000]);
    await t.mutation(async (ctx) => {
      const { job } = (await limits.scheduleRateLimited(ctx, { ...bucket, ...under, count: 30_000 }, send)) as never;
      await limits.cancelRateLimited(ctx, job);
    });
    expect(await held()).toEqual([40_000, 40_000, 40_000]);
    for (const row of await rowsIn(place, t)) expect(row.plan).toEqual("plan" in under ? "pro" : BIG);
    const exposed = limits.exposeRateLimit(name, { key: () => "a" }).getRateLimit as never as { _handler: Handler };
    const shown = await t.query((ctx) => exposed._handler(ctx, {}));
    expect(shown).toMatchObject({ value: 40_000, tokens: 50_000, ...("plan" in under && { plan: "pro" }) });
    await t.mutation((ctx) => limits.resetRateLimit(ctx, bucket));
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("what a call says holds, and its rows say so from then on", async () => {
    const { t } = openQueue();
    const bucket = { name: "alike", key: "a" };
    await t.mutation(async (ctx) => {
      for (let i = 0; i < 8; i++) await limits.rateLimit(ctx, { ...bucket, plan: "one", count: 10 });
    });
    expect(new Set((await rowsIn(place, t)).map(({ plan }) => plan))).toEqual(new Set(["one"]));
    await t.mutation((ctx) => limits.adjustRateLimit(ctx, { ...bucket, plan: "two", count: 10 }));
    expect(new Set((await rowsIn(place, t)).map(({ plan }) => plan))).toEqual(new Set(["two"]));
    expect(await t.query((ctx) => limits.getRateLimit(ctx, { ...bucket, plan: "one" }))).toMatchObject({ value: 310 });
  });

  it("a row under the plain definition is as it was, also after a call with a config", async () => {
    const { t } = openQueue();
    const bucket = { name: "config", key: "a" };
    await t.mutation(async (ctx) => {
      await limits.rateLimit(ctx, { ...bucket, config: BIG });
      await limits.rateLimit(ctx, bucket);
    });
    const [row] = await rowsIn(place, t);
    expect(Object.keys(row ?? {}).sort()).toEqual(["_creationTime", "_id", "key", "name", "ts", "value"]);
  });

  it("where no row says it, calls without a plan go by the first", async () => {
    const { t } = openQueue();
    const bucket = { name: "tokens", key: "a" };
    expect(await t.query((ctx) => limits.getRateLimit(ctx, bucket))).toMatchObject({ tokens: 5000 });
    expect(await t.mutation((ctx) => limits.adjustRateLimit(ctx, { ...bucket, count: 1 }))).toMatchObject({
      remaining: 4999,
    });
  });

  it.each([
    ["tokens", { plan: "free" }],
    ["split", { plan: "free" }],
    ["config", {}],
  ] as const)("%s: an override in force is on top of what rows say", async (name, under) => {
    const { t } = openQueue();
    const bucket = { name, key: "a" };
    const shown = await t.mutation(async (ctx) => {
      await limits.rateLimit(ctx, { ...bucket, ...under, count: 1000 });
      await limits.overrideRateLimit(ctx, { ...bucket, config: BIG, until: NOW + DAY });
      await limits.adjustRateLimit(ctx, { ...bucket, count: 5000 });
      await limits.clearRateLimitOverride(ctx, bucket);
      return await limits.getRateLimit(ctx, bucket);
    });
    expect(shown).toMatchObject({ tokens: 5000, value: -1000, ...under });
  });

  it.each([
    ["tokens", "gold", 'the bucket of key "a" is under plan "gold", which is not defined: say the plan in the call.'],
    [
      "config",
      { kind: "token bucket", rate: -1, period: 1 },
      'the bucket of key "a" cannot be used: the stored config',
    ],
  ] as const)("a row of %s that says %o fails closed until the bucket is reset", async (name, plan, message) => {
    const { t } = openQueue();
    const bucket = { name, key: "a" };
    await insertRow(place, t, { ...bucket, value: 7, ts: NOW, plan });
    await expect(t.mutation((ctx) => limits.adjustRateLimit(ctx, { ...bucket, count: -1 }))).rejects.toThrow(message);
    await expect(t.query((ctx) => limits.getRateLimit(ctx, bucket))).rejects.toThrow(
      `Rate limit "${name}": ${message}`,
    );
    const { page } = await t.query((ctx) => limits.listRateLimits(ctx, { name }));
    expect(page).toMatchObject([{ ok: false, error: expect.stringContaining(message) as string }]);
    await t.mutation((ctx) => limits.resetRateLimit(ctx, bucket));
    expect(await t.query((ctx) => limits.getRateLimit(ctx, bucket))).toMatchObject({ value: 5000 });
  });
});

it("an undefined plan of the bucket without a key is named, too", async () => {
  const limits = defineIn("tables", { all: { kind: "token bucket", period: DAY, plans } });
  const { t } = openQueue();
  await insertRow("tables", t, { name: "all", value: 7, ts: NOW, plan: "gold" });
  await expect(t.query((ctx) => limits.getRateLimit(ctx, { name: "all" }))).rejects.toThrow(
    'Rate limit "all": the bucket is under plan "gold"',
  );
});

/** docs/plans.md, "Sold quotas": what its page promises. */
it.each(placeNames)(
  "in the %s a customer who upgrades, tops up and looks at what was used gets what was sold",
  async (place) => {
    const limits = defineIn(place, {
      calls: {
        kind: "fixed window",
        period: "month",
        keyed: true,
        overrides: true,
        plans: { free: { rate: 100 }, pro: { rate: 10_000 } },
      },
    });
    const { t } = openQueue();
    const id = { name: "calls", key: "a" };
    const take = (plan: string, count: number) => t.mutation((ctx) => limits.rateLimit(ctx, { ...id, plan, count }));
    const usage = async () => {
      const now = Date.now();
      const snapshot = await t.query((ctx) => limits.getRateLimit(ctx, id));
      const { remaining, resetAt = NaN } = projectRateLimit(snapshot, { now, count: 0 });
      const { plan, override } = snapshot;
      const { tokens } = override && "tokens" in override && now < override.until ? override : snapshot;
      return `${tokens - remaining} of ${tokens} (${plan}) until ${new Date(resetAt).toISOString().slice(0, 10)}`;
    };
    const topUp = (until: number) =>
      t.mutation(async (ctx) => {
        const { config } = await limits.getRateLimit(ctx, id);
        const raised = { ...config, rate: config.rate + 500, capacity: config.rate + 500 };
        await limits.overrideRateLimit(ctx, { ...id, config: raised, until } as never);
      });
    vi.setSystemTime(Date.UTC(2026, 10, 10));
    await take("free", 73);
    expect(await usage()).toBe("73 of 100 (free) until 2026-12-01");
    expect(await take("free", 28)).toMatchObject({ ok: false });
    expect(await take("pro", 9927)).toMatchObject({ ok: true, remaining: 0 });
    await topUp(Date.UTC(2026, 10, 13));
    expect(await take("pro", 500)).toMatchObject({ ok: true, remaining: 0 });
    expect(await usage()).toBe("10500 of 10500 (pro) until 2026-12-01");
    vi.setSystemTime(Date.UTC(2026, 10, 13));
    expect(await take("pro", 1)).toMatchObject({ ok: false, retryAt: Date.UTC(2026, 11, 1) });
    vi.setSystemTime(Date.UTC(2026, 11, 1));
    expect(await take("pro", 0)).toMatchObject({ ok: true, remaining: 10_000 });
  },
);
