/** Where ours differs from the official component: what docs/migrating.md lists, on both. */
import { type RateLimitConfig, RateLimiter } from "convex-rate-limits/compat";
import { describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import type { MutationCtx } from "../support/places.js";
import { limiters, openBoth } from "./official.js";

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1000;
const bucket = { kind: "token bucket", rate: 2, period: SECOND } as const;

useClock(NOW, "Date");

type Limiter = ReturnType<typeof limiters>["ours" | "theirs"];

/** What a call comes to: its answer, or what it throws as text. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  return await call.catch((error: unknown) => (error instanceof Error ? error.message : "unknown"));
}

/** What the last of the same calls comes to with each limiter, all in one mutation. */
async function both(config: RateLimitConfig, play: (limiter: Limiter, ctx: MutationCtx) => Promise<unknown>) {
  const { ours, theirs } = limiters({ send: config });
  return await openBoth().mutation(async (ctx) => ({
    ours: await outcome(play(ours, ctx)),
    theirs: await outcome(play(theirs, ctx)),
  }));
}
/** A matcher of a message with this text. */
const saying = (text: string) => expect.stringContaining(text) as unknown;
const value = (value: number) => expect.objectContaining({ value }) as unknown;
const go = { ok: true };
const wait = (retryAfter: number) => ({ ok: false, retryAfter });

describe("what JavaScript may pass", () => {
  it("no component is an error at once, not limits in the app's tables", () => {
    const wrong = RateLimiter as unknown as new (component?: unknown, limits?: unknown) => unknown;
    expect(() => new wrong()).toThrow("RateLimiter needs the component");
    expect(() => new wrong(undefined, { send: bucket })).toThrow("RateLimiter needs the component");
    expect(() => new wrong(null, { send: bucket })).toThrow("component must be a component's api");
  });

  it("null in place of options is none", async () => {
    const t = openBoth();
    const { ours } = limiters({ send: bucket });
    const none = null as unknown as undefined;
    await t.mutation(async (ctx) => {
      expect(await ours.check(ctx, "send", none)).toEqual({ ok: true });
      expect(await ours.limit(ctx, "send", none)).toEqual({ ok: true });
      expect(await ours.getValue(ctx, "send", none)).toMatchObject({ value: 1 });
      await ours.reset(ctx, "send", none);
      expect(await ours.getValue(ctx, "send", none)).toMatchObject({ value: 2 });
    });
  });

  it("null in place of a config is none, as there", async () => {
    const options: object = { config: null };
    const found = await both(bucket, async (limiter, ctx) => [
      await limiter.limit(ctx, "send", options),
      await limiter.check(ctx, "send", options),
      await limiter.getValue(ctx, "send", options),
    ]);
    expect(found).toEqual({ ours: [go, go, value(1)], theirs: [go, go, value(1)] });
  });

  it.each([5n, 500n, Symbol("5"), "5", {}])("a count that is no number is named: %s", async (count) => {
    const play = (limiter: Limiter, ctx: MutationCtx) => limiter.limit(ctx, "send", { count: count as never });
    expect((await both(bucket, play)).ours).toEqual(saying('Rate limit "send": count must be a finite number'));
  });

  it("a definition that throws returns its denials: only a call says that they are thrown", async () => {
    const found = await both({ ...bucket, throws: true } as RateLimitConfig, async (limiter, ctx) => {
      await limiter.limit(ctx, "send", { count: 2 });
      return await limiter.limit(ctx, "send");
    });
    expect(found.ours).toEqual(wait(500));
  });
});

describe("the config of a call", () => {
  const large = { ...bucket, start: null, rate: 100, shards: 2, applyUpdates: "transactionally" } as const;
  it("stands in place of the definition's, in the same words", async () => {
    const { ours } = limiters({ send: bucket });
    await openBoth().mutation(async (ctx) => {
      const call = { config: large, count: 50, reserve: true, throws: true };
      expect(await ours.limit(ctx, "send", call as object)).toEqual(go);
      expect(await ours.getValue(ctx, "send", { config: large } as object)).toMatchObject({ config: { shards: 2 } });
    });
  });
});

describe("what is safer here", () => {
  it("a count that is NaN is an error; there it spoils the row, which lets everything through from then on", async () => {
    const problem = 'Rate limit "send": count must be a finite number of at least 0, got NaN';
    const spoil = (limiter: Limiter, ctx: MutationCtx) => outcome(limiter.limit(ctx, "send", { count: NaN }));
    expect(await both(bucket, spoil)).toMatchObject({ ours: saying(problem) });
    const then = await both(bucket, async (limiter, ctx) => {
      await spoil(limiter, ctx);
      for (let i = 0; i < 2; i++) expect(await limiter.limit(ctx, "send")).toEqual(go);
      return [await limiter.limit(ctx, "send"), await limiter.limit(ctx, "send"), await limiter.getValue(ctx, "send")];
    });
    expect(then).toEqual({ ours: [wait(500), wait(500), value(0)], theirs: [go, go, value(NaN)] });
  });

  it("a negative count is an error; there it gives back, without a bound", async () => {
    const found = await both(bucket, async (limiter, ctx) => [
      await outcome(limiter.limit(ctx, "send", { count: -5 })),
      await limiter.getValue(ctx, "send"),
    ]);
    expect(found.ours).toEqual([saying("count must be a finite number"), value(2)]);
    expect(found.theirs).toEqual([go, value(7)]);
  });

  it("maxReserved: 0 permits no reservation; there it means no bound", async () => {
    const found = await both({ ...bucket, maxReserved: 0 }, async (limiter, ctx) => {
      await limiter.limit(ctx, "send", { count: 2 });
      return [
        await limiter.limit(ctx, "send", { count: 2, reserve: true }),
        await outcome(limiter.limit(ctx, "send", { count: 3, reserve: true })),
      ];
    });
    expect(found.ours).toEqual([wait(1000), saying("can never be served")]);
    expect(found.theirs).toMatchObject([{ ok: true, retryAfter: 1000 }, {}]);
  });

  it("a clock that steps back takes nothing away; there it takes tokens", async () => {
    const found = await both(bucket, async (limiter, ctx) => {
      vi.setSystemTime(NOW);
      await limiter.limit(ctx, "send");
      vi.setSystemTime(NOW - 10 * SECOND);
      return await limiter.limit(ctx, "send");
    });
    expect(found).toEqual({ ours: go, theirs: wait(10 * SECOND) });
  });

  it("waits are whole milliseconds, and long enough", async () => {
    const found = await both({ kind: "token bucket", rate: 3, period: SECOND, capacity: 1 }, async (limiter, ctx) => {
      await limiter.limit(ctx, "send");
      return await limiter.limit(ctx, "send");
    });
    const third = expect.closeTo(1000 / 3, 2) as number;
    expect(found).toEqual({ ours: wait(334), theirs: wait(third) });
  });

  it("a bad config fails when the module is loaded; there it is found when it is used, or not at all", async () => {
    const withConfig = (config: object) => () => limiters({ send: config as RateLimitConfig }).ours;
    expect(withConfig({ ...bucket, rate: NaN })).toThrow('Rate limit "send": rate must be a number above 0');
    expect(withConfig({ ...bucket, rate: -1 })).toThrow("rate must be a number above 0");
    expect(withConfig({ ...bucket, shards: 2.5 })).toThrow("shards must be");
    expect(withConfig({ ...bucket, burst: 3 })).toThrow('"burst" is not a field');
    expect(withConfig({ ...bucket, start: 5 })).toThrow('"start" is not a field');
    expect(withConfig({ ...bucket, applyUpdates: "later" })).toThrow('"applyUpdates" is not a field');
    expect(withConfig({ ...bucket, start: null, applyUpdates: "transactionally" })).not.toThrow();
    const config = { ...bucket, rate: NaN };
    const found = await both(bucket, (limiter, ctx) => limiter.limit(ctx, "send", { config } as object));
    expect(found).toEqual({ ours: saying("rate must be"), theirs: go });
  });

  it.each([
    ["", "key must be a non-empty string"],
    ["k".repeat(257), "await hashKey(key) makes one of 64"],
  ])("an empty or a long key is an error; there it is a key: %j", async (key, problem) => {
    const found = await both(bucket, (limiter, ctx) => limiter.limit(ctx, "send", { key }));
    expect(found).toEqual({ ours: saying(problem), theirs: go });
  });

  it("windows before a start in the future count; there everybody is denied until then", async () => {
    const config = { kind: "fixed window", rate: 2, period: SECOND, start: NOW + 10 * SECOND } as const;
    const found = await both(config, async (limiter, ctx) => {
      const first = await limiter.limit(ctx, "send");
      await limiter.limit(ctx, "send");
      return [first, await limiter.limit(ctx, "send")];
    });
    expect(found).toEqual({ ours: [go, wait(SECOND)], theirs: [wait(10 * SECOND), wait(10 * SECOND)] });
  });

  it("the windows of a bucket start at the same moments after a reset; there they are drawn again", async () => {
    const found = await both({ kind: "fixed window", rate: 1, period: 1e9 }, async (limiter, ctx) => {
      const waits = new Set<number | undefined>();
      for (const drawn of [0.25, 0.75]) {
        const random = vi.spyOn(Math, "random").mockReturnValue(drawn);
        await limiter.reset(ctx, "send", { key: "ada" });
        await limiter.limit(ctx, "send", { key: "ada" });
        waits.add((await limiter.check(ctx, "send", { key: "ada" })).retryAfter);
        random.mockRestore();
      }
      return [...waits];
    });
    const positive = expect.toSatisfy((wait) => Number(wait) > 0) as unknown;
    expect(found).toEqual({ ours: [positive], theirs: [positive, positive] });
  });
});

describe("what is the same although it is not what the rest of this package does", () => {
  it("with reserve and throws a wait is thrown, and nothing is reserved, even if it is caught", async () => {
    const found = await both(bucket, async (limiter, ctx) => {
      await limiter.limit(ctx, "send", { count: 2 });
      const thrown = [1, 3].map((count) =>
        limiter
          .limit(ctx, "send", { count, reserve: true, throws: true })
          .catch((error: unknown) => (error as { data: unknown }).data),
      );
      return [...(await Promise.all(thrown)), await limiter.getValue(ctx, "send")];
    });
    const denied = (retryAfter: number) => ({ kind: "RateLimited", name: "send", retryAfter });
    const same = [denied(500), denied(1500), value(0)];
    expect(found).toEqual({ ours: same, theirs: same });
  });
});

describe("a count that is the capacity but for the rounding of a sum", () => {
  it("takes the whole bucket with reserve and throws, too; it was only checked once", async () => {
    const t = openBoth();
    const { ours } = limiters({ send: { kind: "token bucket", rate: 10, period: SECOND } });
    const ulp = 2 ** -49;
    for (const count of [10 - ulp, 10, 10 + ulp, 10 + 2 * ulp, 10 + 8 * ulp]) {
      for (const more of [{}, { throws: true }, { reserve: true }, { reserve: true, throws: true }]) {
        const key = `${count} ${JSON.stringify(more)}`;
        await t.mutation(async (ctx) => {
          const options = { ...more, key, count };
          expect(await ours.limit(ctx, "send", options), key).toEqual({ ok: true });
          expect((await ours.getValue(ctx, "send", { key })).value, key).toBe(0);
          expect(await ours.check(ctx, "send", { key }), key).toMatchObject({ ok: false });
        });
      }
    }
    await t.mutation(async (ctx) => {
      const more = ours.limit(ctx, "send", { count: 10.001, reserve: true, throws: true });
      await expect(more).rejects.toMatchObject({ data: { kind: "RateLimited", retryAfter: 1 } });
      expect(await ours.getValue(ctx, "send")).toMatchObject({ value: 10 });
    });
  });
});

describe("a field that neither knows", () => {
  it("is an error in both: a slip in key would ask the bucket that everybody shares", async () => {
    const slip = { keys: "ada" } as object;
    for (const call of ["limit", "check", "getValue"] as const) {
      expect(await both(bucket, (limiter, ctx) => limiter[call](ctx, "send", slip))).toEqual({
        ours: saying('Rate limit "send": "keys" is not a field of the opt'),
        theirs: saying("Unexpected field `keys`"),
      });
    }
    const { ours } = limiters({ send: bucket });
    const reset = outcome(openBoth().mutation((ctx) => ours.reset(ctx, "send", slip)));
    expect(await reset).toContain('"keys" is not a field of the options, which has key');
    const hookFields = '"keys" is not a field of the options, which has key, config, sampl';
    expect(() => ours.hookAPI("send", slip)).toThrow(hookFields);
  });
});

describe("asynchronous updates", () => {
  it("are accepted, and exact: there, calls in one mutation do not see each other", async () => {
    const found = await both({ ...bucket, applyUpdates: "asynchronously" }, async (limiter, ctx) => {
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push((await limiter.limit(ctx, "send")).ok);
      const check = await limiter.check(ctx, "send");
      await limiter.reset(ctx, "send");
      return [answers, check, await limiter.getValue(ctx, "send")];
    });
    const reset = expect.objectContaining({ value: 2, ts: 0, shard: 0 }) as unknown;
    expect(found.ours).toEqual([[true, true, false, false], wait(500), reset]);
    expect(found.theirs).toMatchObject([[true, true, true, true], {}, {}]);
  });
});

describe("shards", () => {
  it("a value is that of all shards; there it is that of the fullest shard that was sampled", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: { ...bucket, rate: 100, shards: 4 } });
    await t.mutation(async (ctx) => {
      await ours.limit(ctx, "send", { count: 30 });
      expect(await ours.getValue(ctx, "send", { sampleShards: 2 })).toMatchObject({
        value: 70,
        shard: 0,
        config: { shards: 4, capacity: 100 },
      });
      // Their random choice: the first of four shards, of 25 tokens each.
      const random = vi.spyOn(Math, "random").mockReturnValue(0);
      await theirs.limit(ctx, "send", { count: 10 });
      expect(await theirs.getValue(ctx, "send")).toMatchObject({ value: 15, shard: 0 });
      random.mockRestore();
    });
  });

  it("a count that the whole limit holds is served; there it must fit into two shards", async () => {
    const take = (limiter: Limiter, ctx: MutationCtx) => limiter.limit(ctx, "send", { count: 90 });
    expect(await both({ ...bucket, rate: 100, shards: 8 }, take)).toEqual({ ours: go, theirs: saying("exceeds") });
  });
});
