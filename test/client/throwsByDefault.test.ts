// @vitest-environment edge-runtime
/** `throws` in the options and in a definition: what is nearest to the call decides. */
import { isRateLimitError, type RateLimitErrorData } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { defineIn, type MutationCtx, openBackend, placeNames } from "../support/places.js";
import { NOW, openQueue, pendingJobs, run, useClock } from "../support/jobs.js";

useClock();

const bucket = { kind: "token bucket", rate: 2, period: 1000, maxReserved: 0 } as const;
const definitions = {
  plain: bucket,
  loud: { ...bucket, throws: true },
  quiet: { ...bucket, throws: false },
  tried: { ...bucket, throws: true, mode: "shadow" },
} as const;

describe.each(placeNames)("in the %s", (place) => {
  /** Of the limits that throw by the options, and of those that do not: what a call on empty buckets does. */
  async function outcome(call: (ctx: MutationCtx, limits: ReturnType<typeof defineIn>) => Promise<unknown>) {
    const outcomes = [];
    for (const throws of [true, undefined]) {
      const limits = defineIn(place, definitions, { throws });
      const { t } = openQueue();
      await t.mutation(async (ctx) => {
        for (const name of Object.keys(definitions)) await limits.rateLimit(ctx, { name, count: 2 });
      });
      outcomes.push(
        await t.mutation(async (ctx) => {
          try {
            const { ok } = (await call(ctx, limits)) as { ok: boolean };
            return ok;
          } catch (error) {
            return isRateLimitError(error) ? error.data.name : String(error);
          }
        }),
      );
      expect(await pendingJobs(t)).toHaveLength(0);
    }
    return outcomes;
  }

  describe.each(["rateLimit", "checkRateLimit"] as const)("%s", (name) => {
    const asking = (args: { name: string; throws?: boolean | { jitter: number } }) =>
      outcome((ctx, limits) => (name === "rateLimit" ? limits.rateLimit(ctx, args) : limits.checkRateLimit(ctx, args)));

    it("throws a denial as the options say, unless the definition or the call says otherwise", async () => {
      expect(await asking({ name: "plain" })).toEqual(["plain", false]);
      expect(await asking({ name: "loud" })).toEqual(["loud", "loud"]);
      expect(await asking({ name: "quiet" })).toEqual([false, false]);
      expect(await asking({ name: "plain", throws: false })).toEqual([false, false]);
      expect(await asking({ name: "loud", throws: false })).toEqual([false, false]);
      expect(await asking({ name: "quiet", throws: true })).toEqual(["quiet", "quiet"]);
      expect(await asking({ name: "quiet", throws: { jitter: 0.5 } })).toEqual(["quiet", "quiet"]);
    });

    it("throws nothing in shadow", async () => {
      expect(await asking({ name: "tried" })).toEqual([true, true]);
      expect(await asking({ name: "tried", throws: true })).toEqual([true, true]);
    });
  });

  describe.each(["rateLimitAll", "checkRateLimitAll"] as const)("%s", (name) => {
    const asking = (names: string[], options?: { throws?: boolean }) =>
      outcome((ctx, limits) => {
        const requests = names.map((each) => ({ name: each }));
        return name === "rateLimitAll"
          ? limits.rateLimitAll(ctx, requests, options)
          : limits.checkRateLimitAll(ctx, requests, options);
      });

    it("throws where one of the limits that deny does", async () => {
      expect(await asking(["plain", "quiet"])).toEqual(["plain", false]);
      expect(await asking(["quiet"])).toEqual([false, false]);
      expect(await asking(["plain", "loud"])).toEqual(["plain", "plain"]);
      expect(await asking(["quiet", "tried"])).toEqual([false, false]);
      expect(await asking(["tried"])).toEqual([true, true]);
    });

    it("does as the call says", async () => {
      expect(await asking(["plain", "loud"], { throws: false })).toEqual([false, false]);
      expect(await asking(["quiet"], { throws: true })).toEqual(["quiet", "quiet"]);
    });
  });

  it("scheduleRateLimited throws where there is no room, and schedules nothing", async () => {
    const asking = (args: { name: string; throws?: boolean }) =>
      outcome((ctx, limits) => limits.scheduleRateLimited(ctx, args, run, { label: "late", tokens: 1 }));
    expect(await asking({ name: "plain" })).toEqual(["plain", false]);
    expect(await asking({ name: "loud", throws: false })).toEqual([false, false]);
    expect(await asking({ name: "quiet", throws: true })).toEqual(["quiet", "quiet"]);
  });

  it("a denial of one limit among others is thrown with the longest wait, whichever throws", async () => {
    const limits = defineIn(place, { loud: { ...bucket, throws: true }, slow: { ...bucket, period: 4000 } });
    const t = openBackend();
    const data = await t.mutation(async (ctx) => {
      const both = [{ name: "loud" }, { name: "slow" }];
      await limits.rateLimitAll(ctx, [...both, ...both]);
      return await limits.rateLimitAll(ctx, both).catch((error: unknown) => (error as { data: unknown }).data);
    });
    expect(data).toEqual({ kind: "RateLimited", name: "slow", retryAt: NOW + 2000, retryAfter: 2000 });
  });

  it("of several that throw, the one that is thrown says how: its jitter, not that of another", async () => {
    const limits = defineIn(place, {
      quick: { ...bucket, throws: true },
      slow: { ...bucket, period: 4000, throws: { jitter: 0.5 } },
    });
    const t = openBackend();
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    for (const names of [
      ["quick", "slow"],
      ["slow", "quick"],
    ]) {
      const data = await t.mutation(async (ctx) => {
        const requests = names.map((name) => ({ name, count: 2 }));
        await limits.rateLimitAll(ctx, requests, { throws: false });
        return await limits.rateLimitAll(ctx, requests).catch((error: unknown) => (error as { data: unknown }).data);
      });
      expect(data).toMatchObject({ name: "slow", retryAfter: 5000 });
    }
  });

  it("with jitter the wait is longer, at random, by up to that fraction of itself", async () => {
    const limits = defineIn(place, { hot: { ...bucket, throws: { jitter: 0.5 } } });
    const t = openBackend();
    const deny = async (random: number): Promise<RateLimitErrorData | undefined> => {
      vi.spyOn(Math, "random").mockReturnValue(random);
      return await t.mutation(async (ctx) => {
        const error: unknown = await limits.rateLimit(ctx, { name: "hot" }).catch((thrown: unknown) => thrown);
        return isRateLimitError(error) ? error.data : undefined;
      });
    };
    await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot", count: 2 }));
    const told = { kind: "RateLimited", name: "hot" };
    expect(await deny(0)).toEqual({ ...told, retryAt: NOW + 500, retryAfter: 500 });
    expect(await deny(0.5)).toEqual({ ...told, retryAt: NOW + 625, retryAfter: 625 });
    expect(await deny(1 - 2 ** -53)).toEqual({ ...told, retryAt: NOW + 749, retryAfter: 749 });
    // The status itself is exact, and so is an error without jitter.
    const status = await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "hot", throws: false }));
    expect(status).toMatchObject({ ok: false, retryAt: NOW + 500 });
    vi.restoreAllMocks();
  });

  it("many clients of one limit are told moments all over the spread, none too early", async () => {
    const limits = defineIn(place, { hot: { ...bucket, throws: { jitter: 1 } } });
    const t = openBackend();
    const waits = await t.mutation(async (ctx) => {
      await limits.rateLimit(ctx, { name: "hot", count: 2 });
      const all = [];
      for (let client = 0; client < 400; client++) {
        const error: unknown = await limits.rateLimit(ctx, { name: "hot" }).catch((thrown: unknown) => thrown);
        if (isRateLimitError(error)) all.push(error.data.retryAt - NOW);
      }
      return all;
    });
    expect(waits).toHaveLength(400);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...waits)).toBeLessThan(1000);
    // Of 400 in ten parts of the spread, no part is empty: that would happen once in 10^17 runs.
    expect(new Set(waits.map((wait) => Math.floor((wait - 500) / 50))).size).toBe(10);
  });
});
