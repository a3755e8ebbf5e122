// @vitest-environment edge-runtime
/** `onDecision` is called for each decision, in the caller's transaction. */
import type { RateLimitDecision, RateLimitDefinitions, RateLimitedJob, RateLimitsOptions } from "convex-rate-limits";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type MutationCtx, placeNames } from "../support/places.js";
import { NOW, useClock } from "../support/clock.js";
import { run, useJobs } from "../support/jobs.js";
import type { Calls } from "../support/limits.js";

useClock();

const bucket = { kind: "token bucket", rate: 2, period: 1000 } as const;
const definitions = {
  send: bucket,
  mine: { ...bucket, keyed: true, throws: true },
  tried: { ...bucket, mode: "shadow" },
} as const;
const job = { label: "job", tokens: 1 };
type OnDecision = RateLimitsOptions<MutationCtx>["onDecision"];

describe.each(placeNames)("in the %s", (place) => {
  const { define, mutation, query, backend } = useJobs(place);
  let decisions: RateLimitDecision[] = [];
  let contexts: unknown[] = [];
  beforeEach(() => {
    decisions = [];
    contexts = [];
  });
  const defineDeciding = (definitions: RateLimitDefinitions, onDecision: OnDecision) =>
    define(definitions, { onDecision });
  const limits = defineDeciding(definitions, (ctx, decision) => {
    contexts.push(ctx);
    decisions.push(decision);
  });

  it("onDecision gets the request, the answer with the tokens taken, and the config that decided", async () => {
    const asked = { name: "mine", key: "a", count: 1.5, reserve: { within: 5 } };
    const status = await limits.rateLimit(asked);
    const decision = { ...asked, status, mode: "enforce", config: bucket };
    expect(decisions).toEqual([decision]);
    const denied = await limits.rateLimit({ name: "mine", key: "a", config: bucket, throws: false });
    expect(denied).toMatchObject({ ok: false });
    expect(decisions[1]).toEqual({ ...decision, count: 1, reserve: false, status: denied });
    // A third is rounded up to whole units. The caller is told a third.
    await limits.rateLimit({ name: "send", count: 1 / 3, atLeast: 0.1 });
    expect(decisions[2]).toMatchObject({ count: 1 / 3, atLeast: 0.1, status: { ok: true, taken: 1 / 3 } });
  });

  it("onDecision is called before a denial is thrown, and gets the true answer in shadow", async () => {
    await mutation(async (ctx) => {
      const { rateLimit } = limits.within(ctx);
      await rateLimit({ name: "mine", key: "a", count: 2 });
      await expect(rateLimit({ name: "mine", key: "a" })).rejects.toThrow();
      await rateLimit({ name: "tried", count: 2 });
      expect(await rateLimit({ name: "tried" })).toMatchObject({ ok: true });
      expect(contexts).toEqual([ctx, ctx, ctx, ctx]);
    });
    const outcomes = decisions.map(({ mode, status }) => `${mode} ${status.ok}`);
    expect(outcomes).toEqual(["enforce true", "enforce false", "shadow true", "shadow false"]);
    expect(decisions[3]?.status).toEqual({ ok: false, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 1000 });
  });

  it("onDecision is called for each of several limits, or only for those that deny if some deny", async () => {
    const all = async (...requests: object[]) => {
      decisions = [];
      await limits.rateLimitAll(requests, { throws: false });
      return decisions.map(({ name, count, status }) => `${name} ${count} ${status.ok}`);
    };
    const mine = { name: "mine", key: "a" };
    const first = await all({ name: "send" }, { ...mine, count: 2 }, { name: "tried", count: 2 });
    expect(first).toEqual(["send 1 true", "mine 2 true", "tried 2 true"]);
    expect(await all({ name: "send" }, mine, { name: "tried" })).toEqual(["mine 1 false", "tried 1 false"]);
    // A denial in shadow does not stop the other limits.
    expect(await all({ name: "send" }, { name: "tried" })).toEqual(["send 1 true", "tried 1 false"]);
  });

  it("onDecision is called for a job's reservation, and not for checks, adjustments, resets and misuse", async () => {
    await limits.scheduleRateLimited({ name: "send", count: 2 }, run, job);
    await limits.checkRateLimit({ name: "send" });
    await limits.checkRateLimitAll([{ name: "send" }]);
    await limits.adjustRateLimit({ name: "send", count: 1 });
    await limits.getRateLimit({ name: "send" });
    await limits.resetRateLimit({ name: "send" });
    await expect(limits.rateLimit({ name: "send", count: 3 })).rejects.toThrow("can never be served");
    expect(decisions).toMatchObject([{ name: "send", count: 2, status: { ok: true } }]);
  });

  it("onDecision cannot change the decision or the definition", async () => {
    const vandal = defineDeciding(definitions, (_ctx, decision) => {
      Object.assign(decision.status, { ok: !decision.status.ok, remaining: 99 });
      Object.assign(decision.config, { capacity: 99, rate: 99 });
    });
    for (const ok of [true, true, false, false]) expect(await vandal.rateLimit({ name: "send" })).toMatchObject({ ok });
    expect((await vandal.getRateLimit({ name: "send" })).config).toEqual({ ...bucket, capacity: 2 });
    const hot = { ...bucket, shards: { atMost: 4 } };
    const deep = defineDeciding({ hot }, (_ctx, { config, reserve }) => {
      expect(config.shards).toEqual({ atMost: 4 });
      Object.assign(config.shards as object, { atMost: 0 });
      Object.assign(reserve as object, { within: 99 });
    });
    const reserve = { within: 1 };
    for (const ok of [true, true]) expect(await deep.rateLimit({ name: "hot", reserve })).toMatchObject({ ok });
    expect(reserve).toEqual({ within: 1 });
  });

  it("an error of onDecision fails the call and refunds its tokens, also if nothing rolls back: if it is caught, or in an action", async () => {
    let isBroken = false;
    const breakable = {
      third: { kind: "token bucket", rate: 1, period: 7000, capacity: 3, maxReserved: 9 },
      window: { kind: "sliding window", rate: 3, period: 1000 },
      tried: { ...bucket, mode: "shadow" },
      mine: { ...bucket, keyed: true },
    } as const;
    const own = defineDeciding(breakable, () => {
      if (isBroken) throw new Error("the log is full");
    });
    const third = { name: "third", count: 1 / 3 };
    const mine = { name: "mine", key: "a" };
    const takings: ((calls: Calls) => Promise<unknown>)[] = [
      (calls) => calls.rateLimit(third),
      (calls) => calls.rateLimit({ name: "third", count: 2.5, atLeast: 0 }),
      (calls) => calls.rateLimit({ name: "third", count: 4, reserve: true }),
      (calls) => calls.rateLimit({ name: "window" }),
      (calls) => calls.rateLimit({ name: "tried" }),
      // A limit in shadow takes nothing if it denies.
      (calls) => calls.rateLimit({ name: "tried", count: 2 }),
      (calls) => calls.rateLimitAll([third, { name: "window" }, third, { name: "tried" }, third]),
      (calls) => calls.rateLimitAll([third, { name: "tried", count: 2 }]),
      // A limit takes nothing if another limit denies.
      (calls) => calls.rateLimitAll([third, { name: "window", count: 3 }]),
      (calls) => calls.rateLimitAll([mine, { ...mine, key: "b" }]),
      (calls) => calls.scheduleRateLimited({ name: "third", count: 2 }, run, job),
    ];
    const buckets = [{ name: "third" }, { name: "window" }, { name: "tried" }, mine];
    const shown = ({ checkRateLimit }: Calls) =>
      Promise.all(buckets.map((one) => checkRateLimit({ ...one, count: 0 })));
    const held = () => query((ctx) => shown(own.within(ctx)));
    for (const one of buckets) await own.rateLimit(one);
    const before = await held();
    isBroken = true;
    for (const take of takings) {
      await mutation(async (ctx) => {
        await expect(take(own.within(ctx))).rejects.toThrow("the log is full");
        expect(await shown(own.within(ctx))).toEqual(before);
      });
      if (place === "tables") continue;
      const inAction = async (ctx: unknown) => await take(own.within(ctx as MutationCtx)).then(String, String);
      expect(await backend().action(inAction)).toBe("Error: the log is full");
      expect(await held()).toEqual(before);
    }
  });

  if (place === "component") {
    it("in an action a refundable take comes back by its date, and not besides what has come in since", async () => {
      const plain = define({ send: bucket });
      const slow = defineDeciding({ send: bucket }, async () => {
        vi.setSystemTime(NOW + 60_000);
        await plain.rateLimit({ name: "send", count: 2 });
        throw new Error("the log is full");
      });
      const inAction = async (ctx: unknown) =>
        await slow.within(ctx as MutationCtx).rateLimit({ name: "send", count: 2, refundable: true });
      await expect(backend().action(inAction)).rejects.toThrow("the log is full");
      expect(await plain.checkRateLimit({ name: "send" })).toMatchObject({ ok: false });
    });

    it.each([true, false])("a job of an action refunds its own tokens only (refused: %s)", async (isRefused) => {
      const definition = { api: { kind: "sliding window", rate: 2, period: 1000 } } as const;
      const [plain, asked] = [define(definition), { name: "api" }];
      const limits = defineDeciding(definition, async () => {
        vi.setSystemTime(NOW + 3);
        await plain.rateLimit(asked);
        vi.setSystemTime(NOW + 5);
      });
      const runAt = () => (isRefused ? Promise.reject(new Error("too many jobs")) : Promise.resolve("id"));
      const result = await backend().action(async (ctx) => {
        const own = { ...(ctx as unknown as MutationCtx), scheduler: { runAt } as never };
        return await limits.within(own).scheduleRateLimited(asked, run, job).catch(String);
      });
      if (isRefused) expect(result).toBe("Error: too many jobs");
      else
        await mutation(async (ctx) => {
          const { job: scheduled } = result as { job: RateLimitedJob };
          const id = await ctx.scheduler.runAt(NOW + 100, run, job);
          expect(await plain.within(ctx).cancelRateLimited({ ...scheduled, id })).toEqual({ canceled: true });
        });
      vi.setSystemTime(NOW + 1000);
      for (const ok of [true, false]) expect(await plain.rateLimit(asked)).toMatchObject({ ok });
    });
  }

  it("onDecision may call limits itself, in the caller's transaction", async () => {
    const plain = define(definitions);
    const counting = defineDeciding(definitions, async (ctx, { status }) => {
      const key = status.ok ? "allowed" : "denied";
      await plain.within(ctx).adjustRateLimit({ name: "mine", key, count: 1 });
    });
    await mutation(async (ctx) => {
      const { rateLimit } = counting.within(ctx);
      await Promise.all([1, 2, 3].map(() => rateLimit({ name: "send" })));
    });
    const counted = ["allowed", "denied"].map(async (key) => (await plain.getRateLimit({ name: "mine", key })).value);
    expect(await Promise.all(counted)).toEqual([0, 1]);
  });
});
