/** The rows of convex-helpers in your tables: they are valid rows of this package. Those of token buckets keep their meaning. */
import { rateLimit as takeThere, type RateLimitConfig as ThereConfig } from "convex-helpers/server/rateLimit";
import { defineRateLimits, type RateLimitConfig, SECOND } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { rateLimitLive } from "convex-rate-limits/live";
import { rateLimitTables } from "convex-rate-limits/schema";
import { defineSchema } from "convex/server";
import { convexTest } from "convex-test";
import { expect, it, vi } from "vitest";
import { START, useClock } from "../support/clock.js";

const defined = defineRateLimits({});
const { checkRateLimit, rateLimit } = defined;
const { getRateLimit } = rateLimitLive(defined);

/** The table of this package, with the index that convex-helpers needs: the schema while both are deployed. */
const schema = defineSchema({ rateLimits: rateLimitTables.rateLimits.index("name", ["name", "key"]) });

useClock(START, "Date");

const openApp = () => convexTest({ schema, modules: { "./_generated/api.ts": async () => await Promise.resolve({}) } });
type App = ReturnType<typeof openApp>;

const there = (t: App, args: { key?: string; count?: number; config: ThereConfig; reserve?: boolean }) =>
  t.mutation(async (ctx) => await takeThere(ctx as never, { name: "send", ...args }));

const terms = { rate: 10, period: 10 * SECOND, capacity: 20, maxReserved: 30 };
const config = { kind: "token bucket", ...terms } as const satisfies ThereConfig & RateLimitConfig;

it("a row of a token bucket has the same tokens at any time with both packages", async () => {
  for (const key of [undefined, "ada"]) {
    const t = openApp();
    const who = { ...(key !== undefined && { key }), config };
    const bucket = { name: "send", ...who };
    expect(await there(t, { ...who, count: 17 })).toMatchObject({ ok: true });
    const [row] = await t.query((ctx) => ctx.db.query("rateLimits").collect());
    expect(row).not.toHaveProperty("shard");
    expect(await t.query((ctx) => getRateLimit(ctx, bucket))).toMatchObject({ value: 3, ts: row?.ts });
    const answers = [];
    for (const waitMs of [0, 999, 1, 1000, 4000, 8000, 0]) {
      vi.setSystemTime(Date.now() + waitMs);
      const here = await t.query((ctx) => checkRateLimit(ctx, { ...bucket, count: 5 }));
      expect((await there(t, { ...who, count: 5 })).ok).toBe(here.ok);
      answers.push(here.ok);
    }
    expect(new Set(answers)).toEqual(new Set([true, false]));
    // A debt there is a debt here, and is paid at the same time.
    const debt = await there(t, { ...who, count: 20, reserve: true });
    const paid = await t.query((ctx) => checkRateLimit(ctx, { ...bucket, count: 0 }));
    expect(paid).toMatchObject({ ok: false, retryAt: Math.ceil(debt.retryAt ?? 0) });
    // The row stays the same when this package uses it.
    await t.mutation((ctx) => rateLimit(ctx, { ...bucket, count: 0.001, reserve: true }));
    expect(await t.query((ctx) => ctx.db.query("rateLimits").collect())).toHaveLength(1);
  }
});

it("a fixed window begins anew: its row there says neither its kind nor its period", async () => {
  const t = openApp();
  const window = { kind: "fixed window", ...terms, start: 0 } as const;
  expect(await there(t, { count: 17, config: window })).toMatchObject({ ok: true });
  const bucket = { name: "send", config: window };
  expect(await t.query((ctx) => getRateLimit(ctx, bucket))).toMatchObject({ value: 20 });
  expect(await t.mutation((ctx) => rateLimit(ctx, { ...bucket, count: 15 }))).toMatchObject({ ok: true, remaining: 5 });
  expect(await t.query((ctx) => checkRateLimit(ctx, { ...bucket, count: 6 }))).toMatchObject({ ok: false });
});

it("a count above the capacity is a denial; there it is an error", async () => {
  const t = openApp();
  await expect(there(t, { count: 21, config })).rejects.toThrow("exceeds 20");
  const asked = { name: "send", count: 21, config };
  expect(await t.mutation((ctx) => rateLimit(ctx, asked))).toMatchObject({ ok: false, reason: "too large" });
});

it("an override is a second row, with which the old code fails: neither pause nor override while both are deployed", async () => {
  const t = openApp();
  const { overrideRateLimit } = rateLimitAdmin(defineRateLimits({ send: config }));
  await there(t, { config });
  await t.mutation((ctx) => overrideRateLimit(ctx, { name: "send", block: true }));
  await expect(there(t, { config })).rejects.toThrow("more than one");
});
