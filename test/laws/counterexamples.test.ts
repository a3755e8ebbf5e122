/** Faults against the laws that were found once: each example stays. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import { T0 } from "./arbitraries.js";
import { underFakeClock, worldIn } from "./world.js";

describe.each(placeNames)("in the %s", (place) => {
  underFakeClock();

  it("Law 2: a denied reservation on several rows succeeds at its retryAt", async () => {
    const world = worldIn(place, { atLeast: 2 });
    const config: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1, capacity: 4, maxReserved: 0 };
    await world.consume({ config });
    const all = { config, count: 4, reserve: true };
    const { ok, retryAt = NaN } = await world.consume(all);
    expect(ok).toBe(false);
    world.setClock(retryAt);
    expect(await world.consume(all)).toMatchObject({ ok: true });
  });

  it("Law 2: a reservation of nothing waits until the debt is paid, and not longer, whenever it is asked", async () => {
    const world = worldIn(place, undefined);
    const config: RateLimitConfig = {
      kind: "token bucket",
      rate: 3,
      period: 86_400_000,
      capacity: 1e9,
      maxReserved: 1e12,
    };
    await world.consume({ config, count: 1e9 + 9, reserve: true });
    const atOnce = await world.check({ config, count: 0, reserve: true });
    world.setClock(T0 + 43_200_001);
    expect(await world.check({ config, count: 0, reserve: true })).toMatchObject({ retryAt: atOnce.retryAt });
  });

  it("Law 10: a split bucket whose first row is missing is damaged, whichever row a call reads", async () => {
    const world = worldIn(place, { atLeast: 2 });
    const shared = { kind: "token bucket" as const, rate: 5, period: 1000 };
    const config = { ...shared, capacity: 5 };
    await world.plant({ value: 0, shard: "1", config });
    for (let i = 0; i < 8; i++) await expect(world.consume({ config: shared })).rejects.toThrow("resetRateLimit");
  });

  it("Law 10: a capacity of less than a unit is none: it is not granted again and again", async () => {
    const world = worldIn(place, undefined);
    const config: RateLimitConfig = { kind: "token bucket", rate: 1e12, period: 1, capacity: 0.001 };
    const answers = [];
    for (let i = 0; i < 3; i++)
      answers.push(await world.consume({ config, count: 0.001 }).catch(() => ({ ok: false })));
    expect(answers.filter(({ ok }) => ok).length).toBeLessThanOrEqual(1);
  });

  it("a charge on more than a lowered sliding window can count leaves a bucket that can be read, and is paid in the end", async () => {
    const world = worldIn(place, undefined);
    const [large, small] = [1e12, 1].map((rate): RateLimitConfig => ({ kind: "sliding window", rate, period: 1000 }));
    if (!large || !small) throw new Error("no configs");
    for (const [ms, config] of [large, large, small].entries()) {
      world.setClock(T0 + ms);
      await world.adjust({ config, count: 1e10 });
    }
    expect(await world.check({ config: small })).toMatchObject({ ok: false, remaining: 0, retryAt: T0 + 1001 });
    world.setClock(T0 + 1001);
    expect(await world.check({ config: small })).toMatchObject({ ok: true });
  });

  it("Law 12: a charge on a debt that a lowered limit cannot count makes it no smaller", async () => {
    const world = worldIn(place, undefined);
    const [large, small] = [1e12, 1].map((rate): RateLimitConfig => ({ kind: "token bucket", rate, period: 1000 }));
    if (!large || !small) throw new Error("no configs");
    await world.adjust({ config: large, count: 1e12 });
    await world.adjust({ config: large, count: 1e12 });
    const before = await world.check({ config: small });
    expect(before).toMatchObject({ ok: false, remaining: 0 });
    await world.adjust({ config: small, count: 1 });
    const after = await world.check({ config: small });
    expect(after.retryAt).toBeGreaterThanOrEqual(before.retryAt ?? NaN);
  });

  it("a token bucket of an odd rate a millisecond is a limit as one of twice the rate in two", async () => {
    const world = worldIn(place, undefined);
    const odd = (periods: number): RateLimitConfig => ({
      kind: "token bucket",
      rate: periods * 0.010000000000000002,
      period: periods,
      capacity: 0.001,
      maxReserved: 0,
    });
    expect(await world.check({ config: odd(2), count: 0.001 })).toMatchObject({ ok: true });
    expect(await world.check({ config: odd(1), count: 0.001 })).toMatchObject({ ok: true });
  });
});
