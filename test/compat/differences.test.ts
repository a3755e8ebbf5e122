/** Where ours differs from the official component: what docs/migrating.md lists, on both. */
import { RateLimiter as Official } from "@convex-dev/rate-limiter";
import { isRateLimitError, type RateLimitConfig, RateLimiter } from "convex-rate-limits/compat";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { component } from "../support/places.js";
import { limiters, officialComponent, openBoth } from "./official.js";

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1000;
const bucket = { kind: "token bucket", rate: 2, period: SECOND } as const;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

async function failure(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => "none",
    (error: unknown) => (isRateLimitError(error) ? "a denial" : error instanceof Error ? error.message : "unknown"),
  );
}

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
});

describe("what is safer here", () => {
  it("a count that is NaN is an error; there it spoils the row, which lets everything through from then on", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: bucket });
    await t.mutation(async (ctx) => {
      expect(await failure(ours.limit(ctx, "send", { count: NaN }))).toContain(
        'Rate limit "send": count must be a finite number of at least 0, got NaN',
      );
      await theirs.limit(ctx, "send", { count: NaN });
      for (let i = 0; i < 5; i++) expect(await theirs.limit(ctx, "send")).toEqual({ ok: true });
      expect(await theirs.getValue(ctx, "send")).toMatchObject({ value: NaN });
      for (let i = 0; i < 2; i++) expect(await ours.limit(ctx, "send")).toEqual({ ok: true });
      expect(await ours.limit(ctx, "send")).toEqual({ ok: false, retryAfter: 500 });
    });
  });

  it("a negative count is an error; there it gives back, without a bound", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: bucket });
    await t.mutation(async (ctx) => {
      expect(await failure(ours.limit(ctx, "send", { count: -5 }))).toContain("count must be a finite number");
      expect(await ours.getValue(ctx, "send")).toMatchObject({ value: 2 });
      await theirs.limit(ctx, "send", { count: -5 });
      expect(await theirs.getValue(ctx, "send")).toMatchObject({ value: 7 });
    });
  });

  it("maxReserved: 0 permits no reservation; there it means no bound", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: { ...bucket, maxReserved: 0 } });
    await t.mutation(async (ctx) => {
      for (const limiter of [ours, theirs]) await limiter.limit(ctx, "send", { count: 2 });
      expect(await ours.limit(ctx, "send", { reserve: true })).toEqual({ ok: false, retryAfter: 500 });
      expect(await theirs.limit(ctx, "send", { count: 2, reserve: true })).toEqual({ ok: true, retryAfter: 1000 });
      expect(await failure(ours.limit(ctx, "send", { count: 3, reserve: true }))).toContain("can never be served");
    });
  });

  it("a clock that steps back takes nothing away; there it takes tokens", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: bucket });
    await t.mutation(async (ctx) => {
      for (const limiter of [ours, theirs]) await limiter.limit(ctx, "send");
    });
    vi.setSystemTime(NOW - 10 * SECOND);
    await t.mutation(async (ctx) => {
      expect(await ours.limit(ctx, "send")).toEqual({ ok: true });
      expect(await theirs.limit(ctx, "send")).toEqual({ ok: false, retryAfter: 10 * SECOND });
    });
  });

  it("waits are whole milliseconds, and long enough", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: { kind: "token bucket", rate: 3, period: SECOND, capacity: 1 } });
    const [mine, other] = await t.mutation(async (ctx) => {
      for (const limiter of [ours, theirs]) await limiter.limit(ctx, "send");
      return [await ours.limit(ctx, "send"), await theirs.limit(ctx, "send")];
    });
    expect(mine).toEqual({ ok: false, retryAfter: 334 });
    expect(other?.retryAfter).toBeCloseTo(1000 / 3);
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
    const t = openBoth();
    const [ours, theirs] = [new RateLimiter(component), new Official(officialComponent)];
    await t.mutation(async (ctx) => {
      const config = { ...bucket, rate: NaN };
      expect(await failure(ours.limit(ctx, "send", { config }))).toContain("rate must be");
      expect(await failure(theirs.limit(ctx, "send", { config }))).toBe("none");
    });
  });

  it("an empty key is an error; there it is a key", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: bucket });
    await t.mutation(async (ctx) => {
      expect(await failure(ours.limit(ctx, "send", { key: "" }))).toContain("key must be a non-empty string");
      expect(await failure(theirs.limit(ctx, "send", { key: "" }))).toBe("none");
    });
  });

  it("a long key is an error; there it is a key", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: bucket });
    const key = "k".repeat(257);
    await t.mutation(async (ctx) => {
      expect(await failure(ours.limit(ctx, "send", { key }))).toContain("await hashKey(key) makes one of 64");
      expect(await failure(theirs.limit(ctx, "send", { key }))).toBe("none");
    });
  });

  it("windows before a start in the future count; there everybody is denied until then", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({
      send: { kind: "fixed window", rate: 2, period: SECOND, start: NOW + 10 * SECOND },
    });
    await t.mutation(async (ctx) => {
      expect(await theirs.limit(ctx, "send")).toEqual({ ok: false, retryAfter: 10 * SECOND });
      for (let i = 0; i < 2; i++) expect(await ours.limit(ctx, "send")).toEqual({ ok: true });
      expect(await ours.limit(ctx, "send")).toEqual({ ok: false, retryAfter: SECOND });
    });
  });

  it("the windows of a bucket start at the same moments after a reset; there they are drawn again", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: { kind: "fixed window", rate: 1, period: 1e9 } });
    const random = vi.spyOn(Math, "random");
    const waits: (number | undefined)[][] = [];
    for (const drawn of [0.25, 0.75]) {
      random.mockReturnValue(drawn);
      waits.push(
        await t.mutation(async (ctx) => {
          const found = [];
          for (const limiter of [ours, theirs]) {
            await limiter.reset(ctx, "send", { key: "ada" });
            await limiter.limit(ctx, "send", { key: "ada" });
            found.push((await limiter.check(ctx, "send", { key: "ada" })).retryAfter);
          }
          return found;
        }),
      );
    }
    random.mockRestore();
    const [[mine, other] = [], [again, otherAgain] = []] = waits;
    expect(mine).toBeGreaterThan(0);
    expect(again).toBe(mine);
    expect(otherAgain).not.toBe(other);
  });
});

describe("what is the same although it is not what the rest of this package does", () => {
  it("with reserve and throws a wait is thrown, and nothing is reserved, even if it is caught", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: bucket });
    await t.mutation(async (ctx) => {
      for (const limiter of [ours, theirs]) {
        await limiter.limit(ctx, "send", { count: 2 });
        const wait = limiter.limit(ctx, "send", { count: 1, reserve: true, throws: true });
        await expect(wait).rejects.toMatchObject({ data: { kind: "RateLimited", name: "send", retryAfter: 500 } });
        const never = limiter.limit(ctx, "send", { count: 3, reserve: true, throws: true });
        await expect(never).rejects.toMatchObject({ data: { kind: "RateLimited", name: "send", retryAfter: 1500 } });
        expect(await limiter.getValue(ctx, "send")).toMatchObject({ value: 0 });
      }
    });
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
    const t = openBoth();
    const { ours, theirs } = limiters({ send: bucket });
    const slip = { keys: "ada" } as object;
    await t.mutation(async (ctx) => {
      for (const call of ["limit", "check", "getValue"] as const) {
        expect(await failure(ours[call](ctx, "send", slip))).toContain(
          'Rate limit "send": "keys" is not a field of the opt',
        );
        expect(await failure(theirs[call](ctx, "send", slip))).toContain("Unexpected field `keys`");
      }
      expect(await failure(ours.reset(ctx, "send", slip))).toContain(
        '"keys" is not a field of the options, which has key',
      );
    });
    expect(() => ours.hookAPI("send", slip)).toThrow(
      '"keys" is not a field of the options, which has key, config, sampl',
    );
  });
});

describe("asynchronous updates", () => {
  it("are accepted, and exact: there, calls in one mutation do not see each other", async () => {
    const t = openBoth();
    const { ours, theirs } = limiters({ send: { ...bucket, applyUpdates: "asynchronously" } });
    await t.mutation(async (ctx) => {
      const answers = { ours: [] as boolean[], theirs: [] as boolean[] };
      for (let i = 0; i < 4; i++) {
        answers.ours.push((await ours.limit(ctx, "send")).ok);
        answers.theirs.push((await theirs.limit(ctx, "send")).ok);
      }
      expect(answers).toEqual({ ours: [true, true, false, false], theirs: [true, true, true, true] });
      expect(await ours.check(ctx, "send")).toEqual({ ok: false, retryAfter: 500 });
      await ours.reset(ctx, "send");
      expect(await ours.getValue(ctx, "send")).toMatchObject({ value: 2, ts: 0, shard: 0 });
    });
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
    const t = openBoth();
    const { ours, theirs } = limiters({ send: { ...bucket, rate: 100, shards: 8 } });
    await t.mutation(async (ctx) => {
      expect(await ours.limit(ctx, "send", { count: 90 })).toEqual({ ok: true });
      expect(await failure(theirs.limit(ctx, "send", { count: 90 }))).toContain("exceeds");
    });
  });
});
