/** The differences from the official component that docs/migrating.md lists, tested on both. "There" is the official component. */
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { isRateLimitError, type RateLimitConfig, RateLimiter, SECOND } from "convex-rate-limits/compat";
import { defineRateLimits } from "convex-rate-limits/component";
import { describe, expect, it, vi } from "vitest";
import { START as NOW, useClock } from "../support/clock.js";
import { component, type MutationCtx } from "../support/places.js";
import { limiters, openBoth } from "./official.js";

const bucket = { kind: "token bucket", rate: 2, period: SECOND } as const;

// All timers, because the official component schedules work, which would run during the tests of other files.
useClock(NOW);

type Calls = ReturnType<typeof callsOf>;

/** The calls of a limiter in a mutation, with any options, as in JavaScript. A call that fails answers the data of a denial, or the message. */
function callsOf(limiter: ReturnType<typeof limiters>["ours" | "theirs"], ctx: MutationCtx, name = "send") {
  const bound =
    (call: (ctx: MutationCtx, name: string, options: never) => Promise<unknown>) =>
    async (options?: object | null): Promise<unknown> =>
      await call(ctx, name, options as never).catch((error: unknown) => {
        const { data, message } = error as { data?: unknown; message: string };
        return data ?? message;
      });
  return {
    limit: bound(limiter.limit.bind(limiter)),
    check: bound(limiter.check.bind(limiter)),
    getValue: bound(limiter.getValue.bind(limiter)),
    reset: bound(limiter.reset.bind(limiter)),
  };
}

/** The answers of each limiter to the same calls in one mutation. */
async function both(config: RateLimitConfig, play: (calls: Calls) => Promise<unknown>) {
  const { ours, theirs } = limiters({ send: config });
  return await openBoth().mutation(async (ctx) => ({
    ours: await play(callsOf(ours, ctx)),
    theirs: await play(callsOf(theirs, ctx)),
  }));
}

/** A matcher of a message with this text. */
const saying = (text: string) => expect.stringContaining(text) as unknown;
const value = (value: number) => expect.objectContaining({ value }) as unknown;
const under = (config: object) =>
  expect.objectContaining({ config: expect.objectContaining(config) as unknown }) as unknown;
const anything: unknown = expect.anything();
const positive = expect.toSatisfy((wait) => Number(wait) > 0) as unknown;
const go = { ok: true };
const wait = (retryAfter: number) => ({ ok: false, retryAfter });
const denied = (retryAfter: number) => ({ kind: "RateLimited", name: "send", retryAfter });
const COUNT = 'Rate limit "send": count must be a finite number of at least 0, got';
const UNKNOWN = "is not a field of the options, which has key";

/** The answers to several `limit` calls in sequence. */
const limitEach =
  (...each: object[]) =>
  async ({ limit }: Calls) => {
    const answers = [];
    for (const options of each) answers.push(await limit(options));
    return answers;
  };

interface Difference {
  config?: object;
  play: (calls: Calls) => Promise<unknown>;
  ours: unknown;
  theirs?: unknown;
}

const differences: Record<string, Difference> = {
  "a count that is NaN is an error; there it spoils the row, which then allows every call": {
    play: async (calls) => [...(await limitEach({ count: NaN }, {}, {}, {}, {})(calls)), await calls.getValue()],
    ours: [saying(`${COUNT} NaN`), go, go, wait(500), wait(500), value(0)],
    theirs: [anything, go, go, go, go, value(NaN)],
  },
  "a negative count is an error; there it refunds without a bound": {
    play: async ({ limit, getValue }) => [await limit({ count: -5 }), await getValue()],
    ours: [saying(`${COUNT} -5`), value(2)],
    theirs: [go, value(7)],
  },
  "maxReserved: 0 permits no reservation; there it means no bound": {
    config: { maxReserved: 0 },
    play: limitEach({ count: 2 }, { count: 2, reserve: true }, { count: 3, reserve: true }),
    ours: [go, wait(1000), saying("exceeds what the bucket can ever hold")],
    theirs: [go, { ok: true, retryAfter: 1000 }, anything],
  },
  "a clock that steps back takes nothing away; there it takes tokens": {
    play: async ({ limit }) => {
      vi.setSystemTime(NOW);
      await limit();
      vi.setSystemTime(NOW - 10 * SECOND);
      return await limit();
    },
    ours: go,
    theirs: wait(10 * SECOND),
  },
  "waits are whole milliseconds, and long enough": {
    config: { rate: 3, capacity: 1 },
    play: limitEach({}, {}),
    ours: [go, wait(334)],
    theirs: [go, wait(expect.closeTo(1000 / 3, 2) as number)],
  },
  "a bad config in a call is an error; there the call is allowed": {
    play: ({ limit }) => limit({ config: { ...bucket, rate: NaN } }),
    ours: saying("rate must be"),
    theirs: go,
  },
  "an empty key is an error; there it is a key": {
    play: ({ limit }) => limit({ key: "" }),
    ours: saying("key must be a non-empty string"),
    theirs: go,
  },
  "a long key is an error; there it is a key": {
    play: ({ limit }) => limit({ key: "k".repeat(257) }),
    ours: saying("await hashKey(key) makes one of 64"),
    theirs: go,
  },
  "windows before a start in the future count; there every call is denied until then": {
    config: { kind: "fixed window", start: NOW + 10 * SECOND },
    play: limitEach({}, {}, {}),
    ours: [go, go, wait(SECOND)],
    theirs: [wait(10 * SECOND), wait(10 * SECOND), wait(10 * SECOND)],
  },
  "the windows of a bucket start at the same times after a reset; there the start is drawn again": {
    config: { kind: "fixed window", rate: 1, period: 1e9 },
    play: async ({ limit, check, reset }) => {
      const waits = new Set<number | undefined>();
      for (const drawn of [0.25, 0.75]) {
        const random = vi.spyOn(Math, "random").mockReturnValue(drawn);
        await reset({ key: "ada" });
        await limit({ key: "ada" });
        waits.add(((await check({ key: "ada" })) as { retryAfter?: number }).retryAfter);
        random.mockRestore();
      }
      return [...waits];
    },
    ours: [positive],
    theirs: [positive, positive],
  },
  "asynchronous updates are exact; there, calls in one mutation do not see each other": {
    config: { applyUpdates: "asynchronously" },
    play: async (calls) => {
      const answers = [...(await limitEach({}, {}, {}, {})(calls)), await calls.check()];
      await calls.reset();
      return [...answers, await calls.getValue()];
    },
    ours: [go, go, wait(500), wait(500), wait(500), expect.objectContaining({ value: 2, ts: 0, shard: 0 })],
    theirs: [go, go, go, go, anything, anything],
  },
  "a count that the whole limit holds is served; there it must fit into two shards": {
    config: { rate: 100, shards: 8 },
    play: ({ limit }) => limit({ count: 90 }),
    ours: go,
    theirs: saying("exceeds"),
  },
  "an unknown field is named, since a misspelt key would mean the bucket that all callers share": {
    play: async ({ limit, check, getValue, reset }) =>
      await Promise.all([limit, check, getValue, reset].map(async (call) => (await call({ keys: "ada" })) ?? null)),
    ours: Array(4).fill(saying(`Rate limit "send": "keys" ${UNKNOWN}`)),
    theirs: [...(Array(3).fill(saying("Unexpected field `keys`")) as unknown[]), null],
  },
  "one object with the name can be the options of every call, and those of limit are options of reset, as there": {
    play: async ({ limit, check, getValue, reset }) => {
      const options = { name: "send", key: "ada" };
      const used = [await limit(options), await check({ ...options, count: 2 }), await getValue(options)];
      await reset({ ...options, count: 2, reserve: true, throws: true });
      return [...used, await getValue(options)];
    },
    ours: [go, wait(500), value(1), value(2)],
    theirs: [go, wait(500), value(1), value(2)],
  },
  "null instead of options means no options": {
    play: async ({ check, limit, getValue, reset }) => {
      const used = [await check(null), await limit(null), await getValue(null)];
      await reset(null);
      return [...used, await getValue(null)];
    },
    ours: [go, go, value(1), value(2)],
  },
  "the config of a call replaces the definition's, and has the same fields": {
    play: async ({ limit, getValue }) => {
      const config = { ...bucket, start: null, rate: 100, shards: 2, applyUpdates: "transactionally" };
      const taken = await limit({ config, count: 50, reserve: true, throws: true });
      return [taken, await getValue({ config }), await getValue()];
    },
    ours: [go, under({ shards: 2 }), under({ rate: 2 })],
    theirs: [go, under({ shards: 2 }), under({ rate: 2 })],
  },
  "a raised window holds at once what was not used of it; there the next one does": {
    config: { kind: "fixed window", start: 0 },
    play: limitEach({ count: 2 }, { config: { kind: "fixed window", start: 0, rate: 3, period: SECOND } }),
    ours: [go, go],
    theirs: [go, wait(SECOND)],
  },
  "another kind, and another period of a window, has a bucket of its own; there all share one": {
    config: { kind: "fixed window", start: 0 },
    play: limitEach(
      { count: 2 },
      { config: bucket },
      { config: { ...bucket, kind: "fixed window", period: 4 * SECOND } },
    ),
    ours: [go, go, go],
    theirs: [go, wait(500), wait(4 * SECOND)],
  },
  "the windows of another start count at once; there those of the first call go on": {
    config: { kind: "fixed window", start: 0 },
    play: limitEach({ count: 2 }, { config: { ...bucket, kind: "fixed window", start: 500 } }),
    ours: [go, wait(500)],
    theirs: [go, wait(SECOND)],
  },
  "null instead of a config means no config, as there": {
    play: async ({ limit, check, getValue }) => {
      const options = { config: null };
      return [await limit(options), await check(options), await getValue(options)];
    },
    ours: [go, go, value(1)],
    theirs: [go, go, value(1)],
  },
  "a thrown wait ends when the tokens are there, also for a reservation that would owe too much, as there": {
    config: { maxReserved: 1 },
    play: limitEach({ count: 3, reserve: true }, { throws: true }, { reserve: true, throws: true }),
    ours: [{ ok: true, retryAfter: 500 }, denied(1000), denied(1000)],
    theirs: [{ ok: true, retryAfter: 500 }, denied(1000), denied(1000)],
  },
  "a definition with throws returns its denials, since only a call can have them thrown": {
    config: { throws: true },
    play: limitEach({ count: 2 }, {}),
    ours: [go, wait(500)],
  },
};

describe("here and there:", () => {
  it.each(Object.entries(differences))("%s", async (_title, { config, play, ours, theirs = anything }) => {
    // An answer may be undefined, which expect.anything does not match, so it becomes "".
    const found = await both({ ...bucket, ...config }, async (calls) => (await play(calls)) ?? "");
    expect(found).toEqual({ ours, theirs });
  });

  it.each([5n, 500n, Symbol("5"), "5", {}])("the error names a count that is not a number: %s", async (count) => {
    expect((await both(bucket, ({ limit }) => limit({ count }))).ours).toEqual(saying(COUNT));
  });

  it.each([
    [{ rate: -1 }, 'Rate limit "send": rate must be a number at least 1e-12'],
    [{ shards: 2.5 }, "shards must be"],
    [{ burst: 3 }, '"burst" is not a field'],
    [{ start: 5 }, '"start" is not a field'],
    [{ applyUpdates: "later" }, '"applyUpdates" is not a field'],
  ])("a bad config fails when the module is loaded: %j", (config, message) => {
    expect(() => limiters({ send: { ...bucket, ...config } as RateLimitConfig })).toThrow(message);
  });

  it("a misspelt option of hookAPI fails when the module is loaded", () => {
    const { ours } = limiters({ send: { ...bucket, start: null, applyUpdates: "transactionally" } });
    expect(() => ours.hookAPI("send", { keys: "ada" } as object)).toThrow(`"keys" ${UNKNOWN}, config, name, sampl`);
  });

  it("a missing component is an error at once, and does not mean limits in the app's tables", () => {
    const wrong = RateLimiter as unknown as new (component?: unknown, limits?: unknown) => unknown;
    expect(() => new wrong()).toThrow("RateLimiter needs the component");
    expect(() => new wrong(undefined, { send: bucket })).toThrow("RateLimiter needs the component");
    expect(() => new wrong(null, { send: bucket })).toThrow("component must be a component's api");
    expect(() => new wrong(component, { send: undefined })).toThrow('Rate limit "send": kind must be');
  });

  it("a value is the sum of all shards; there it is the value of the fullest shard that was sampled", async () => {
    // The official component then always chooses the first of four shards, which hold 25 tokens each.
    vi.spyOn(Math, "random").mockReturnValue(0);
    const found = await both({ ...bucket, rate: 100, shards: 4 }, async ({ limit, getValue }) => {
      await limit({ count: 10 });
      return [await getValue({ sampleShards: 2 }), await getValue()];
    });
    const whole = { value: 90, shard: 0, config: { shards: 4, capacity: 100 } };
    expect(found.ours).toMatchObject([whole, whole]);
    expect(found.theirs).toMatchObject([{}, { value: 15, shard: 0 }]);
  });
});

describe("ours alone:", () => {
  it("isRateLimitError takes any value", () => {
    const data = { kind: "RateLimited", name: "send", retryAfter: 5 };
    const others = [null, 5, "data", { ...data, kind: "other" }, { ...data, retryAfter: "5" }];
    const wrong = [undefined, null, 5, "data", data, ...others.map((other) => ({ data: other }))];
    expect([...wrong, { data }].filter(isRateLimitError)).toEqual([{ data }]);
  });

  it("a name that is not defined needs a config", async () => {
    const { ours } = limiters({ send: bucket });
    await openBoth().mutation(async (ctx) => {
      const { limit, check, getValue } = callsOf(ours, ctx, "other");
      expect(await limit({ config: bucket })).toEqual(go);
      for (const call of [limit, check, getValue]) {
        expect(await call()).toBe(
          'Rate limit "other" is not one of your limits ("send"); give its config to use it without a definition.',
        );
      }
      expect(await callsOf(new RateLimiter(component) as never, ctx).limit()).toContain("(none is defined); give");
    });
  });

  it("an override holds for every call, also with reserve and throws", async () => {
    const limits = { send: bucket };
    const limiter = new RateLimiter(component, limits);
    const { overrideRateLimit } = rateLimitAdmin(defineRateLimits(limits, { component }));
    await openBoth().mutation(async (ctx) => {
      await overrideRateLimit(ctx, { name: "send", config: { ...bucket, rate: 10 } });
      const { limit } = callsOf(limiter as never, ctx);
      expect(await limit({ count: 6, reserve: true, throws: true })).toEqual(go);
      expect(await limit({ count: 6, reserve: true, throws: true })).toEqual(denied(200));
      // Both ask before either takes, as in two actions.
      await limiter.reset(ctx, "send");
      const both = [1, 2].map(() => limit({ count: 6, reserve: true, throws: true }));
      expect(await Promise.all(both)).toEqual([go, denied(200)]);
      expect(await limit({ count: 4 })).toEqual(go);
    });
  });

  it("a count that differs from the capacity by the rounding of a sum takes the whole bucket, also with reserve and throws", async () => {
    const ulp = 2 ** -49;
    for (const count of [10 - ulp, 10, 10 + ulp, 10 + 2 * ulp, 10 + 8 * ulp]) {
      for (const more of [{}, { throws: true }, { reserve: true }, { reserve: true, throws: true }]) {
        const { ours } = await both({ ...bucket, rate: 10 }, async ({ limit, getValue, check }) => [
          await limit({ ...more, count }),
          await getValue(),
          await check(),
          // It fits into the bucket, so it reserves nothing.
          await limit({ count, reserve: true, throws: true }),
          await getValue(),
        ]);
        const left = { value: 0 };
        expect(ours, `${count} ${JSON.stringify(more)}`).toMatchObject([go, left, { ok: false }, denied(1000), left]);
      }
    }
    const { ours } = await both({ ...bucket, rate: 10 }, async ({ limit, getValue }) => [
      await limit({ count: 10.001, reserve: true, throws: true }),
      await getValue(),
    ]);
    expect(ours).toEqual([denied(1), value(10)]);
  });
});
